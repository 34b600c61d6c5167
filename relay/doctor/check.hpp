#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relay/engine/exit_code.hpp"

namespace txbox::relay::doctor {

enum class Result {
  ok,
  warning,      ///< Works, and may hurt later. Leaves the exit code alone.
  failure,      ///< Does not hold.
  not_checked,  ///< Nothing could be learned; the text says why.
};

/// What one check found. Neither text holds a key, a payload or a secret.
struct Check {
  std::string subject;  ///< A file, a topic, or empty for what concerns all of it.
  std::string name;     ///< "journal mode": the same in every version, since programs read it.
  Result result = Result::ok;
  std::string text;
  std::string remedy;                      ///< What to do; empty where there is nothing to do.
  ExitCode code = ExitCode::check_failed;  ///< Of a failure.
};
using Checks = std::vector<Check>;

/// "ok", "warning", "failure", "not_checked".
[[nodiscard]] std::string_view to_string(Result result) noexcept;

/// The exit code of the worst failure, ok where there is none. A file that is in danger comes before what is
/// configured wrongly, that before what passes by itself, and that before a check that just did not hold.
[[nodiscard]] ExitCode worst(std::span<const Check> checks) noexcept;

}  // namespace txbox::relay::doctor
