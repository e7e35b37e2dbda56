#include "wire/http_date.h"

#include <cstdio>

namespace ebb::wire {

std::string http_date(base::WallTime at) {
  static constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(at - day));
  char text[48];
  const int size = std::snprintf(text, sizeof(text), "%s, %02u %s %04d %02d:%02d:%02d GMT",
                                 days[std::chrono::weekday(day).c_encoding()], static_cast<unsigned>(date.day()),
                                 months[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
                                 static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                                 static_cast<int>(time.seconds().count()));
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace ebb::wire
