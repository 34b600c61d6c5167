#pragma once

#include <string>

#include "libinbox/src/consumer/core.hpp"

namespace txbox::test {

/// A command of the consumer's core in one line, as tests compare it and traces print it: `close o0:7>9 forget o0@8`
/// moves partition 0 of topic o. Times are relative to `wall`.
[[nodiscard]] std::string line_of(const inbox::consumer::Command& command, WallTime wall);

}  // namespace txbox::test
