// The facts of one ended exchange, as the access log and the metrics see them. Views live until the call returns.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/address.h"
#include "base/cause.h"
#include "base/clock.h"
#include "base/labels.h"

namespace ebb::observe {

struct ExchangeRecord {
  base::Address client;
  std::string_view method;
  std::string_view authority;
  std::string_view target;
  std::string_view protocol;  // "HTTP/1.1"
  std::string_view tls;       // "TLSv1.3", or "" for plain
  std::string_view referer;
  std::string_view user_agent;
  base::Label listener = 0;
  base::Label route = 0;
  base::Label backend = 0;
  base::Label endpoint = 0;
  base::Address endpoint_address;  // invalid: no endpoint was reached
  std::uint16_t status = 0;        // as sent to the client; 0: none sent
  std::uint16_t tries = 0;         // connections used or attempted
  bool reused = false;             // the backend connection had served an earlier request
  base::Cause cause = base::Cause::completed;
  std::uint64_t bytes_received = 0;  // from the client, body only
  std::uint64_t bytes_sent = 0;      // to the client, body only
  base::WallTime started;
  base::Duration until_backend{};   // head read to request handed to a connection
  base::Duration until_response{};  // head read to first response byte
  base::Duration total{};
};

}  // namespace ebb::observe
