#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace txbox::relay {

/// Where a value may come from, the weakest first.
enum class Layer { standard, file, environment, flag };

struct Source {
  Layer layer = Layer::standard;
  std::string where;  ///< "default", "relay.toml:3", "OUTBOX_RELAY_DB", "--db".
};

/// One value as somebody gave it. Its name is an option's, or `kafka.` and a property of librdkafka.
struct Setting {
  std::string name;
  std::vector<std::string> values;  ///< One, but for OptionType::list.
  Source source;
};

using Settings = std::vector<Setting>;

constexpr std::string_view kKafkaSection = "kafka.";

/// "; did you mean X?", or nothing where nothing is near.
[[nodiscard]] std::string did_you_mean(const std::string& nearest);

}  // namespace txbox::relay
