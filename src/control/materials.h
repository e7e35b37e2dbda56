// What a configuration needs besides its snapshot: TLS contexts of listeners and backends, and the legs of the canary.
// Built object by object, so that one faulty object does not hide the next. `run` uses it, `check` tries it.
#pragma once

#include <memory>
#include <vector>

#include "config/diagnostic.h"
#include "control/canary_legs.h"
#include "routes/model.h"
#include "wire/tls.h"

namespace ebb::control {

struct Materials {
  std::vector<std::shared_ptr<const wire::ServerContext>> tls{};          // by listener; null without TLS
  std::vector<std::shared_ptr<const wire::ClientContext>> backend_tls{};  // by backend; null without TLS
  CanaryLegs legs{};
  config::Diagnostics problems{};
};

Materials build_materials(const routes::Model& model, const std::shared_ptr<wire::TicketKeys>& tickets);

}  // namespace ebb::control
