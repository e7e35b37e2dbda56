#include <gtest/gtest.h>

#include <initializer_list>

#include "lifecycle/backend_stream.h"
#include "lifecycle/client_stream.h"

namespace ebb::lifecycle {
namespace {

template <class Life>
Machine<Life> after(std::initializer_list<typename Life::Event> events) {
  Machine<Life> stream;
  for (const auto event : events) EXPECT_TRUE(stream.step(event)) << stream.name();
  return stream;
}

using Client = ClientStreamLife;
using Backend = BackendStreamLife;

TEST(ClientStream, IsOverWhenRequestAndResponseWereWholeAndItsExchangeLetsGo) {
  using E = Client::Event;
  const auto stream = after<Client>({E::request_whole, E::response_whole});
  EXPECT_TRUE(stream.is(Client::State::complete));
  EXPECT_TRUE(Client::request_whole(stream.state()));
  EXPECT_TRUE(Client::response_whole(stream.state()));
  EXPECT_TRUE(after<Client>({E::request_whole, E::response_whole, E::released}).ended());
}

TEST(ClientStream, ThrowsTheRestOfItsRequestAwayAfterAnEarlyResponse) {
  using E = Client::Event;
  const auto stream = after<Client>({E::response_whole, E::released});
  EXPECT_TRUE(stream.is(Client::State::discarding));
  EXPECT_FALSE(Client::request_whole(stream.state()));
  EXPECT_TRUE(Client::response_whole(stream.state()));
  EXPECT_TRUE(after<Client>({E::response_whole, E::released, E::request_whole}).ended());
  EXPECT_TRUE(after<Client>({E::response_whole, E::released, E::ended}).ended());
}

TEST(ClientStream, IsCompleteWhicheverHalfOfATunnelEndsFirst) {
  using E = Client::Event;
  EXPECT_TRUE(after<Client>({E::response_whole, E::request_whole}).is(Client::State::complete));
  EXPECT_TRUE(after<Client>({E::request_whole, E::response_whole}).is(Client::State::complete));
}

TEST(ClientStream, MayBeResetWhereverItStands) {
  using E = Client::Event;
  EXPECT_TRUE(after<Client>({E::ended}).ended());
  EXPECT_TRUE(after<Client>({E::request_whole, E::ended}).ended());
  EXPECT_TRUE(after<Client>({E::response_whole, E::ended}).ended());
  EXPECT_TRUE(after<Client>({E::request_whole, E::response_whole, E::ended}).ended());
}

TEST(ClientStream, IsNotReleasedBeforeItsResponseIsWhole) {
  EXPECT_FALSE(ClientStreamMachine::has(Client::State::open, Client::Event::released));
  EXPECT_FALSE(ClientStreamMachine::has(Client::State::whole, Client::Event::released));
}

TEST(BackendStream, WaitsForSettingsAndIsThenLent) {
  using E = Backend::Event;
  EXPECT_TRUE(BackendStreamMachine{}.is(Backend::State::waiting));
  EXPECT_TRUE(after<Backend>({E::admitted}).is(Backend::State::lent));
  EXPECT_TRUE(after<Backend>({E::admitted, E::ended}).ended());
  EXPECT_TRUE(after<Backend>({E::ended}).ended()) << "its connection took fewer";
}

TEST(BackendStream, StaysATunnelWhenOurHalfHasEnded) {
  using E = Backend::Event;
  const auto tunnel = after<Backend>({E::admitted, E::upgraded});
  const auto finished = after<Backend>({E::admitted, E::upgraded, E::finished});
  EXPECT_TRUE(Backend::tunnels(tunnel.state()));
  EXPECT_TRUE(Backend::tunnels(finished.state()));
  EXPECT_FALSE(Backend::tunnels(after<Backend>({E::admitted}).state()));
  EXPECT_TRUE(after<Backend>({E::admitted, E::upgraded, E::ended}).ended());
  EXPECT_TRUE(after<Backend>({E::admitted, E::upgraded, E::finished, E::ended}).ended());
}

}  // namespace
}  // namespace ebb::lifecycle
