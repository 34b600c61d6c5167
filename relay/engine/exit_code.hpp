#pragma once

#include <txbox/base/error.hpp>

namespace txbox::relay {

/// What the process answers to whoever started it; the numbers are a contract (docs: exit codes).
enum class ExitCode : int {
  ok = 0,
  failure = 1,
  usage = 2,
  check_failed = 3,
  moved = 20,
  corrupt = 21,
  restored = 22,
  schema_newer = 23,
  owned = 24,
  try_later = 75,
  configuration = 78,
};

[[nodiscard]] ExitCode exit_code_for(ErrorCode code) noexcept;

/// Which of two a person has to look at first: what is in doubt before what is set up wrongly, and that before what
/// passes by itself.
[[nodiscard]] ExitCode worse_of(ExitCode first, ExitCode second) noexcept;

}  // namespace txbox::relay
