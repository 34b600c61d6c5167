#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libinbox/src/consumer/core.hpp"

namespace txbox::inbox::consumer {

/// Where a partition starts, and what has to be done for it.
struct Start {
  enum class Kind : std::uint8_t {
    run,
    stand_still,  ///< Out of range, and the policy is to leave that to a person.
    fail,         ///< The run ends with `code` and `text`.
  };
  struct Words {
    LogLevel level = LogLevel::info;
    std::string text;
  };
  Kind kind = Kind::run;
  std::int64_t offset = 0;
  std::optional<std::int64_t> set_next;  ///< The store does not have it yet.
  std::optional<std::int64_t> reset_to;  ///< For command::Take.
  bool commit_first = false;             ///< Kafka is told, and has answered, before the first message.
  bool settle_reset = false;             ///< Once it has, no reset is outstanding any more.
  std::vector<Words> words;
  ErrorCode code = ErrorCode::failure;
  std::string text;
};

/// The table of docs/architecture.md: the store's position, Kafka's offset with its metadata, and the policies.
[[nodiscard]] Start decide_start(const CoreOptions& options, const event::PositionsLoaded::Loaded& loaded);

/// `txbox1:<store uuid>:<incarnation>`.
[[nodiscard]] std::string commit_metadata(const CoreOptions& options);

/// topic[partition], as Kafka's own tools write it.
[[nodiscard]] std::string name_of(const Place& place);

}  // namespace txbox::inbox::consumer
