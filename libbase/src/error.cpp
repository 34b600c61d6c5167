#include <txbox/base/error.hpp>

namespace txbox {

NextStep next_step(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::busy:
    case ErrorCode::broker_unavailable:
    case ErrorCode::owned: return NextStep::retry_call;
    case ErrorCode::stale_snapshot: return NextStep::retry_transaction;
    case ErrorCode::invalid_argument:
    case ErrorCode::refused:
    case ErrorCode::no_transaction:
    case ErrorCode::attached_database:
    case ErrorCode::disk_full:
    case ErrorCode::commit_unknown:
    case ErrorCode::not_installed:
    case ErrorCode::foreign_table:
    case ErrorCode::schema_differs:
    case ErrorCode::not_wal:
    case ErrorCode::unsupported_file:
    case ErrorCode::configuration:
    case ErrorCode::foreign_store:
    case ErrorCode::offset_out_of_range: return NextStep::fix_first;
    case ErrorCode::failure:
    case ErrorCode::schema_newer:
    case ErrorCode::moved:
    case ErrorCode::corrupt:
    case ErrorCode::restored: return NextStep::give_up;
  }
  return NextStep::give_up;
}

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::failure: return "failure";
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::refused: return "refused";
    case ErrorCode::no_transaction: return "no_transaction";
    case ErrorCode::attached_database: return "attached_database";
    case ErrorCode::busy: return "busy";
    case ErrorCode::stale_snapshot: return "stale_snapshot";
    case ErrorCode::disk_full: return "disk_full";
    case ErrorCode::commit_unknown: return "commit_unknown";
    case ErrorCode::not_installed: return "not_installed";
    case ErrorCode::foreign_table: return "foreign_table";
    case ErrorCode::schema_newer: return "schema_newer";
    case ErrorCode::schema_differs: return "schema_differs";
    case ErrorCode::not_wal: return "not_wal";
    case ErrorCode::unsupported_file: return "unsupported_file";
    case ErrorCode::moved: return "moved";
    case ErrorCode::corrupt: return "corrupt";
    case ErrorCode::restored: return "restored";
    case ErrorCode::owned: return "owned";
    case ErrorCode::configuration: return "configuration";
    case ErrorCode::broker_unavailable: return "broker_unavailable";
    case ErrorCode::foreign_store: return "foreign_store";
    case ErrorCode::offset_out_of_range: return "offset_out_of_range";
  }
  return "failure";
}

}  // namespace txbox
