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

// By the scraper's Accept field (RFC 9110 12.5.1): OpenMetrics if named with at least the weight of Prometheus text.
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

  // Begin a family; its samples follow at once. `name` lacks the suffix of its kind (_total, _info).
  void counter(std::string_view name, std::string_view help) { begin(name, "_total", "counter", help); }
  void gauge(std::string_view name, std::string_view help) { begin(name, "", "gauge", help); }
  void info(std::string_view name, std::string_view help) { begin(name, "_info", "info", help); }
  void histogram(std::string_view name, std::string_view help) { begin(name, "", "histogram", help); }
  // For names that another program chose, without the suffix that OpenMetrics requires.
  void foreign_counter(std::string_view name, std::string_view help) {
    begin(name, format_ == MetricFormat::openmetrics ? "_total" : "", "counter", help);
  }

  void sample(Pairs labels, std::uint64_t value);
  void sample(Pairs labels, double value);
  void sample(Pairs labels, const Histogram& histogram);
  // In any unit. The counts are not cumulative, and there is one more than bounds.
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
