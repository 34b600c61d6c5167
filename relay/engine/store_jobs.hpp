#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include <txbox/base/clock.hpp>
#include <txbox/base/error.hpp>
#include <txbox/store/file_guard.hpp>

#include "relay/engine/core.hpp"

namespace txbox::relay {

/// Which Kafka cluster the receipts that follow speak of.
struct UseCluster {
  std::string kafka_cluster_id;
};
struct WriteWitness {
  store::Witness witness;
};
using StoreJob = std::variant<command::Mark, command::ReleaseDue, command::ReleaseTopic, command::ReleaseLane,
                              command::Prune, UseCluster, WriteWitness>;

/// A store error that no repetition heals: it ends the serving of that file.
struct StoreFailure {
  DatabaseIndex database = 0;
  Error error;
};
/// Answer to remove_database(): the worker has nothing open of it any more.
struct StoreLeft {
  DatabaseIndex database = 0;
};
/// What is seen of a WAL, told when it changes.
struct WalSeen {
  DatabaseIndex database = 0;
  std::int64_t bytes = 0;
  std::optional<SteadyTime> pinned_since;  ///< Since when a reader is known to pin it; nullopt for none.

  bool operator==(const WalSeen&) const = default;
};
using StoreAnswer = std::variant<event::Marked, event::Released, event::Pruned, StoreFailure, StoreLeft, WalSeen>;

}  // namespace txbox::relay
