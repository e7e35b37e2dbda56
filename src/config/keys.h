// Short names for the kinds of values in the tables of keys.
#pragma once

#include <string_view>

#include "config/table.h"

namespace ebb::config {

inline constexpr std::string_view flag_words[] = {"false", "true"};

template <auto member>
constexpr auto duration = scalar<DurationFormat, member>;
template <auto member>
constexpr auto timeout = scalar<TimeoutFormat, member>;
template <auto member>
constexpr auto size = scalar<SizeFormat<typename MemberParts<decltype(member)>::Target>, member>;
template <auto member>
constexpr auto count = scalar<CountFormat, member>;
template <auto member>
constexpr auto text = scalar<TextFormat, member>;
template <auto member>
constexpr auto optional_text = scalar<Optional<TextFormat>, member>;
template <auto member>
constexpr auto file = scalar<FileFormat, member>;
template <auto member>
constexpr auto flag = scalar<ChoiceFormat<bool, flag_words>, member>;
template <auto member, const auto& words>
constexpr auto choice = scalar<ChoiceFormat<typename MemberParts<decltype(member)>::Target, words>, member>;
template <auto member>
constexpr auto texts = values<TextFormat, member>;
template <auto member>
constexpr auto networks = values<NetworkFormat, member>;

}  // namespace ebb::config
