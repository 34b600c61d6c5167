#include "relay/engine/exit_code.hpp"

#include <algorithm>
#include <array>

namespace txbox::relay {

ExitCode exit_code_for(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::moved: return ExitCode::moved;
    case ErrorCode::corrupt: return ExitCode::corrupt;
    case ErrorCode::restored: return ExitCode::restored;
    case ErrorCode::schema_newer: return ExitCode::schema_newer;
    case ErrorCode::owned: return ExitCode::owned;
    case ErrorCode::busy:
    case ErrorCode::stale_snapshot:
    case ErrorCode::disk_full:
    case ErrorCode::broker_unavailable: return ExitCode::try_later;
    case ErrorCode::not_installed:
    case ErrorCode::foreign_table:
    case ErrorCode::schema_differs:
    case ErrorCode::not_wal:
    case ErrorCode::unsupported_file:
    case ErrorCode::foreign_store:
    case ErrorCode::offset_out_of_range:
    case ErrorCode::configuration: return ExitCode::configuration;
    case ErrorCode::invalid_argument: return ExitCode::usage;
    case ErrorCode::failure:
    case ErrorCode::refused:
    case ErrorCode::no_transaction:
    case ErrorCode::attached_database:
    case ErrorCode::commit_unknown: return ExitCode::failure;
  }
  return ExitCode::failure;
}

ExitCode worse_of(ExitCode first, ExitCode second) noexcept {
  constexpr std::array kFromTheWorst{ExitCode::corrupt,       ExitCode::restored, ExitCode::moved,
                                     ExitCode::schema_newer,  ExitCode::owned,    ExitCode::failure,
                                     ExitCode::configuration, ExitCode::usage,    ExitCode::try_later,
                                     ExitCode::check_failed,  ExitCode::ok};
  return *std::find_if(kFromTheWorst.begin(), kFromTheWorst.end(),
                       [&](ExitCode code) { return code == first || code == second; });
}

}  // namespace txbox::relay
