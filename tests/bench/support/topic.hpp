#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace txbox::bench {

struct DestroyClient {
  void operator()(rd_kafka_t* client) const noexcept { rd_kafka_destroy(client); }
};
struct DestroyMessage {
  void operator()(rd_kafka_message_t* message) const noexcept { rd_kafka_message_destroy(message); }
};
using Client = std::unique_ptr<rd_kafka_t, DestroyClient>;
using Message = std::unique_ptr<rd_kafka_message_t, DestroyMessage>;
using Properties = std::vector<std::pair<std::string, std::string>>;
using DeliveryCallback = void (*)(rd_kafka_t*, const rd_kafka_message_t*, void*);

/// A librdkafka client. `on_delivery` is for producers; `opaque` is what it is given. Throws Error(failure).
[[nodiscard]] Client make_client(rd_kafka_type_t type, const Properties& properties,
                                 DeliveryCallback on_delivery = nullptr, void* opaque = nullptr);

/// The properties of the bare producer: those that outbox-relay's own producer runs with.
[[nodiscard]] Properties producer_properties(const std::string& brokers);

/// A topic of a benchmark's own; deleted at the end. Throws Error(broker_unavailable).
class Topic {
 public:
  static constexpr std::int32_t kPartitions = 3;
  Topic(const std::string& brokers, const std::string& purpose, std::int32_t partitions = kPartitions);
  Topic(const Topic&) = delete;
  Topic& operator=(const Topic&) = delete;
  ~Topic();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// How many records it holds, repeats included.
  [[nodiscard]] std::int64_t records() const;

 private:
  std::int32_t partitions_;
  std::string name_;
  Client client_;
};

}  // namespace txbox::bench
