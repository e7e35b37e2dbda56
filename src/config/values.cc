#include "config/values.h"

#include <netdb.h>

#include <charconv>
#include <memory>
#include <optional>

namespace ebb::config {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct DurationUnit {
  std::string_view name;
  base::Duration length;
};
constexpr DurationUnit duration_units[] = {
    {"h", hours{1}}, {"m", minutes{1}}, {"s", seconds{1}}, {"ms", milliseconds{1}}};

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr SizeUnit size_units[] = {{"GiB", 1u << 30}, {"MiB", 1u << 20}, {"KiB", 1u << 10}, {"", 1}};

struct NumberAndUnit {
  std::uint64_t number;
  std::string_view unit;
};

// Splits "500ms" into digits and unit. Empty if the text does not begin with digits or has too many of them.
std::optional<NumberAndUnit> split_unit(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return NumberAndUnit{number, text.substr(static_cast<std::size_t>(end - text.data()))};
}

struct HostAndPort {
  std::string host;
  std::uint16_t port;
};

std::optional<HostAndPort> split_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto number = parse_count(text.substr(colon + 1), UINT16_MAX);
  if (!number) return std::nullopt;
  return HostAndPort{std::string(text.substr(0, colon)), static_cast<std::uint16_t>(*number)};
}

std::string in_folder(std::string_view path, const Surroundings& surroundings) {
  return (surroundings.folder / path).lexically_normal().string();
}

}  // namespace

Parsed<base::Duration> DurationFormat::parse(std::string_view text, const Surroundings&) {
  const auto refused = [](std::string remedy) {
    return std::unexpected(Complaint{"expected a duration", std::move(remedy)});
  };
  const auto split = split_unit(text);
  if (!split) return refused("write a whole number with its unit: 500ms, 5s, 1m or 1h");
  const std::string digits = std::to_string(split->number);
  if (split->unit.empty())
    return refused("add the unit: " + digits + "s for seconds, " + digits + "ms for milliseconds");
  for (const DurationUnit& unit : duration_units) {
    if (unit.name != split->unit) continue;
    if (split->number > static_cast<std::uint64_t>(base::Duration::max() / unit.length)) {
      return refused("give a duration of at most a year");
    }
    return unit.length * static_cast<base::Duration::rep>(split->number);
  }
  return refused("the unit is one of ms, s, m and h; fractions are written in the next smaller unit");
}

std::string DurationFormat::show(base::Duration value) {
  if (value == base::Duration::zero()) return "";
  for (const DurationUnit& unit : duration_units) {
    if (value % unit.length == base::Duration::zero()) {
      return std::to_string(value / unit.length) + std::string(unit.name);
    }
  }
  return std::to_string(value.count()) + "ns";
}

Parsed<base::Duration> TimeoutFormat::parse(std::string_view text, const Surroundings& surroundings) {
  auto parsed = DurationFormat::parse(text, surroundings);
  if (parsed && *parsed == base::Duration::zero()) {
    return std::unexpected(
        Complaint{"expected a duration above zero", "there is no value for \"never\"; leave the key out"});
  }
  return parsed;
}

Parsed<base::Duration> PeriodFormat::parse(std::string_view text, const Surroundings& surroundings) {
  auto parsed = DurationFormat::parse(text, surroundings);
  if (parsed && *parsed != base::Duration::zero() && *parsed < std::chrono::seconds{1}) {
    return std::unexpected(Complaint{"expected a second or more", "write 1s, or 0s for never"});
  }
  return parsed;
}

Parsed<std::uint64_t> parse_size(std::string_view text, std::uint64_t max) {
  const auto split = split_unit(text);
  if (!split) return std::unexpected(Complaint{"expected a size", "write bytes or a unit: 65536, 64KiB or 1MiB"});
  for (const SizeUnit& unit : size_units) {
    if (unit.name != split->unit) continue;
    if (split->number > max / unit.bytes) {
      return std::unexpected(Complaint{"expected a smaller size", "give at most " + show_size(max)});
    }
    return split->number * unit.bytes;
  }
  return std::unexpected(Complaint{"expected a size", "the unit is one of KiB, MiB and GiB, or none for bytes"});
}

std::string show_size(std::uint64_t bytes) {
  for (const SizeUnit& unit : size_units) {
    if (bytes != 0 && bytes % unit.bytes == 0) return std::to_string(bytes / unit.bytes) + std::string(unit.name);
  }
  return std::to_string(bytes);
}

Parsed<std::uint64_t> parse_count(std::string_view text, std::uint64_t max) {
  const auto split = split_unit(text);
  if (split && split->unit.empty() && split->number <= max) return split->number;
  return std::unexpected(Complaint{"expected a number", "give a whole number from 0 to " + std::to_string(max)});
}

