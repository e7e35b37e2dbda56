// What is told of requests and connections when they end: counters, the endpoint's tally, the access log.
#pragma once

#include <string_view>

#include "gate/exchange.h"

namespace ebb::gate {

class Records {
 public:
  explicit Records(Core& core) : core_(core) {}

  // The head's texts for the access log, kept with the exchange because the head's bytes are gone when it ends.
  void begun(Exchange& exchange, const wire::RequestHead& head);
  void begun_bytes(Exchange& exchange, std::string_view server_name);
  // Of its client: mirrors and witnesses have none, and no record.
  void ended(const Exchange& exchange, const ClientConnection& client, base::Cause cause);
  // A request that never became an exchange, with its head if that could be read. `sent`: of the answer's body.
  void refused(const ClientConnection& client, base::Cause cause, const wire::RequestHead* head, std::size_t sent);
  // A connection that ended before anything could be asked on it; in the access log alone. `server_name`: "" unless it
  // is known.
  void failed_handshake(const ClientConnection& client, base::Cause cause, std::string_view server_name);

 private:
  bool logs() const { return core_.access_log != nullptr && core_.log_format != observe::LogFormat::off; }
  void log(const observe::ExchangeRecord& record);

  Core& core_;
};

}  // namespace ebb::gate
