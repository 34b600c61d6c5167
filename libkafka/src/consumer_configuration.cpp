#include "consumer_configuration.hpp"

#include <array>
#include <string_view>

#include <txbox/base/error.hpp>

#include "property_rules.hpp"

namespace txbox::kafka {
namespace {

constexpr std::array kGuaranteed{
    Setting{"enable.auto.commit", "false"},       Setting{"enable.auto.offset.store", "false"},
    Setting{"auto.offset.reset", "error"},        Setting{"isolation.level", "read_committed"},
    Setting{"enable.partition.eof", "true"},      Setting{"partition.assignment.strategy", "range"},
    Setting{"allow.auto.create.topics", "false"},
};

/// Rules alone: a client that reads them complains of properties that are set and not used.
constexpr std::array kGuaranteedLegacy{
    Setting{"auto.commit.enable", "false"},
    Setting{"offset.store.method", "broker"},
};

constexpr std::array kDefaults{
    // A frozen broker is noticed after this time.
    Setting{"socket.timeout.ms", "10000"},
    Setting{"socket.nagle.disable", "true"},
    Setting{"socket.keepalive.enable", "true"},
    Setting{"reconnect.backoff.max.ms", "2000"},
    // New partitions are noticed within this time.
    Setting{"topic.metadata.refresh.interval.ms", "30000"},
    // A broker holds an empty answer back for this long; a pause, an assignment and the end of a partition wait for it.
    Setting{"fetch.wait.max.ms", "100"},
    // Each record in librdkafka's queue costs it about 400 bytes beside its own; these bounds keep the whole process
    // under 50 MB with a backlog in a few partitions.
    Setting{"queued.min.messages", "20000"},
    Setting{"queued.max.messages.kbytes", "16384"},
    Setting{"fetch.max.bytes", "8388608"},
    Setting{"statistics.interval.ms", "0"},
};

constexpr std::string_view kCommits =
    "the database knows which records took effect, and Kafka must not hear of others; it must be false";

constexpr std::array kRules{
    Rule{"enable.auto.commit", is_false, kCommits},
    Rule{"auto.commit.enable", is_false, kCommits},
    Rule{"enable.auto.offset.store", is_false, kCommits},
    Rule{"offset.store.method", [](std::string_view value) { return value == "broker"; },
         "positions stand in the database and in Kafka, never in a file beside them; it must be broker"},
    Rule{"auto.offset.reset", [](std::string_view value) { return value == "error"; },
         "any other value would skip or repeat records without a word; the consumer's own policies decide where it "
         "reads when an offset is missing or out of range, and it must be error"},
    Rule{"isolation.level", [](std::string_view value) { return value == "read_committed"; },
         "records of transactions that were never committed would take effect; it must be read_committed"},
    Rule{"enable.partition.eof", is_true,
         "the end of a partition is how a drain knows that it is done; it must be true"},
    Rule{"partition.assignment.strategy",
         [](std::string_view value) { return value.find("cooperative") == std::string_view::npos; },
         "librdkafka before 2.10 loses whole assignments when commits meet a cooperative rebalance; use range or "
         "roundrobin"},
    Rule{"group.protocol", [](std::string_view value) { return value.empty() || value == "classic"; },
         "partitions are taken and given back all at once, which only the classic protocol does"},
    Rule{"allow.auto.create.topics", is_false,
         "the consumer never creates topics: a deleted one would silently come back with other settings"},
    Rule{"topic.blacklist", is_empty, "records of a topic that the client is not to see would never come"},
    Rule{"api.version.request", is_true,
         "without it librdkafka falls back to old message formats that cannot carry headers"},
};

constexpr std::array kOwned{
    Owned{"group.id", "the group has a setting of its own, since the database's positions belong to it"},
};

std::vector<Setting> guaranteed_for_rules() {
  std::vector<Setting> settings(kGuaranteed.begin(), kGuaranteed.end());
  settings.insert(settings.end(), kGuaranteedLegacy.begin(), kGuaranteedLegacy.end());
  return settings;
}

}  // namespace

void check_consumer_properties(const Properties& properties) {
  const std::vector<Setting> guaranteed = guaranteed_for_rules();
  check_properties(properties, {.guaranteed = guaranteed, .rules = kRules, .owned = kOwned});
}

ConfigurationHandle consumer_configuration(const ConsumerOptions& options) {
  if (options.group.empty()) throw Error(ErrorCode::configuration, "kafka consumer: the group's name is empty");
  check_brokers(options.properties);
  check_consumer_properties(options.properties);
  ConfigurationHandle configuration(rd_kafka_conf_new());
  set_properties(configuration.get(), kGuaranteed);
  set_properties(configuration.get(), kDefaults);
  // Later versions only; FetchWaker does the same for those that lack it.
  if (!value_of(configuration.get(), "fetch.queue.backoff.ms").empty()) {
    set_property(configuration.get(), "fetch.queue.backoff.ms", "10");
  }
  for (const auto& [property, value] : options.properties) set_property(configuration.get(), property, value);
  set_property(configuration.get(), "group.id", options.group);
  // Log lines wait in the main queue and are served by poll(): the sink is called from the caller's thread only.
  set_property(configuration.get(), "log.queue", "true");
  return configuration;
}

}  // namespace txbox::kafka
