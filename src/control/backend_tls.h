// Turns the `tls` section of a backend into a context that can connect. `run` uses it, `check` tries it.
#pragma once

#include <expected>
#include <memory>

#include "config/diagnostic.h"
#include "routes/model.h"
#include "wire/tls.h"

namespace ebb::control {

// Null for a backend without TLS.
std::expected<std::shared_ptr<const wire::ClientContext>, config::Diagnostics> build_backend_tls(
    const routes::BackendModel& backend);

}  // namespace ebb::control
