#pragma once

#include <optional>
#include <string>

#include <txbox/base/clock.hpp>
#include <txbox/store/wal_checkpoint.hpp>

namespace txbox::relay {

/// Words for a person about a write-ahead log that stays large. Now and then a checkpoint meets a commit or a reader;
/// only what lasts is worth somebody's time, and not over and over. Pure; one a database.
class WalComplaint {
 public:
  /// What is to be said after this outcome, mostly nothing.
  [[nodiscard]] std::optional<std::string> after(const store::WalCheckpoint::Result& result, SteadyTime now);

 private:
  std::optional<SteadyTime> silent_since_;
};

}  // namespace txbox::relay
