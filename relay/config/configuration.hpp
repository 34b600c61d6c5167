#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <txbox/kafka/settings.hpp>

#include "relay/config/listen_address.hpp"
#include "relay/config/setting.hpp"

namespace txbox::relay {

/// What one setting came to, for a person.
struct EffectiveSetting {
  std::string name;
  std::vector<std::string> values;  ///< Empty for a secret, which is never shown.
  bool secret = false;
  Source source;
  std::vector<std::string> overridden;  ///< Weaker places that set it too, the strongest first.
};

/// Everything that was set, judged: flags before the environment, before the file, before the defaults. Immutable.
class Configuration {
 public:
  /// Reads the file that --config or OUTBOX_RELAY_CONFIG names. `flags` are judged for [kafka] only: the command line
  /// has judged the rest. Throws configuration; the text says where the fault stands.
  Configuration(const Settings& flags, const std::vector<std::string>& environment);

  /// Of an option by its name; REQUIRES: it is in the table, and of that type.
  [[nodiscard]] const std::string& text(std::string_view option) const;  ///< Empty where it has no value.
  [[nodiscard]] bool truth(std::string_view option) const;
  [[nodiscard]] std::optional<std::chrono::milliseconds> duration(std::string_view option) const;
  [[nodiscard]] std::int64_t size(std::string_view option) const;
  [[nodiscard]] const std::vector<std::string>& list(std::string_view option) const;

  /// With the secrets, read from their files when this was made: never log them.
  [[nodiscard]] const kafka::Properties& kafka() const noexcept { return kafka_; }
  /// What works and should not stay so; to be said once.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  /// Empty where there is none.
  [[nodiscard]] const std::string& file() const noexcept { return file_; }

  /// One for each name, in the order of the table, then Kafka's by name. The relay's own settings of librdkafka are
  /// among them as defaults.
  [[nodiscard]] std::vector<EffectiveSetting> effective() const;

 private:
  [[nodiscard]] const Setting& winner(std::string_view option) const;

  Settings settings_;  ///< The weakest first; every option is there, with its default if nobody set it.
  kafka::Properties kafka_;
  std::vector<std::string> warnings_;
  std::string file_;
};

/// Throws configuration unless a publisher could start with it: a database and a broker are named, and what belongs
/// together is there together.
void require_runnable(const Configuration& configuration);

/// Where the pages are to be served; nullopt: nowhere.
[[nodiscard]] std::optional<ListenAddress> listen_address_of(const Configuration& configuration);

/// The options that differ and need a new start, by name: what a reload cannot change.
[[nodiscard]] std::vector<std::string> changes_for_next_start(const Configuration& before, const Configuration& after);

}  // namespace txbox::relay
