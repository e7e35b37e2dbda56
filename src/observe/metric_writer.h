// The syntax of metrics: Prometheus text 0.0.4 and OpenMetrics 1.0.0, which differ in the names of counters, in info
// metrics and in the last line. exposition.cc has the metrics themselves.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "observe/counters.h"

namespace ebb::observe {

enum class MetricFormat : std::uint8_t { prometheus, openmetrics };

// By the Accept field of the scraper (RFC 9110 12.5.1); Prometheus text unless OpenMetrics is named and not liked less.
MetricFormat choose_metric_format(std::string_view accept);
std::string_view content_type(MetricFormat format);

class MetricWriter {
 public:
  struct Pair {
    std::string_view name;
    std::string_view value;
  };
  using Pairs = std::initializer_list<Pair>;

  MetricWriter(MetricFormat format, std::string& out) : format_(format), out_(out) {}

  // Begin a family; its samples follow at once. `name` is without the suffix that the kind brings (_total, _info).
  void counter(std::string_view name, std::string_view help) { begin(name, "_total", "counter", help); }
  void gauge(std::string_view name, std::string_view help) { begin(name, "", "gauge", help); }
  void info(std::string_view name, std::string_view help) { begin(name, "_info", "info", help); }
  void histogram(std::string_view name, std::string_view help) { begin(name, "", "histogram", help); }
  // Named by another program, without the suffix that OpenMetrics asks for.
  void foreign_counter(std::string_view name, std::string_view help) {
    begin(name, format_ == MetricFormat::openmetrics ? "_total" : "", "counter", help);
  }

  void sample(Pairs labels, std::uint64_t value);
  void sample(Pairs labels, double value);
  void sample(Pairs labels, const Histogram& histogram);
  // In any unit; buckets are not added up, and one more than there are bounds takes the rest.
  struct Buckets {
    std::span<const std::int64_t> bounds;
    std::span<const std::uint64_t> counts;
    double sum = 0;
  };
  void sample(Pairs labels, const Buckets& buckets);

  void finish();

 private:
  void begin(std::string_view name, std::string_view suffix, std::string_view type, std::string_view help);
  void sample_name(std::string_view suffix, Pairs labels, std::string_view bound = {});

  MetricFormat format_;
  std::string& out_;
  std::string_view name_;
  std::string_view suffix_;
};

}  // namespace ebb::observe
