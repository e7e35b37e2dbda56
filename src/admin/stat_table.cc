#include "admin/stat_table.h"

#include <fmt/format.h>

#include "observe/json_writer.h"

namespace ebb::admin {
namespace {

struct ColumnFacts {
  std::string_view name;
  std::string_view tags;
  std::string_view type;
};

constexpr ColumnFacts columns[] = {
#define X(name, tags, type) {#name, #tags, #type},
    EBB_STAT_COLUMNS(X)
#undef X
};

std::string_view origin_name(char tag) {
  switch (tag) {
    case 'M': return "Metric";
    case 'S': return "Status";
    case 'K': return "Key";
    case 'C': return "Config";
    default: return "Product";
  }
}

std::string_view nature_name(char tag) {
  switch (tag) {
    case 'A': return "Age";
    case 'a': return "Avg";
    case 'C': return "Counter";
    case 'D': return "Duration";
    case 'G': return "Gauge";
    case 'L': return "Limit";
    case 'M': return "Max";
    case 'N': return "Name";
    case 'R': return "Rate";
    default: return "Output";
  }
}

std::string_view scope_name(char tag) { return tag == 'P' ? "Process" : "Service"; }

std::string text_of(const StatValue& value) {
  if (const auto* const number = std::get_if<std::uint64_t>(&value)) return std::to_string(*number);
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  return "";
}

// HAProxy quotes values that would break the line, and doubles quotes inside.
void append_csv(std::string& out, const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char byte : text) {
    if (byte == '"') out += '"';
    out += byte;
  }
  out += '"';
}

char letter(StatKind kind) {
  switch (kind) {
    case StatKind::frontend: return 'F';
    case StatKind::backend: return 'B';
    case StatKind::server: return 'S';
  }
  return 'S';
}

std::string_view object_type(StatKind kind) {
  switch (kind) {
    case StatKind::frontend: return "Frontend";
    case StatKind::backend: return "Backend";
    case StatKind::server: return "Server";
  }
  return "Server";
}

std::string write_csv(std::span<const StatRow> rows) {
  std::string out = "# ";
  for (const ColumnFacts& column : columns) out += std::string(column.name) + ",";
  out += '\n';
  for (const StatRow& row : rows) {
    for (const StatValue& value : row.values) {
      append_csv(out, text_of(value));
      out += ',';
    }
    out += '\n';
  }
  return out;
}

std::string write_typed(std::span<const StatRow> rows) {
  std::string out;
  for (const StatRow& row : rows) {
    for (std::size_t i = 0; i < stat_column_count; ++i) {
      if (std::holds_alternative<std::monostate>(row.values[i])) continue;
      const ColumnFacts& column = columns[i];
      out += fmt::format("{}.{}.{}.{}.{}.1:{}:{}:{}\n", letter(row.kind), row.proxy, row.server, i, column.name,
                         column.tags, column.type, text_of(row.values[i]));
    }
  }
  return out;
}

void write_field(observe::JsonWriter& json, std::size_t position, std::string_view name, std::string_view tags,
                 std::string_view type, std::string_view text) {
  json.key("field").begin_object().member("pos", position).member("name", name).end_object();
  json.member("processNum", 1);
  json.key("tags")
      .begin_object()
      .member("origin", origin_name(tags[0]))
      .member("nature", nature_name(tags[1]))
      .member("scope", scope_name(tags[2]))
      .end_object();
  json.key("value").begin_object().member("type", type).key("value");
  if (type == "str") {
    json.value(text);
  } else {
    json.number(text);
  }
  json.end_object();
}

std::string write_json(std::span<const StatRow> rows) {
  std::string out;
  observe::JsonWriter json(out);
  json.begin_array();
  for (const StatRow& row : rows) {
    json.begin_array();
    for (std::size_t i = 0; i < stat_column_count; ++i) {
      if (std::holds_alternative<std::monostate>(row.values[i])) continue;
      json.begin_object()
          .member("objType", object_type(row.kind))
          .member("proxyId", row.proxy)
          .member("id", row.server);
      write_field(json, i, columns[i].name, columns[i].tags, columns[i].type, text_of(row.values[i]));
      json.end_object();
    }
    json.end_array();
  }
  json.end_array();
  return out + "\n";
}

}  // namespace

std::string_view StatRow::text(StatColumn column) const {
  const auto* const found = std::get_if<std::string>(&(*this)[column]);
  return found == nullptr ? std::string_view() : *found;
}

std::string write_stat(std::span<const StatRow> rows, StatForm form) {
  switch (form) {
    case StatForm::plain: return write_csv(rows);
    case StatForm::typed: return write_typed(rows);
    case StatForm::json: return write_json(rows);
  }
  return "";
}

std::string write_info(std::span<const InfoField> fields, StatForm form) {
  std::string out;
  observe::JsonWriter json(out);
  if (form == StatForm::json) json.begin_array();
  for (const InfoField& field : fields) {
    switch (form) {
      case StatForm::plain: out += fmt::format("{}: {}\n", field.name, field.value); break;
      case StatForm::typed:
        out += fmt::format("{}.{}.1:{}:{}:{}\n", field.position, field.name, field.tags, field.type, field.value);
        break;
      case StatForm::json:
        json.begin_object();
        write_field(json, field.position, field.name, field.tags, field.type, field.value);
        json.end_object();
        break;
    }
  }
  if (form == StatForm::json) {
    json.end_array();
    out += '\n';
  }
  return out;
}

}  // namespace ebb::admin
