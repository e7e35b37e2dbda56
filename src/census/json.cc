#include "census/json.h"

#include "census/fields.h"
#include "census/words.h"

namespace ebb::census {
namespace {

constexpr std::size_t piece_bytes = 64 * 1024;

void write_classification(observe::JsonWriter& json, const Classification& classification,
                          const std::optional<Age>& age) {
  const ReasonFacts& reason = facts(classification.reason);
  json.member("verdict", name(reason.socket_class)).member("why", reason.why);
  if (!reason.remedy.empty()) json.member("remedy", reason.remedy);
  json.key("gives_up").begin_object().member("by", ending_word(classification.give_up.ending));
  if (classification.give_up.in_ms) json.member("in_ms", *classification.give_up.in_ms);
  json.member("assumed", classification.give_up.assumed).end_object();
  if (age) json.member("age_ms", age->ms).member("age_exact", age->exact);
}

void write_socket(observe::JsonWriter& json, const Census& census, std::uint32_t index) {
  const Socket& socket = census.sample.sockets[index];
  json.begin_object().member("netns", census.sample.spaces[socket.space].name);
  if (const Process* const process = census.sample.process_of(socket)) {
    json.member("process", process->name).member("pid", process->pid);
  }
  write_facts(json, socket);
  write_classification(json, census.classifications[index], census.ages[index]);
  json.end_object();
}

}  // namespace

void write_facts(observe::JsonWriter& json, const Socket& socket) {
  const auto write = [&json](const char* field, const auto& value) { json.member(field, value); };
  json.member("state", name(socket.state)).member("timer", name(socket.timer));
  json.member("local", socket.local.text()).member("peer", socket.peer.text());
  if (socket.real_peer.valid()) json.member("real_peer", socket.real_peer.text());
  each_number(socket, write);
  if (socket.has_info) {
    json.key("info").begin_object();
    each_info_number(socket, write);
    json.end_object();
  }
  if (socket.options.known) {
    json.key("options").begin_object();
    each_option(socket.options, write);
    json.end_object();
  }
}

void write_limits(observe::JsonWriter& json, const Limits& limits) {
  each_limit(limits, [&json](const char* field, const auto& value) { json.member(field, value); });
}

void print_json(const Census& census, std::span<const std::uint32_t> shown, const Print& print) {
  std::string out;
  observe::JsonWriter json(out);
  json.begin_object().member("at", census.sample.at).key("namespaces").begin_array();
  for (const Space& space : census.sample.spaces) {
    json.begin_object().member("name", space.name).key("sysctls").begin_object();
    write_limits(json, space.limits);
    json.end_object().end_object();
  }
  json.end_array().key("notes").begin_array();
  for (const std::string& note : census.sample.notes) json.value(note);
  json.end_array().key("sockets").begin_array();
  for (const std::uint32_t index : shown) {
    write_socket(json, census, index);
    if (out.size() < piece_bytes) continue;
    print(out);
    out.clear();
  }
  json.end_array().end_object();
  out += '\n';
  print(out);
}

}  // namespace ebb::census
