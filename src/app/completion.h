// Shell completions for the commands and, for `ctl`, for backends and servers of the running router.
#pragma once

#include <string_view>

namespace ebb::app {

std::string_view completion_script(std::string_view shell);  // "bash" or "zsh"

}  // namespace ebb::app
