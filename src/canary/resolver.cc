#include "canary/resolver.h"

#include <netdb.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace ebb::canary {
namespace {

std::expected<base::Address, std::string> look_up(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (failed == EAI_SYSTEM) return std::unexpected(std::string(std::strerror(errno)));
  if (failed != 0) return std::unexpected(std::string(::gai_strerror(failed)));
  const base::Address address = base::Address::from(found->ai_addr);
  ::freeaddrinfo(found);
  return address;
}

// The C library opens files and sockets that we cannot see, and the self-audit would report them as lost. The look-up's
// thread therefore gets its own descriptor table, which ends with the thread. The table starts empty: a copied
// descriptor would keep a closed connection open. Before Linux 5.9 there is only one table.
std::expected<base::Address, std::string> look_up_apart(const std::string& host) {
  std::expected<base::Address, std::string> address;
  try {
    std::thread([&address, &host] {
      (void)::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_UNSHARE);
      address = look_up(host);
    }).join();
  } catch (const std::system_error& error) {
    return std::unexpected(std::string(error.what()));
  }
  return address;
}

}  // namespace

// The waiting list belongs to the reactor thread; the lock guards access to the reactor.
struct ThreadedResolver::Desk : std::enable_shared_from_this<Desk> {
  std::mutex mutex;
  reactor::Reactor* reactor = nullptr;  // null: the resolver is gone
  std::map<std::string, std::vector<Done>> waiting;

  void post_answer(const std::string& host, std::expected<base::Address, std::string> address) {
    reactor->post([desk = shared_from_this(), host, address = std::move(address)] { desk->answer(host, address); });
  }
  void answer(const std::string& host, const std::expected<base::Address, std::string>& address) {
    auto found = waiting.extract(host);
    if (found.empty()) return;
    for (Done& done : found.mapped()) done(address);
  }
};

ThreadedResolver::ThreadedResolver(reactor::Reactor& reactor) : desk_(std::make_shared<Desk>()) {
  desk_->reactor = &reactor;
}

ThreadedResolver::~ThreadedResolver() {
  const std::lock_guard lock(desk_->mutex);
  desk_->reactor = nullptr;
  desk_->waiting.clear();
}

void ThreadedResolver::resolve(const std::string& host, Done done) {
  auto [entry, first] = desk_->waiting.try_emplace(host);
  entry->second.push_back(std::move(done));
  if (!first) return;
  // Only the start of the thread can fail here.
  try {
    std::thread([desk = desk_, host] {
      auto address = look_up_apart(host);
      const std::lock_guard lock(desk->mutex);
      if (desk->reactor != nullptr) desk->post_answer(host, std::move(address));
    }).detach();
  } catch (const std::system_error& error) {
    desk_->post_answer(host, std::unexpected(std::string(error.what())));
  }
}

}  // namespace ebb::canary
