// A server with the whole API and the runtime commands, over a real roster and workers that do as they are told.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>

#include "admin/api.h"
#include "admin/blocking_client.h"
#include "admin/commands.h"
#include "admin/dashboard.h"
#include "admin/fake_worker.h"
#include "admin/pages.h"
#include "wire/json_reader.h"

namespace ebb::admin {

class ControlTest : public testing::Test {
 protected:
  ControlTest() : roster_(labels_, [this](const control::SharedEndpointList&) { published_ += 1; }) {
    static constexpr std::string_view states[] = {"idle", "busy"};
    routes::Model model;
    model.listeners.push_back({.name = "web", .bind = *base::Address::parse("127.0.0.1:80")});
    model.backends.push_back(
        backend("api", {{.name = "a", .address = *base::Address::parse("10.0.0.1:80"), .weight = 2},
                        {.name = "b", .address = *base::Address::parse("10.0.0.2:80")}}));
    model.backends.push_back(backend("local", {{.name = "me", .address = *base::Address::parse("127.0.0.1:9000")}}));
    EXPECT_TRUE(routes::Snapshot::compile(std::move(model), 1, labels_, snapshot_).empty());
    roster_.adopt(*snapshot_).keep();

    workers_.emplace_back(false);
    workers_.emplace_back(false);
    sources_.workers = workers_.size();
    sources_.post = [this](std::size_t worker, std::move_only_function<void()> task) {
      workers_[worker].post(std::move(task));
    };
    sources_.counters = [](std::size_t) { return observe::Counters(); };
    sources_.readiness = [] { return Readiness{true, "serving"}; };
    sources_.config = [] { return ConfigStatus{.generation = 7}; };
    sources_.roster = &roster_;
    sources_.endpoints = [this](std::size_t worker) { return facts(worker); };
    sources_.backends = [](std::size_t) { return std::vector<gate::BackendFacts>{{.name = "api", .queued = 1}}; };
    sources_.in_flight = [this](std::size_t worker, std::uint64_t identity) {
      const std::lock_guard lock(mutex_);
      return gate::InFlight{.streaming = busy_[{worker, identity}], .cut = cut_[{worker, identity}]};
    };
    sources_.when_idle = [this](std::size_t worker, std::uint64_t identity, std::move_only_function<void()> tell) {
      {
        const std::lock_guard lock(mutex_);
        if (busy_[{worker, identity}] > 0) return waiting_[{worker, identity}].push_back(std::move(tell));
      }
      tell();
    };
    sources_.connections = [](std::size_t worker, const gate::ConnectionFilter& filter) {
      std::vector<gate::ConnectionFacts> all;
      gate::ConnectionFacts facts{.handle = {4, 1},
                                  .client = *base::Address::parse("192.0.2.1:5000"),
                                  .listener = "web",
                                  .protocol = "HTTP/1.1",
                                  .state = "serving"};
      facts.exchanges.push_back({.state = "awaiting", .backend = "api", .endpoint = "a"});
      if (worker == 1 && filter.matches(facts)) all.push_back(facts);
      return all;
    };
    sources_.end_connection = [](std::size_t worker, base::Handle handle) {
      return worker == 1 && handle == base::Handle{4, 1};
    };
    sources_.end_work = [this](std::size_t worker, std::uint64_t identity) { end_work(worker, identity); };
    sources_.listeners = [] { return std::vector<std::string>{"web"}; };
    sources_.labels = &labels_;
    sources_.client_states = sources_.backend_states = states;
    sources_.version = "0.1.0";
    add_dashboard(server_);
    add_pages(server_, sources_);
    add_endpoint_api(server_, sources_);
    add_connection_api(server_, sources_);
    add_audit_api(server_, sources_);
    add_canary_api(server_, sources_);
    add_drain_api(server_, sources_, std::make_shared<Drains>(sources_, server_));
    server_.set_commands([commands = std::make_shared<Commands>(sources_, server_)](
                             std::string_view command, Reply reply) { commands->run(command, std::move(reply)); });
    socket_path_ = testing::TempDir() + "ebbgate-" + std::to_string(::getpid()) + ".sock";
    const base::Address any = *base::Address::parse("127.0.0.1:0");
    std::string error;
    const bool started = server_.start({.admin = {.address = any},
                                        .self_drain = {.address = any, .own_endpoints_only = true},
                                        .runtime = socket_path_},
                                       error);
    EXPECT_TRUE(started) << error;
  }
  ~ControlTest() override { ::unlink(socket_path_.c_str()); }

