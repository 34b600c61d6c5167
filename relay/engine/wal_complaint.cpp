#include "relay/engine/wal_complaint.hpp"

#include <algorithm>

namespace txbox::relay {

namespace {

using Outcome = store::WalCheckpoint::Outcome;
constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::seconds kInterval{60};

std::string seconds_between(SteadyTime begin, SteadyTime end) {
  return std::to_string(std::chrono::floor<std::chrono::seconds>(end - begin).count()) + " s";
}

}  // namespace

void WalComplaint::tried(const store::WalCheckpoint::Result& result, SteadyTime now) {
  if (result.outcome == Outcome::done || result.wal_bytes <= store::WalCheckpoint::kWalBytesWanted) {
    *this = {};
    return;
  }
  last_.wal_bytes = result.wal_bytes;
  if (result.outcome == Outcome::not_due) return;
  last_.outcome = result.outcome;
  if (!in_vain_since_) in_vain_since_ = now;
}

std::optional<std::string> WalComplaint::look(const std::vector<store::WalReader>& readers, SteadyTime now) {
  if (!in_vain_since_) return std::nullopt;
  std::map<std::int64_t, SteadyTime> seen;
  for (const store::WalReader& reader : readers) {
    const auto before = readers_.find(reader.pid);
    seen[reader.pid] = before == readers_.end() ? now : before->second;
  }
  readers_.swap(seen);
  if (now - *in_vain_since_ < kPatience || (said_ && now - *said_ < kInterval)) return std::nullopt;
  said_ = now;
  return "the write-ahead log has " + std::to_string(last_.wal_bytes) +
         " bytes and does not shrink: " + reason(readers, now);
}

std::string WalComplaint::reason(const std::vector<store::WalReader>& readers, SteadyTime now) const {
  std::string text;
  for (const store::WalReader& reader : readers) {
    text += (text.empty() ? "" : "; ") + text_of(reader) + ", for " + seconds_between(readers_.at(reader.pid), now) +
            " or longer, and pins " + std::to_string(reader.pinned_bytes) + " bytes of it";
  }
  if (!text.empty()) return text;
  if (last_.outcome == Outcome::pinned)
    return "a reader keeps a transaction open, in a process that cannot be seen from here (another container?)";
  return "every checkpoint meets a writer or another checkpoint";
}

std::optional<SteadyTime> WalComplaint::pinned_since() const {
  std::optional<SteadyTime> since;
  for (const auto& [pid, seen] : readers_) since = std::min(since.value_or(seen), seen);
  if (!since && last_.outcome == Outcome::pinned) return in_vain_since_;
  return since;
}

}  // namespace txbox::relay
