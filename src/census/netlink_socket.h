// A netlink socket for dumps and single commands. It stays in the network namespace in which it was opened, whatever
// its thread does later.
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
  bool interrupted = false;  // the kernel's table changed during the dump: repeat it
};

class NetlinkSocket {
 public:
  static std::expected<NetlinkSocket, int> open(int protocol);  // the error is errno

  // Sends a request and passes every message of the answer to `take`, in a buffer that is valid during the call only.
  std::expected<void, DumpFault> dump(std::uint16_t type, Bytes request,
                                      const std::function<void(const Message&)>& take);

  // Sends one request or command and waits for the kernel's acknowledgement. The error is errno.
  std::expected<void, int> ask(
      std::uint16_t type, Bytes request, const std::function<void(const Message&)>& take = [](const Message&) {});

 private:
  explicit NetlinkSocket(reactor::Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  bool send(std::uint16_t type, std::uint16_t flags, Bytes request);
  // The kernel's next messages, inside buffer_.
  std::expected<Messages, int> receive();

  reactor::Descriptor descriptor_;
  std::unique_ptr<std::byte[]> buffer_;  // null until the first receive
  std::uint32_t sequence_ = 0;
};

}  // namespace ebb::census
