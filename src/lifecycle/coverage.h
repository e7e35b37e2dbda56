// Which rows of the tables are taken: `make test` fails for a row that no test takes (tools/rows).
//
// In builds with EBB_RECORD_ROWS, if the environment variable EBB_ROWS names a folder, each table has one file there
// for each program. All processes of the program map it and set one byte for each row that they take. Nothing is
// written when a process ends, so a process may end by _exit, a signal or a crash. Other builds contain none of this.
#pragma once

#include <cstddef>

#ifdef EBB_RECORD_ROWS
#include <atomic>
#include <string>
#include <string_view>
#endif

namespace ebb::lifecycle::coverage {

#ifdef EBB_RECORD_ROWS

class Record {
 public:
  // `rows`: one line for each row.
  Record(std::string_view table, std::size_t count, const std::string& rows);
  void take(std::size_t row) {
    if (taken_ != nullptr) std::atomic_ref(taken_[row]).store(1, std::memory_order_relaxed);
  }

 private:
  unsigned char* taken_ = nullptr;  // mapped as long as the process lives
};

template <class Definition>
std::string_view table_name() {
  const std::string_view text = __PRETTY_FUNCTION__;  // "... [Definition = ebb::lifecycle::FlowLife]"
  const std::size_t begin = text.rfind("ebb::") + 5;
  return text.substr(begin, text.rfind(']') - begin);
}

template <class Definition>
Record make_record() {
  std::string lines;
  for (const auto& row : Definition::rows) {
    lines += Definition::state_names[static_cast<std::size_t>(row.from)];
    lines += " ";
    lines += Definition::event_names[static_cast<std::size_t>(row.on)];
    lines += "\n";
  }
  return Record(table_name<Definition>(), std::size(Definition::rows), lines);
}

// Opened before main, and so before a program gives up the right to open files.
template <class Definition>
struct Recorded {
  static inline Record record = make_record<Definition>();
};

template <class Definition>
constexpr void taken(typename Definition::State from, typename Definition::Event on) {
  if !consteval {
    std::size_t index = 0;
    for (const auto& row : Definition::rows) {
      if (row.from == from && row.on == on) return Recorded<Definition>::record.take(index);
      ++index;
    }
  }
}

#else

template <class Definition>
constexpr void taken(typename Definition::State, typename Definition::Event) {}

#endif

}  // namespace ebb::lifecycle::coverage
