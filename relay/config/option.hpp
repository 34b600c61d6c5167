#pragma once

#include <span>
#include <string>
#include <string_view>

namespace txbox::relay {

enum class OptionType {
  text,
  word,      ///< One of Option::words.
  truth,     ///< true or false.
  duration,  ///< parse_duration()
  keep,      ///< parse_duration(), or kForever.
  size,      ///< parse_size()
  list,      ///< Several texts.
};

/// The value of OptionType::keep that has no end.
inline constexpr std::string_view kForever = "forever";

/// What a person may set. The command line, the environment, the file, `config show`, `config init` and
/// docs/configuration.md all come from the one table of these: what is added there is known everywhere.
struct Option {
  std::string_view name;  ///< Its key in the file, with the section before it: "relay.id_header".
  bool in_file = true;    ///< false: it is about a single start, so that a file does not have it.
  std::string_view flag = {};
  std::string_view variable = {};
  OptionType type = OptionType::text;
  std::string_view words = {};     ///< Of OptionType::word: what is allowed, with | between.
  std::string_view standard = {};  ///< Where nobody sets it, as a person would write it; empty: nothing.
  std::string_view example = {};   ///< For `config init`; empty: the standard value.
  std::string_view help = {};      ///< One sentence without its full stop.
  bool while_running = false;      ///< A reload changes it; else it takes effect at the next start.
  /// Beyond its type: what is expected, where `value` is not that; else empty.
  std::string (*objection)(std::string_view value) = nullptr;
};

[[nodiscard]] std::span<const Option> options() noexcept;
/// nullptr where there is none of that name.
[[nodiscard]] const Option* find_option(std::string_view name) noexcept;

/// "a duration such as 30s, 5m or 7d"
[[nodiscard]] std::string expected_value(const Option& option);
/// What is expected in place of `value`, or empty where it will do. Never repeats the value.
[[nodiscard]] std::string value_objection(const Option& option, const std::string& value);

}  // namespace txbox::relay
