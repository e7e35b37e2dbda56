#include "admin/router.h"

#include "base/assert.h"
#include "wire/h1_write.h"

namespace ebb::admin {

void Router::add(std::string path, Handler handler) {
  const bool added = handlers_.emplace(std::move(path), std::move(handler)).second;
  EBB_ASSERT(added);
}

void Router::dispatch(wire::Method method, const Request& request, Respond respond) {
  const auto found = handlers_.find(request.path);
  if (found == handlers_.end()) return respond(plain_answer(404, "there is no such page; / lists them"));
  if (method != wire::Method::get && method != wire::Method::head) {
    Answer answer = plain_answer(405, "this page is for reading");
    answer.extra = "Allow: GET, HEAD\r\n";
    return respond(std::move(answer));
  }
  found->second(request, std::move(respond));
}

Answer plain_answer(int status, std::string_view words) {
  Answer answer;
  answer.status = status;
  answer.body = std::to_string(status);
  answer.body += ' ';
  answer.body += wire::reason_phrase(status);
  answer.body += '\n';
  answer.body += words;
  answer.body += '\n';
  return answer;
}

}  // namespace ebb::admin
