#include "relay/doctor/check.hpp"

namespace txbox::relay::doctor {

namespace {

int rank(ExitCode code) noexcept {
  switch (code) {
    case ExitCode::ok: return 0;
    case ExitCode::check_failed: return 1;
    case ExitCode::usage: return 2;
    case ExitCode::try_later: return 3;
    case ExitCode::owned: return 4;
    case ExitCode::failure: return 5;
    case ExitCode::configuration: return 6;
    case ExitCode::schema_newer: return 7;
    case ExitCode::restored: return 8;
    case ExitCode::moved: return 9;
    case ExitCode::corrupt: return 10;
  }
  return 0;
}

}  // namespace

std::string_view to_string(Result result) noexcept {
  switch (result) {
    case Result::ok: return "ok";
    case Result::warning: return "warning";
    case Result::failure: return "failure";
    case Result::not_checked: return "not_checked";
  }
  return "failure";
}

ExitCode worst(std::span<const Check> checks) noexcept {
  ExitCode code = ExitCode::ok;
  for (const Check& check : checks) {
    if (check.result == Result::failure && rank(check.code) > rank(code)) code = check.code;
  }
  return code;
}

}  // namespace txbox::relay::doctor
