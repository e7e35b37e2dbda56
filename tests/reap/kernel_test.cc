// On the kernel of this machine: a socket is ended by its name and its cookie, and by nothing less.
#include "reap/kernel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/clock.h"
#include "reactor/descriptor.h"

namespace ebb::reap {
namespace {

using reactor::Descriptor;

base::Address name_of(const Descriptor& descriptor) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  EXPECT_EQ(::getsockname(descriptor.get(), reinterpret_cast<sockaddr*>(&storage), &length), 0);
  return base::Address::from(reinterpret_cast<sockaddr*>(&storage));
}

// A connection of this process with itself.
struct Pair {
  explicit Pair(const char* host) {
    const auto address = *base::Address::parse(host);
    listener = Descriptor(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    client = Descriptor(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::bind(listener.get(), address.raw(), address.raw_size()) != 0) return;
    const base::Address bound = name_of(listener);
    open = ::listen(listener.get(), 1) == 0 && ::connect(client.get(), bound.raw(), bound.raw_size()) == 0;
  }
  int error() const {
    int value = 0;
    socklen_t length = sizeof(value);
    ::getsockopt(client.get(), SOL_SOCKET, SO_ERROR, &value, &length);
    return value;
  }

  Descriptor listener;
  Descriptor client;
  bool open = false;
};

class LiveKernelTest : public testing::TestWithParam<const char*> {
 protected:
  std::optional<census::Socket> find(const base::Address& local) {
    const auto sample = kernel_.look([](std::string_view netns) { return netns == "this"; });
    if (!sample) return std::nullopt;
    for (const census::Socket& socket : sample->sockets) {
      if (socket.local == local) return socket;
    }
    return std::nullopt;
  }

  base::SystemClock clock_;
  LiveKernel kernel_{clock_};
};

TEST_P(LiveKernelTest, EndsASocketOnlyByItsCookie) {
  const Pair pair(GetParam());
  if (!pair.open) GTEST_SKIP() << "no address " << GetParam() << " here";
  const auto socket = find(name_of(pair.client));
  ASSERT_TRUE(socket);
  census::Socket impostor = *socket;
  ++impostor.cookie;
  const auto unknown = kernel_.look_again(impostor);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error(), ENOENT);
  const auto refused = kernel_.destroy(impostor);
  ASSERT_FALSE(refused);
  if (refused.error() == EPERM) GTEST_SKIP() << "ending sockets needs CAP_NET_ADMIN";
  EXPECT_EQ(pair.error(), 0);

  const auto fresh = kernel_.look_again(*socket);
  ASSERT_TRUE(fresh);
  EXPECT_EQ(fresh->socket.cookie, socket->cookie);
  EXPECT_EQ(fresh->socket.inode, socket->inode);
  EXPECT_TRUE(kernel_.destroy(*socket));
  EXPECT_EQ(pair.error(), ECONNABORTED);
  EXPECT_EQ(kernel_.destroy(*socket).error(), ENOENT);
  kernel_.leave();
}

INSTANTIATE_TEST_SUITE_P(Families, LiveKernelTest, testing::Values("127.0.0.1:0", "[::1]:0"),
                         [](const auto& test) { return test.index == 0 ? "IPv4" : "IPv6"; });

}  // namespace
}  // namespace ebb::reap