  static routes::BackendModel backend(std::string name, std::vector<routes::EndpointModel> endpoints) {
    routes::BackendModel model;
    model.name = std::move(name);
    model.endpoints = std::move(endpoints);
    return model;
  }

  std::uint64_t identity(std::string_view backend, std::string_view name) {
    return roster_.find(backend, name)->identity;
  }
  void make_busy(std::size_t worker, std::uint64_t identity, std::uint32_t times = 1) {
    const std::lock_guard lock(mutex_);
    busy_[{worker, identity}] = times;
  }
  void cut_work(std::size_t worker, std::uint64_t identity, std::uint32_t times) {
    const std::lock_guard lock(mutex_);
    cut_[{worker, identity}] = times;
  }
  // As a worker does when its last exchange with the endpoint ends.
  void end_work(std::size_t worker, std::uint64_t identity) {
    std::vector<std::move_only_function<void()>> told;
    {
      const std::lock_guard lock(mutex_);
      busy_[{worker, identity}] = 0;
      told = std::move(waiting_[{worker, identity}]);
      waiting_[{worker, identity}].clear();
    }
    for (auto& tell : told) tell();
  }
  void end_work_of_all(std::uint64_t identity) {
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) end_work(worker, identity);
  }
  std::vector<gate::EndpointFacts> facts(std::size_t worker) {
    std::vector<gate::EndpointFacts> all;
    for (const control::SharedEndpointList& list : roster_.lists()) {
      for (const gate::ListedEndpoint& endpoint : list->endpoints) {
        gate::EndpointFacts& one = all.emplace_back();
        one.backend = list->backend;
        one.name = endpoint.name;
        one.identity = endpoint.identity;
        one.address = endpoint.address;
        one.tally.requests = 10 * (worker + 1);
        one.tally.by_class[2] = 10 * (worker + 1);
        one.in_flight = sources_.in_flight(worker, endpoint.identity);
      }
    }
    for (gate::EndpointFacts one : gone_) {
      one.membership = lifecycle::Membership::gone;
      one.in_flight = sources_.in_flight(worker, one.identity);
      all.push_back(one);
    }
    return all;
  }

  Response ask(const std::string& method, const std::string& target, const std::string& body = "", bool self = false) {
    BlockingClient client(self ? server_.self_drain_address() : server_.address());
    client.send(method + " " + target +
                " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.read();
  }
  wire::JsonValue json(const Response& response) {
    auto value = wire::read_json(response.body);
    EXPECT_TRUE(value) << response.body;
    return value.value_or(wire::JsonValue());
  }
  static std::string text(const wire::JsonValue& value, std::string_view name) {
    const wire::JsonValue* const found = value.find(name);
    return found == nullptr                                ? "(none)"
           : found->kind == wire::JsonValue::Kind::boolean ? (found->truth ? "true" : "false")
                                                           : found->text;
  }

  base::Labels labels_;
  std::atomic<int> published_ = 0;
  std::shared_ptr<const routes::Snapshot> snapshot_;
  control::Roster roster_;
  std::mutex mutex_;
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint32_t> busy_;
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint32_t> cut_;
  std::map<std::pair<std::size_t, std::uint64_t>, std::vector<std::move_only_function<void()>>> waiting_;
  std::vector<gate::EndpointFacts> gone_;  // set before anything is asked
  Sources sources_;
  std::string socket_path_;
  std::deque<FakeWorker> workers_;
  Server server_;
};

}  // namespace ebb::admin
