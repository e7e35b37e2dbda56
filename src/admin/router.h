// Which handler answers which method and path. A path of the form /api/v1/backends/{backend} takes any segment in the
// place of the braces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admin/message.h"
#include "wire/h1_head.h"

namespace ebb::admin {

class Router {
 public:
  // One handler for each method of a path; HEAD is answered like GET.
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
  std::vector<Route> routes_;  // few: looked through from the first to the last
};

// "<status> <reason>\n<words>\n"
Answer plain_answer(int status, std::string_view words);

}  // namespace ebb::admin
