#include "reap/truth_file.h"

#include <unordered_set>

#include "config/document.h"
#include "config/file.h"
#include "config/keys.h"
#include "config/writers.h"
#include "reap/formats.h"
#include "reap/key_tables.h"

namespace ebb::reap {
namespace {

using config::Key;
using config::Keys;
using config::Need;
using config::Node;
using config::Reader;

constexpr std::size_t file_bytes_max = (std::size_t{16} << 20) + 1;
constexpr std::string_view presence_words[] = {"ready", "leaving", "gone"};

// Numbers only: a name may resolve differently now than when the connection was made.
struct EndFormat {
  static std::string type() { return "address with port"; }
  static config::Parsed<base::Address> parse(std::string_view text, const config::Surroundings&) {
    const auto address = base::Address::parse(text);
    if (address && address->port() != 0) return *address;
    return std::unexpected(config::Complaint{"expected an address and a port", "write `10.1.0.5:8080`"});
  }
  static std::string show(const base::Address&) { return ""; }
};

using GraceFormat = TimeFormat<0>;

constexpr Key<Endpoint> endpoint_keys[] = {
    {"address", config::scalar<EndFormat, &Endpoint::address>, "the real address, behind the service", Need::required},
    {"state", config::choice<&Endpoint::state, presence_words>,
     "`leaving`: connections may end by themselves until the grace is over; `gone`: the reaper ends them"},
    {"grace", config::scalar<config::Optional<GraceFormat>, &Endpoint::grace>,
     "time from the first sight of `leaving`; default: the service's"},
    {"node", config::text<&Endpoint::node>, "node of the endpoint: endpoints of one node fall silent together"},
};

constexpr Key<Service> service_keys[] = {
    {"name", config::text<&Service::name>, "name for the log", Need::required},
    {"addresses", config::values<EndFormat, &Service::addresses>,
     "addresses that clients connect to; default: those of the endpoints"},
    {"grace", config::scalar<GraceFormat, &Service::grace>, "grace of endpoints that are `leaving`"},
    {"endpoints", config::list<&Service::endpoints, endpoint_keys>, "all endpoints of the service", Need::required},
};

constexpr Key<Place> place_keys[] = {
    {"netns", config::texts<&Place::netns>, "network namespaces, as in the policy"},
    {"cgroup", config::texts<&Place::cgroup>, "paths of control groups, as in the policy"},
    {"labels", config::by_name<&Place::labels, read_label>, "labels of the pods there", Need::required},
};

// A host, one port of it, or a network.
void read_gone(Reader& reader, const Node& node, Truth& truth) {
  if (!config::expect_list(reader, node)) return;
  census::GonePeers gone;
  std::vector<routes::Cidr> ranges;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Reader::Inside inside(reader, "[" + std::to_string(i) + "]");
    const Node& item = node.items[i];
    if (const auto range = routes::Cidr::parse(item.text)) {
      ranges.push_back(*range);
    } else if (const auto address = base::Address::parse(item.text)) {
      gone.ends.push_back(*address);
    } else {
      reader.refuse(item.mark, "expected an address, found " + item.description(),
                    "write `10.1.0.5`, `10.1.0.5:8080` or `10.1.0.0/24`");
    }
  }
  gone.hosts = routes::AddressSet(ranges);
  truth.gone.push_back(std::move(gone));
}

constexpr config::Value<Truth> gone_list = {
    [] { return std::string("list of addresses or networks"); },
    read_gone,
    [](const Truth&) { return std::string(); },
};

constexpr Key<Truth> truth_keys[] = {
    {"services", config::list<&Truth::services, service_keys>, "services with all their endpoints"},
    {"gone", gone_list, "peers that are gone, even if a service lists them"},
    {"places", config::list<&Truth::places, place_keys>, "labels of pods, for `allow[].labels` of the policy"},
};

struct Hash {
  std::size_t operator()(const base::Address& address) const { return address.hash(); }
};

// A name or an address with two meanings is invalid.
void refuse_doubles(Reader& reader, const Node& root, const Truth& truth) {
  std::unordered_set<std::string_view> names;
  std::unordered_set<base::Address, Hash> taken;
  for (std::size_t i = 0; i < truth.services.size(); ++i) {
    const std::string service = "services[" + std::to_string(i) + "]";
    if (!names.insert(truth.services[i].name).second) {
      reader.refuse_key(config::locate(root, service + ".name"), service + ".name", "another service has this name",
                        "give each its own");
    }
    for (std::size_t j = 0; j < truth.services[i].addresses.size(); ++j) {
      if (taken.insert(truth.services[i].addresses[j]).second) continue;
      const std::string key = service + ".addresses[" + std::to_string(j) + "]";
      reader.refuse_key(config::locate(root, key), key, "another service has this address", "remove one of the two");
    }
    std::unordered_set<base::Address, Hash> endpoints;
    for (std::size_t j = 0; j < truth.services[i].endpoints.size(); ++j) {
      if (endpoints.insert(truth.services[i].endpoints[j].address).second) continue;
      const std::string key = service + ".endpoints[" + std::to_string(j) + "]";
      reader.refuse_key(config::locate(root, key), key, "the service has this endpoint already",
                        "remove one of the two");
    }
  }
}

}  // namespace

std::expected<Truth, config::Diagnostics> load_truth(const std::string& path) {
  // A list that lacks endpoints would end live connections.
  if (config::writers_of(path) == config::Writers::some) {
    return std::unexpected(config::Diagnostics{{path, 0, 0, "", "another process has it open for writing",
                                                "let its writer close it, or replace it by renaming another file"}});
  }
  const auto text = config::read_file(path, file_bytes_max);
  if (!text) {
    return std::unexpected(config::Diagnostics{{path, 0, 0, "", text.error(), "give the path of a readable file"}});
  }
  return read_truth(*text, path);
}

std::expected<Truth, config::Diagnostics> read_truth(std::string_view text, const std::string& file) {
  const auto root = config::parse_document(text, file);
  if (!root) return std::unexpected(config::Diagnostics{root.error()});
  Reader reader(file, {});
  Truth truth;
  if (root->kind == Node::Kind::list) {
    read_gone(reader, *root, truth);
  } else {
    config::read_mapping(reader, *root, Keys<Truth>(truth_keys), truth);
    if (!reader.failed()) refuse_doubles(reader, *root, truth);
  }
  if (reader.failed()) return std::unexpected(reader.take());
  return truth;
}

std::string truth_reference() {
  return key_table("Top level of the endpoint file", Keys<Truth>(truth_keys)) +
         key_table("`services[]`", Keys<Service>(service_keys)) +
         key_table("`services[].endpoints[]`", Keys<Endpoint>(endpoint_keys)) +
         key_table("`places[]`", Keys<Place>(place_keys));
}

}  // namespace ebb::reap
