#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "relay/engine/figures.hpp"

namespace txbox::relay {

/// What a relay lets `status` know of its trouble with Kafka: a small file in its state directory, named by its process
/// and there only as long as the trouble lasts, so that nothing of it is written into the application's files. It is
/// for people: a note that cannot be written is left out.
class TroubleNote {
 public:
  TroubleNote(const std::string& state_directory, std::int64_t pid);
  TroubleNote(const TroubleNote&) = delete;
  TroubleNote& operator=(const TroubleNote&) = delete;
  ~TroubleNote();
  /// Writes the note where something changed, and takes it away where there is no trouble.
  void show(const std::optional<TroubleFigures>& trouble) noexcept;

 private:
  std::string path_;
  std::optional<BrokerTrouble> shown_;
};

/// The note in this state directory; nothing where there is none, or none that is whole.
[[nodiscard]] std::optional<TroubleFigures> read_trouble_note(const std::string& state_directory, std::int64_t pid);

/// The state directory of a process that runs, as its own environment says; our own where that may not be read.
[[nodiscard]] std::string state_directory_of(std::int64_t pid);

}  // namespace txbox::relay
