// A netlink socket that asks for dumps and gives single commands. It stays in the network namespace that it was opened
// in, whatever its thread does later.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "census/netlink_reader.h"
#include "reactor/descriptor.h"

namespace ebb::census {

struct DumpFault {
  int error = 0;             // errno
  bool interrupted = false;  // the kernel's table changed while it was read: ask again
};

class NetlinkSocket {
 public:
  static std::expected<NetlinkSocket, int> open(int protocol);  // the error is errno

  // Asks, and gives every message of the answer to `take`, inside a buffer that is valid during the call only.
  std::expected<void, DumpFault> dump(std::uint16_t type, Bytes request,
                                      const std::function<void(const Message&)>& take);

  // One question or command, until the kernel acknowledges it. The error is errno.
  std::expected<void, int> ask(
      std::uint16_t type, Bytes request, const std::function<void(const Message&)>& take = [](const Message&) {});

 private:
  explicit NetlinkSocket(reactor::Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  bool send(std::uint16_t type, std::uint16_t flags, Bytes request);
  // What the kernel sends next, inside buffer_.
  std::expected<Messages, int> receive();

  reactor::Descriptor descriptor_;
  std::unique_ptr<std::byte[]> buffer_;  // none until there is something to receive
  std::uint32_t sequence_ = 0;
};

}  // namespace ebb::census
