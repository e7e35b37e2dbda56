// The description of the API that the router serves about itself, as OpenAPI 3.1.
#pragma once

#include <string_view>

namespace ebb::admin {

std::string_view openapi_document();

}  // namespace ebb::admin
