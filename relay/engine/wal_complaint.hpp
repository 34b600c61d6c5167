#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <txbox/base/clock.hpp>
#include <txbox/store/wal_checkpoint.hpp>
#include <txbox/store/wal_readers.hpp>

namespace txbox::relay {

/// Words for a person about a write-ahead log that stays large, with the name of the reader that pins it. Now and then
/// a checkpoint meets a commit or a reader; only what lasts is worth somebody's time, and not over and over. Pure; one
/// a database.
class WalComplaint {
 public:
  /// What became of a checkpoint, or of the wait for the next one.
  void tried(const store::WalCheckpoint::Result& result, SteadyTime now);
  /// Who pins the WAL now. Returns what is to be said, mostly nothing.
  [[nodiscard]] std::optional<std::string> look(const std::vector<store::WalReader>& readers, SteadyTime now);
  /// Since when one reader, or several in turn where none can be seen, is known to stand in the way.
  [[nodiscard]] std::optional<SteadyTime> pinned_since() const;

 private:
  [[nodiscard]] std::string reason(const std::vector<store::WalReader>& readers, SteadyTime now) const;

  std::map<std::int64_t, SteadyTime> readers_;  ///< By process, since when each was seen without a gap.
  store::WalCheckpoint::Result last_;           ///< Of the last checkpoint that was tried.
  std::optional<SteadyTime> in_vain_since_;
  std::optional<SteadyTime> said_;
};

}  // namespace txbox::relay
