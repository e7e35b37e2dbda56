// The dashboard: the files of web/, which tools/embed compiles into the program.
#pragma once

#include <span>
#include <string_view>

namespace ebb::admin {

struct WebFile {
  std::string_view name;
  std::string_view content_type;
  std::string_view body;
};

std::span<const WebFile> web_files();

}  // namespace ebb::admin
