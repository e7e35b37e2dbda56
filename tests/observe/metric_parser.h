// A strict reader of both metric formats: whatever it does not understand is an error with the line in it.
#pragma once

#include <charconv>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ebb::observe {

struct ParsedFamily {
  std::string type;
  std::string help;
  std::map<std::string, double> samples;  // by name and labels, as written
};

struct ParsedMetrics {
  std::map<std::string, ParsedFamily> families;
  std::string error;  // "" if all was well
};

class MetricParser {
 public:
  explicit MetricParser(bool openmetrics) : openmetrics_(openmetrics) {}

  ParsedMetrics parse(const std::string& text) {
    if (!text.ends_with('\n')) fail("no line feed at the end");
    for (std::size_t at = 0; at < text.size() && result_.error.empty();) {
      const std::size_t end = text.find('\n', at);
      read_line(text.substr(at, end - at));
      at = end + 1;
    }
    if (openmetrics_ && !ended_) fail("no # EOF");
    return std::move(result_);
  }

 private:
  void fail(const std::string& why) {
    if (result_.error.empty()) result_.error = why;
  }

  void read_line(const std::string& line) {
    static const std::regex help(R"(# HELP ([a-z_]+) ([ -~]+))");
    static const std::regex type(R"(# TYPE ([a-z_]+) (counter|gauge|histogram|info))");
    std::smatch match;
    if (ended_) return fail("behind # EOF: " + line);
    if (openmetrics_ && line == "# EOF") {
      ended_ = true;
    } else if (std::regex_match(line, match, help)) {
      if (result_.families.contains(match[1])) return fail("family twice: " + line);
      family_name_ = match[1];
      result_.families[family_name_].help = match[2];
    } else if (std::regex_match(line, match, type)) {
      if (match[1] != family_name_) return fail("TYPE without its HELP: " + line);
      result_.families[family_name_].type = match[2];
    } else {
      read_sample(line);
    }
  }

  void read_sample(const std::string& line) {
    static const std::regex sample(
        R"re(([a-z_]+)((?:\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*\})?) (\S+))re");
    std::smatch match;
    if (!std::regex_match(line, match, sample)) return fail("not understood: " + line);
    ParsedFamily& family = result_.families[family_name_];
    if (!allowed_names(family.type).contains(match[1])) return fail("sample outside of its family: " + line);
    const std::string value = match[3];
    double number = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
    if (parsed.ec != std::errc{} || parsed.ptr != value.data() + value.size()) return fail("no number: " + line);
    if (!family.samples.emplace(match[1].str() + match[2].str(), number).second) fail("series twice: " + line);
  }

  std::set<std::string> allowed_names(const std::string& type) const {
    if (type == "histogram") return {family_name_ + "_bucket", family_name_ + "_sum", family_name_ + "_count"};
    if (!openmetrics_) {
      if (type == "info" || (type == "counter" && !family_name_.ends_with("_total"))) return {};
      return {family_name_};
    }
    if (type == "counter") return {family_name_ + "_total"};
    if (type == "info") return {family_name_ + "_info"};
    return {family_name_};
  }

  const bool openmetrics_;
  bool ended_ = false;
  std::string family_name_;
  ParsedMetrics result_;
};

}  // namespace ebb::observe
