// The commands of the runtime socket: HAProxy's commands, with its exact answers where scripts may parse them. Owned by
// the server's handlers, on the admin thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admin/command_session.h"
#include "admin/runtime_view.h"
#include "admin/server.h"
#include "admin/sources.h"

namespace ebb::admin {

class Commands {
 public:
  Commands(const Sources& sources, Server& server) : sources_(sources), server_(server) {}

  void run(std::string_view command, Reply reply);

 private:
  using Words = std::span<const std::string>;  // after those of the command's name
  using Run = void (Commands::*)(Words, Reply);
  struct Entry {
    std::string_view words;
    std::string_view usage;
    std::string_view meaning;
    Run run;
  };
  static const Entry entries[];
  static constexpr std::size_t sessions_max = 100'000;  // shown per worker

  struct Place {
    std::string backend;
    std::string name;
  };

  static std::string help_lines(std::string_view beginning);
  void with_scene(std::move_only_function<void(const RuntimeScene&)> use);
  // If the endpoint is missing, replies with HAProxy's error text. `end`: the end of this command's error texts.
  bool find(Words words, Place& place, Reply& reply, std::string_view end = "\n") const;

  void show_info(Words words, Reply reply);
  void show_stat(Words words, Reply reply);
  void show_servers_state(Words words, Reply reply);
  void show_servers_conn(Words words, Reply reply);
  void show_servers(Words words, Reply reply, std::string (*view)(const RuntimeScene&, std::string_view));
  void show_backend(Words words, Reply reply);
  void show_sess(Words words, Reply reply);
  void show_version(Words words, Reply reply);
  void set_server(Words words, Reply reply);
  void set_weight(Words words, Reply reply);
  void set_maxconn_server(Words words, Reply reply);
  void get_weight(Words words, Reply reply);
  void enable_server(Words words, Reply reply);
  void disable_server(Words words, Reply reply);
  void add_server(Words words, Reply reply);
  void del_server(Words words, Reply reply);
  void wait(Words words, Reply reply);
  void shutdown_session(Words words, Reply reply);
  void shutdown_sessions_server(Words words, Reply reply);
  void help(Words words, Reply reply);

  void set_state(const Place& place, std::string_view state, Reply reply);
  void set_weight_to(const Place& place, std::string_view text, Reply reply);
  void set_address(const Place& place, Words words, Reply reply);
  // Reports "" if the endpoint can be removed, else the reason;
  // and how much work was cut while the endpoint drained.
  void look_removable(const Place& place, std::move_only_function<void(std::string, std::uint32_t)> then);
  void wait_removable(const Place& place, base::Instant deadline, Reply reply);

  const Sources& sources_;
  Server& server_;
};

}  // namespace ebb::admin
