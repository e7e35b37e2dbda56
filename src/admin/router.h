// Finds the handler for a method and path. A path of the form /api/v1/backends/{backend} matches any segment at the
// braces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admin/message.h"
#include "wire/h1_head.h"

namespace ebb::admin {

class Router {
 public:
  // One handler per method of a path; HEAD uses the handler of GET.
  void add(wire::Method method, std::string path, Handler handler);
  void dispatch(const Request& request, Respond respond);

  struct Documented {
    wire::Method method;
    std::string path;
  };
  std::vector<Documented> routes() const;

 private:
  struct Route {
    wire::Method method;
    std::string path;
    Handler handler;
  };
  std::vector<Route> routes_;  // few: a linear search will do
};

// "<status> <reason>\n<words>\n"
Answer plain_answer(int status, std::string_view words);

}  // namespace ebb::admin
