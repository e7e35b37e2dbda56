// The census as lines of text: one per socket, or one per group.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "census/census.h"

namespace ebb::census {

using Print = std::function<void(std::string_view)>;

enum class GroupBy : std::uint8_t { none, process, peer, verdict };

enum class SortBy : std::uint8_t { verdict, queue, ends, age, process };
inline constexpr std::array<std::string_view, 5> sort_names = {"verdict", "queue", "ends", "age", "process"};

// Sorts `shown`, worst first.
void sort(const Census& census, SortBy by, std::vector<std::uint32_t>& shown);

// Prints the heading and a line for each of `shown`, several lines at a time.
void print_table(const Census& census, std::span<const std::uint32_t> shown, const Print& print);
void print_groups(const Census& census, std::span<const std::uint32_t> shown, GroupBy by, const Print& print);
// "1204 sockets: 3 stale, 1180 idle, 21 active"
std::string summary(const Census& census, std::span<const std::uint32_t> shown);

}  // namespace ebb::census
