// Which handler answers which path. All pages are read-only: GET and HEAD.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "admin/message.h"
#include "wire/h1_head.h"

namespace ebb::admin {

class Router {
 public:
  // The path as it appears in a request, without query; one handler each.
  void add(std::string path, Handler handler);
  void dispatch(wire::Method method, const Request& request, Respond respond);

 private:
  std::map<std::string, Handler, std::less<>> handlers_;
};

// "<status> <reason>\n<words>\n"
Answer plain_answer(int status, std::string_view words);

}  // namespace ebb::admin
