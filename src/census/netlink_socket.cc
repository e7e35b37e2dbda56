#include "census/netlink_socket.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <vector>

#include "base/result.h"

namespace ebb::census {
namespace {

// The kernel sends up to 32 KiB of a dump at a time if the reader's buffer is large enough (netlink_dump).
constexpr std::size_t buffer_bytes = 64 * 1024;
constexpr timeval answer_patience{.tv_sec = 5, .tv_usec = 0};

}  // namespace

std::expected<NetlinkSocket, int> NetlinkSocket::open(int protocol) {
  reactor::Descriptor descriptor(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!descriptor) return std::unexpected(errno);
  if (::setsockopt(descriptor.get(), SOL_SOCKET, SO_RCVTIMEO, &answer_patience, sizeof(answer_patience)) != 0) {
    return std::unexpected(errno);
  }
  return NetlinkSocket(std::move(descriptor));
}

bool NetlinkSocket::send(std::uint16_t type, std::uint16_t flags, Bytes request) {
  nlmsghdr header{.nlmsg_len = static_cast<std::uint32_t>(sizeof(nlmsghdr) + request.size()),
                  .nlmsg_type = type,
                  .nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags),
                  .nlmsg_seq = ++sequence_};
  std::vector<std::byte> bytes(header.nlmsg_len);
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), request.data(), request.size());
  return ::send(descriptor_.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
}

std::expected<Messages, int> NetlinkSocket::receive() {
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes);
  ssize_t got = 0;
  do {
    got = ::recv(descriptor_.get(), buffer_.get(), buffer_bytes, MSG_TRUNC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return std::unexpected(errno);
  if (static_cast<std::size_t>(got) > buffer_bytes) return std::unexpected(EMSGSIZE);
  return Messages(Bytes(buffer_.get(), static_cast<std::size_t>(got)));
}

std::expected<void, DumpFault> NetlinkSocket::dump(std::uint16_t type, Bytes request,
                                                   const std::function<void(const Message&)>& take) {
  if (!send(type, NLM_F_DUMP, request)) return std::unexpected(DumpFault{.error = errno});
  bool interrupted = false;
  for (;;) {
    auto messages = receive();
    if (!messages) return std::unexpected(DumpFault{.error = messages.error()});
    while (const auto message = messages->next()) {
      if (message->sequence != sequence_) continue;  // left over from an abandoned dump
      interrupted = interrupted || (message->flags & NLM_F_DUMP_INTR) != 0;
      if (message->type == NLMSG_ERROR || message->type == NLMSG_DONE) {
        const auto code = read_as<int>(message->body);
        if (code && *code < 0) return std::unexpected(DumpFault{.error = -*code});
        if (interrupted) return std::unexpected(DumpFault{.error = EINTR, .interrupted = true});
        return {};
      }
      take(*message);
    }
    if (messages->malformed()) return std::unexpected(DumpFault{.error = EBADMSG});
  }
}

std::expected<void, int> NetlinkSocket::ask(std::uint16_t type, Bytes request,
                                            const std::function<void(const Message&)>& take) {
  if (!send(type, NLM_F_ACK, request)) return std::unexpected(errno);
  for (;;) {
    auto messages = EBB_TRY(receive());
    while (const auto message = messages.next()) {
      if (message->sequence != sequence_) continue;
      if (message->type == NLMSG_ERROR) {
        const auto code = read_as<int>(message->body);
        if (code && *code < 0) return std::unexpected(-*code);
        return {};
      }
      take(*message);
    }
    if (messages.malformed()) return std::unexpected(EBADMSG);
  }
}

}  // namespace ebb::census
