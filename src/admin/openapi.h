// The router's description of its own API, as OpenAPI 3.1.
#pragma once

#include <string_view>

namespace ebb::admin {

std::string_view openapi_document();

}  // namespace ebb::admin
