#pragma once

#include <memory>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

namespace txbox::kafka {

/// One owner for each of librdkafka's C types: nothing else in this module calls a destroy function.
template <auto destroy>
struct DestroyedBy {
  template <class Handle>
  void operator()(Handle* handle) const noexcept {
    destroy(handle);
  }
};

/// Destroying a client waits for its threads, so every topic and queue of it must be gone before.
inline void destroy_client(rd_kafka_t* client) noexcept {
  rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

using ConfigurationHandle = std::unique_ptr<rd_kafka_conf_t, DestroyedBy<rd_kafka_conf_destroy>>;
using ClientHandle = std::unique_ptr<rd_kafka_t, DestroyedBy<destroy_client>>;
using TopicHandle = std::unique_ptr<rd_kafka_topic_t, DestroyedBy<rd_kafka_topic_destroy>>;
using QueueHandle = std::unique_ptr<rd_kafka_queue_t, DestroyedBy<rd_kafka_queue_destroy>>;
using EventHandle = std::unique_ptr<rd_kafka_event_t, DestroyedBy<rd_kafka_event_destroy>>;
using HeadersHandle = std::unique_ptr<rd_kafka_headers_t, DestroyedBy<rd_kafka_headers_destroy>>;
using MetadataHandle = std::unique_ptr<const rd_kafka_metadata_t, DestroyedBy<rd_kafka_metadata_destroy>>;
using ConfigResourceHandle = std::unique_ptr<rd_kafka_ConfigResource_t, DestroyedBy<rd_kafka_ConfigResource_destroy>>;
using AdminOptionsHandle = std::unique_ptr<rd_kafka_AdminOptions_t, DestroyedBy<rd_kafka_AdminOptions_destroy>>;
using NewTopicHandle = std::unique_ptr<rd_kafka_NewTopic_t, DestroyedBy<rd_kafka_NewTopic_destroy>>;
using MessageHandle = std::unique_ptr<rd_kafka_message_t, DestroyedBy<rd_kafka_message_destroy>>;
using TopicPartitionsHandle =
    std::unique_ptr<rd_kafka_topic_partition_list_t, DestroyedBy<rd_kafka_topic_partition_list_destroy>>;
using MockClusterHandle = std::unique_ptr<rd_kafka_mock_cluster_t, DestroyedBy<rd_kafka_mock_cluster_destroy>>;

}  // namespace txbox::kafka
