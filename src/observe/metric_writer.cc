#include "observe/metric_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace ebb::observe {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Removes and returns the part before the separator.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = trimmed(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// The best weight that the Accept field gives to exactly this type; wildcards do not count.
std::optional<double> weight_of(std::string_view accept, std::string_view type) {
  std::optional<double> best;
  while (!accept.empty()) {
    std::string_view range = take(accept, ',');
    if (!equals_ignoring_case(take(range, ';'), type)) continue;
    double weight = 1;
    while (!range.empty()) {
      std::string_view parameter = take(range, ';');
      if (!equals_ignoring_case(take(parameter, '='), "q")) continue;
      const char* const end = parameter.data() + parameter.size();
      if (std::from_chars(parameter.data(), end, weight).ec != std::errc{}) weight = 0;
    }
    best = std::max(best.value_or(0), weight);
  }
  return best;
}

// Both formats escape backslash, quote and line feed; the rest is UTF-8, unchanged. Names come from a validated
// configuration; a byte that is not UTF-8 would corrupt only its own label.
void append_label_value(std::string& out, std::string_view value) {
  for (const char c : value) {
    switch (c) {
      case '\\': out += "\\\\"; break;
      case '"': out += "\\\""; break;
      case '\n': out += "\\n"; break;
      default: out += c;
    }
  }
}

}  // namespace

MetricFormat choose_metric_format(std::string_view accept) {
  const double openmetrics = weight_of(accept, "application/openmetrics-text").value_or(0);
  const double plain = weight_of(accept, "text/plain").value_or(0);
  return openmetrics > 0 && openmetrics >= plain ? MetricFormat::openmetrics : MetricFormat::prometheus;
}

std::string_view content_type(MetricFormat format) {
  return format == MetricFormat::openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                             : "text/plain; version=0.0.4; charset=utf-8";
}

void MetricWriter::begin(std::string_view name, std::string_view suffix, std::string_view type, std::string_view help) {
  name_ = name;
  suffix_ = suffix;
  // OpenMetrics names the family without the suffix; Prometheus text uses the name of the samples and has no info type.
  const bool openmetrics = format_ == MetricFormat::openmetrics;
  const std::string_view family_suffix = openmetrics ? "" : suffix;
  const std::string_view family_type = !openmetrics && type == "info" ? "gauge" : type;
  fmt::format_to(std::back_inserter(out_), "# HELP {}{} {}\n# TYPE {}{} {}\n", name, family_suffix, help, name,
                 family_suffix, family_type);
}

void MetricWriter::sample_name(std::string_view suffix, Pairs labels, std::string_view bound) {
  out_ += name_;
  out_ += suffix;
  char separator = '{';
  const auto append = [&](std::string_view name, std::string_view value) {
    out_ += separator;
    separator = ',';
    out_ += name;
    out_ += "=\"";
    append_label_value(out_, value);
    out_ += '"';
  };
  for (const Pair& pair : labels) append(pair.name, pair.value);
  if (!bound.empty()) append("le", bound);
  if (separator == ',') out_ += '}';
  out_ += ' ';
}

void MetricWriter::sample(Pairs labels, std::uint64_t value) {
  sample_name(suffix_, labels);
  fmt::format_to(std::back_inserter(out_), "{}\n", value);
}

void MetricWriter::sample(Pairs labels, double value) {
  sample_name(suffix_, labels);
  fmt::format_to(std::back_inserter(out_), "{}\n", value);
}

void MetricWriter::sample(Pairs labels, const Histogram& histogram) {
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < Histogram::bucket_count; ++i) {
    so_far += histogram.buckets[i];
    const bool last = i + 1 == Histogram::bucket_count;
    const double bound_us = static_cast<double>(std::uint64_t{1} << (Histogram::first_bound_bits + i));
    sample_name("_bucket", labels, last ? "+Inf" : fmt::format("{}", bound_us / 1e6));
    fmt::format_to(std::back_inserter(out_), "{}\n", so_far);
  }
  sample_name("_sum", labels);
  fmt::format_to(std::back_inserter(out_), "{}\n", std::chrono::duration<double>(histogram.sum).count());
  sample_name("_count", labels);
  fmt::format_to(std::back_inserter(out_), "{}\n", histogram.count);
}

void MetricWriter::sample(Pairs labels, const Buckets& buckets) {
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < buckets.counts.size(); ++i) {
    so_far += buckets.counts[i];
    sample_name("_bucket", labels, i < buckets.bounds.size() ? std::to_string(buckets.bounds[i]) : "+Inf");
    fmt::format_to(std::back_inserter(out_), "{}\n", so_far);
  }
  sample_name("_sum", labels);
  fmt::format_to(std::back_inserter(out_), "{}\n", buckets.sum);
  sample_name("_count", labels);
  fmt::format_to(std::back_inserter(out_), "{}\n", so_far);
}

void MetricWriter::finish() {
  if (format_ == MetricFormat::openmetrics) out_ += "# EOF\n";
}

}  // namespace ebb::observe
