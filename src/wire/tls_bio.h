// Connects OpenSSL with our blocks: a BIO that reads straight from the received bytes and writes records into pool
// blocks. BIO_s_mem would copy both ways through its own buffer, and keep that buffer.
#pragma once

#include <string>
#include <string_view>

#include "base/block.h"
#include "wire/tls_openssl.h"

namespace ebb::wire {

class CoveredNames;

// The ClientHello's content and result, filled in by the context's callback.
struct Greeting {
  std::string server_name;
  const CoveredNames* covered = nullptr;  // of the chosen certificate; owned by the context
  bool name_refused = false;
};

// Input and output of one call into OpenSSL. Lives on the stack of that call.
struct Transfer {
  base::BlockPool& pool;
  std::string_view input;
  base::Chain& output;
  Greeting* greeting = nullptr;
};

// The only BIO of this thread, shared by its sessions, since only one of them runs at a time. A BIO per session would
// add 200 bytes to every idle connection. A session therefore stays on the thread that made it.
BIO* thread_bio();

// Lends the transfer to the thread's BIO during one call. The call begins with an empty error queue: SSL_get_error()
// would take an old entry for this session's failure.
class TransferScope {
 public:
  TransferScope(SSL* ssl, Transfer& transfer) : bio_(thread_bio()) {
    EBB_ASSERT(SSL_get_rbio(ssl) == bio_ && BIO_get_data(bio_) == nullptr);
    BIO_set_data(bio_, &transfer);
    if (ERR_peek_error() != 0) ERR_clear_error();  // clearing an empty queue costs 3 % of a small exchange
  }
  TransferScope(const TransferScope&) = delete;
  TransferScope& operator=(const TransferScope&) = delete;
  ~TransferScope() { BIO_set_data(bio_, nullptr); }

 private:
  BIO* bio_;
};

// The transfer of the current call on this session.
inline Transfer& current_transfer(const SSL* ssl) { return *static_cast<Transfer*>(BIO_get_data(SSL_get_rbio(ssl))); }

}  // namespace ebb::wire
