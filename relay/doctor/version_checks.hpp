#pragma once

#include <string_view>

#include "relay/doctor/check.hpp"

namespace txbox::relay::doctor {

/// Versions as the libraries tell them ("3.40.1") against the bugs that are known of them.
[[nodiscard]] Check sqlite_version(std::string_view version);
/// `scram`: the configured credentials are for SCRAM.
[[nodiscard]] Check librdkafka_version(std::string_view version, bool scram);

}  // namespace txbox::relay::doctor
