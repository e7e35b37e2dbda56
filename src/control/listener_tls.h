// Turns the certificate files of a listener into a context that can serve. `run` uses it, `check` tries it.
#pragma once

#include <expected>
#include <memory>

#include "config/diagnostic.h"
#include "routes/model.h"
#include "wire/tls.h"

namespace ebb::control {

// For https listeners only.
std::expected<std::shared_ptr<const wire::ServerContext>, config::Diagnostics> build_tls(
    const routes::ListenerModel& listener, std::shared_ptr<wire::TicketKeys> tickets);

}  // namespace ebb::control
