#include "relay/engine/wal_complaint.hpp"

namespace txbox::relay {

namespace {
using Outcome = store::WalCheckpoint::Outcome;
constexpr std::chrono::seconds kPatience{30};
}  // namespace

std::optional<std::string> WalComplaint::after(const store::WalCheckpoint::Result& result, SteadyTime now) {
  if (result.outcome == Outcome::done || result.wal_bytes <= store::WalCheckpoint::kWalBytesWanted) {
    silent_since_.reset();
    return std::nullopt;
  }
  if (result.outcome == Outcome::not_due) return std::nullopt;
  if (!silent_since_) silent_since_ = now;
  if (now - *silent_since_ < kPatience) return std::nullopt;
  silent_since_ = now;
  return "the write-ahead log has " + std::to_string(result.wal_bytes) + " bytes and does not shrink: " +
         (result.outcome == Outcome::pinned ? "a reader keeps a transaction open"
                                            : "every checkpoint meets a writer or another checkpoint");
}

}  // namespace txbox::relay
