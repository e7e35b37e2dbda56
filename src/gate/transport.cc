#include "gate/transport.h"

#include <algorithm>

namespace ebb::gate {

using base::Chain;

std::size_t Transport::put(reactor::Reactor& reactor, Chain&& cipher) {
  if (cipher.empty()) return 0;
  const std::size_t bytes = cipher.bytes();
  reactor.send(socket, std::move(cipher));
  return bytes;
}

std::size_t Transport::start(reactor::Reactor& reactor) {
  Chain cipher;
  secure->session.start(reactor.blocks(), cipher);
  return put(reactor, std::move(cipher));
}

Transport::Received Transport::decrypt(reactor::Reactor& reactor, base::Slice bytes, Chain& plain, Replies replies) {
  wire::TlsSession& session = secure->session;
  const bool was_done = session.handshake_done();
  Chain cipher;
  Received received{.status = session.receive(reactor.blocks(), std::move(bytes), plain, cipher)};
  if (replies == Replies::dropped) cipher.clear();
  const bool reads = cipher.empty() || secure->replies.within_limit(cipher.bytes(), unsent(reactor));
  received.replied = put(reactor, std::move(cipher));
  if (received.status == Status::failed || !reads) {
    received.status = Status::failed;
    received.cause = reads ? session.cause() : secure->flooded;
    plain.clear();
  } else {
    received.secured = !was_done && session.handshake_done();
  }
  return received;
}

std::size_t Transport::send_encrypted(reactor::Reactor& reactor, Chain&& plain) {
  if (held() == 0) secure->held_since = reactor.now();
  Chain cipher;
  secure->session.send(reactor.blocks(), std::move(plain), cipher);
  return put(reactor, std::move(cipher));
}

std::size_t Transport::notify_end(reactor::Reactor& reactor) {
  if (!secure || !secure->session.handshake_done()) return 0;
  Chain cipher;
  secure->session.close_notify(reactor.blocks(), cipher);
  return put(reactor, std::move(cipher));
}

std::size_t Transport::finish(reactor::Reactor& reactor) {
  if (held() > 0) return 0;
  const std::size_t bytes = notify_end(reactor);
  reactor.finish(socket);
  return bytes;
}

base::Backlog Transport::backlog(const reactor::Reactor& reactor) const {
  base::Backlog backlog = reactor.backlog(socket);
  if (const std::size_t waits = held(); waits > 0) {
    backlog.bytes += waits;
    backlog.moved = std::max(backlog.moved, secure->held_since);
  }
  return backlog;
}

}  // namespace ebb::gate
