#include <txbox/kafka/settings.hpp>

#include <array>
#include <cstdlib>
#include <string>

#include "producer_configuration.hpp"
#include "property_rules.hpp"

namespace txbox::kafka {
namespace {

bool is_zero(std::string_view value) { return value == "0"; }

constexpr std::array kRules{
    Rule{"enable.idempotence", is_true, "without idempotence a retry reorders and repeats records; it must be true"},
    Rule{"enable.gapless.guarantee", is_true, "without it later records of a key pass a refused one; it must be true"},
    Rule{"request.required.acks", [](std::string_view value) { return value == "-1"; },
         "a record counts as sent only when all in-sync replicas have it; it must be all"},
    Rule{"message.timeout.ms", is_zero,
         "a finite timeout drops records during an outage and leaves holes in a key's order; it must be 0"},
    Rule{"message.send.max.retries", [](std::string_view value) { return value == "2147483647"; },
         "a limit of retries drops records during an outage and leaves holes in a key's order; leave it out"},
    Rule{"max.in.flight.requests.per.connection",
         [](std::string_view value) { return std::atoi(std::string(value).c_str()) <= 5; },
         "Kafka keeps the order of an idempotent producer only for up to 5 requests in flight"},
    Rule{"queuing.strategy", [](std::string_view value) { return value == "fifo"; },
         "anything but fifo breaks the order of a key"},
    Rule{"partitioner", [](std::string_view value) { return value == "murmur2_random"; },
         "the partition of a key is computed as Java's client does (murmur2_random); another one would split keys"},
    Rule{"transactional.id", is_empty,
         "the relay does not publish in Kafka transactions; records would never become visible"},
    Rule{"allow.auto.create.topics", is_false,
         "the relay never creates topics: a deleted one would silently come back with other settings"},
    Rule{"delivery.report.only.error", is_false,
         "a record is marked as sent by its report; without reports nothing would ever be marked"},
    Rule{"topic.blacklist", is_empty, "rows of a topic that the client is not to see would wait for ever"},
    Rule{"api.version.request", is_true,
         "without it librdkafka falls back to old message formats that cannot carry headers"},
};

}  // namespace

void check_producer_properties(const Properties& properties) {
  check_properties(properties, {.guaranteed = guaranteed_producer_settings(), .rules = kRules, .owned = {}});
}

std::vector<std::pair<std::string, std::string>> producer_rules() {
  std::vector<std::pair<std::string, std::string>> rules;
  rules.reserve(kRules.size());
  for (const Rule& rule : kRules) rules.emplace_back(rule.property, rule.reason);
  return rules;
}

std::string library_version() { return rd_kafka_version_str(); }

}  // namespace txbox::kafka