Parsed<std::uint32_t> WorkersFormat::parse(std::string_view text, const Surroundings&) {
  // The largest machines have fewer cores: a higher number is a mistake.
  constexpr std::uint32_t workers_max = 1024;
  if (text == "auto") return 0;
  const auto count = parse_count(text, workers_max);
  if (count && *count > 0) return static_cast<std::uint32_t>(*count);
  return std::unexpected(Complaint{"expected a number of workers", "write auto for one per core, or 1 to 1024"});
}

Parsed<std::string> FileFormat::parse(std::string_view text, const Surroundings& surroundings) {
  if (text.empty() || text.find('\0') != std::string_view::npos) {
    return std::unexpected(Complaint{"expected the name of a file", "give a path, from here or from the root"});
  }
  return in_folder(text, surroundings);
}

Parsed<std::string> OutputFormat::parse(std::string_view text, const Surroundings& surroundings) {
  if (text == "-") return "-";
  return FileFormat::parse(text, surroundings);
}

Parsed<routes::TextFile> TextFileFormat::parse(std::string_view text, const Surroundings& surroundings) {
  auto path = FileFormat::parse(text, surroundings);
  if (!path) return std::unexpected(std::move(path.error()));
  auto content = surroundings.texts->get(*path);
  if (content) return routes::TextFile{std::move(*path), std::move(*content)};
  return std::unexpected(Complaint{"expected a file that can be read (" + *path + " " + content.error() + ")",
                                   "put the file there, or correct the path"});
}

Parsed<routes::Cidr> NetworkFormat::parse(std::string_view text, const Surroundings&) {
  const auto network = routes::Cidr::parse(text);
  if (network) return *network;
  return std::unexpected(Complaint{"expected a network (" + network.error() + ")",
                                   "write an address or a network in numbers: 10.1.2.3, 10.0.0.0/8 or fd00::/8"});
}

namespace {

// A status, or a class of statuses, from `first` on.
std::optional<routes::StatusRange> parse_status(std::string_view text, std::uint16_t first) {
  const bool is_class = text.size() == 3 && text.ends_with("xx");
  const auto number = parse_count(is_class ? text.substr(0, 1) : text, 599);
  if (!number) return std::nullopt;
  const auto status = static_cast<std::uint16_t>(is_class ? *number * 100 : *number);
  if (status < first || status > 599) return std::nullopt;
  return routes::StatusRange{status, static_cast<std::uint16_t>(is_class ? status + 99 : status)};
}

}  // namespace

Parsed<routes::StatusRange> StatusFormat::parse(std::string_view text, const Surroundings&) {
  if (const auto range = parse_status(text, 400)) return *range;
  return std::unexpected(Complaint{"expected the status of an error", "give 400 to 599, or 4xx or 5xx for a class"});
}

Parsed<routes::StatusRange> AnswerStatusFormat::parse(std::string_view text, const Surroundings&) {
  if (const auto range = parse_status(text, 200)) return *range;
  return std::unexpected(Complaint{"expected a status", "give 200 to 599, or 2xx to 5xx for a class"});
}

Parsed<base::Address> BindFormat::parse(std::string_view text, const Surroundings&) {
  std::string numeric(text);
  if (text.starts_with("*:")) numeric = "0.0.0.0" + numeric.substr(1);
  if (text.starts_with(":")) numeric = "0.0.0.0" + numeric;
  if (const auto address = base::Address::parse(numeric)) return *address;
  return std::unexpected(Complaint{"expected an address of this machine with a port",
                                   "write numbers: 127.0.0.1:8080, [::1]:8080, or *:8080 for every IPv4 address"});
}

Parsed<base::Address> EndpointAddressFormat::parse(std::string_view text, const Surroundings& surroundings) {
  if (const auto address = base::Address::parse(text)) return *address;
  const auto split = split_port(text);
  const bool is_name = split && !split->host.empty() && split->host.find_first_of(":[]/ ") == std::string::npos;
  if (!is_name) {
    return std::unexpected(
        Complaint{"expected an address with a port", "write 10.1.0.5:8080, [fd00::5]:8080 or name:8080"});
  }
  const auto resolved = surroundings.resolve(split->host, split->port);
  if (resolved) return *resolved;
  return std::unexpected(Complaint{"expected a name that can be resolved (" + resolved.error() + ")",
                                   "correct the name, or give the address in numbers"});
}

std::expected<base::Address, std::string> resolve_by_system(const std::string& host, std::uint16_t port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) return std::unexpected(std::string(gai_strerror(error)));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, freeaddrinfo);
  // The resolver sorts addresses by preference (RFC 6724).
  base::Address address = base::Address::from(list->ai_addr);
  if (!address.valid()) return std::unexpected(std::string("no IPv4 or IPv6 address"));
  address.set_port(port);
  return address;
}

}  // namespace ebb::config
