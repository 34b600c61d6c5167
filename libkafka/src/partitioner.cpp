#include <txbox/base/check.hpp>
#include <txbox/kafka/producer.hpp>

#include <librdkafka/rdkafka.h>

namespace txbox::kafka {

std::int32_t partition_for_key(std::string_view key, std::int32_t partition_count) noexcept {
  TXBOX_CHECK(partition_count > 0);
  // A null pointer would mean "no key" and choose a random partition; Java hashes the empty key like any other.
  const char* bytes = key.data() != nullptr ? key.data() : "";
  return rd_kafka_msg_partitioner_murmur2_random(nullptr, bytes, key.size(), partition_count, nullptr, nullptr);
}

}  // namespace txbox::kafka
