// Seals and opens session tickets with the keys that all workers share. Private to tls_*.cc.
#pragma once

#include "wire/tls.h"
#include "wire/tls_openssl.h"

namespace ebb::wire {

// Makes the context seal its tickets with these keys, which must outlive it.
void use_ticket_keys(SSL_CTX* context, const TicketKeys& keys);

}  // namespace ebb::wire
