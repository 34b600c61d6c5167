#pragma once

#include <string>
#include <string_view>

#include "relay/config/setting.hpp"

namespace txbox::relay {

/// The settings of a configuration file in the order of their lines. What TOML nests is joined with dots, so that
/// `[kafka]` may hold `bootstrap.servers` bare or quoted. Throws configuration, with file and line, for what is not
/// TOML, for a key that is no option (with the nearest one) and for a value of another type than the option's. Names
/// and values of `[kafka]` are judged elsewhere (KafkaSettings). No text repeats a value.
[[nodiscard]] Settings read_toml(std::string_view text, const std::string& path);

/// The same of a file. Throws configuration where it cannot be read.
[[nodiscard]] Settings read_toml_file(const std::string& path);

}  // namespace txbox::relay
