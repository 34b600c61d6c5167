#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <txbox/kafka/consumer.hpp>

namespace txbox::test {

/// The broker that TXBOX_TEST_KAFKA names. A missing one is a failure and not a skip: these tests are the proof, and
/// nobody must believe they ran.
[[nodiscard]] std::string bootstrap_servers();

/// A member of a new group, with short times.
[[nodiscard]] kafka::ConsumerOptions consumer_options(kafka::Properties properties = {});

/// Records whose payloads are the numbers from `first` on, acknowledged.
void publish(const std::string& topic, std::int32_t partition, int first, int count, std::size_t padding = 0);

/// Records in a transaction of Kafka's; one may be left open until the object goes, which aborts it.
class KafkaTransaction {
 public:
  KafkaTransaction();
  KafkaTransaction(const KafkaTransaction&) = delete;
  KafkaTransaction& operator=(const KafkaTransaction&) = delete;
  ~KafkaTransaction();
  void begin();
  void produce(const std::string& topic, std::int32_t partition, int count);  ///< Flushes: Kafka has them.
  void commit();
  void abort();

 private:
  struct State;
  State* state_;
};

}  // namespace txbox::test
