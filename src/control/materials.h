// What a configuration needs beside its snapshot: TLS contexts of listeners and backends, and the legs of the canary.
// Made object by object, so that what is wrong with one does not hide what is wrong with the next: `run` uses it,
// `check` tries it.
#pragma once

#include <memory>
#include <vector>

#include "config/diagnostic.h"
#include "control/canary_legs.h"
#include "routes/model.h"
#include "wire/tls.h"

namespace ebb::control {

struct Materials {
  std::vector<std::shared_ptr<const wire::ServerContext>> tls{};          // by listener; null where it is plain
  std::vector<std::shared_ptr<const wire::ClientContext>> backend_tls{};  // by backend; null where it is plain
  CanaryLegs legs{};
  config::Diagnostics problems{};
};

Materials build_materials(const routes::Model& model, const std::shared_ptr<wire::TicketKeys>& tickets);

}  // namespace ebb::control
