#include "topic_creation.hpp"

#include <algorithm>
#include <array>

namespace txbox::kafka {

namespace {

std::vector<TopicCreation> all_failed(const std::vector<std::string>& topics, rd_kafka_resp_err_t error,
                                      const char* text) {
  std::vector<TopicCreation> failed;
  failed.reserve(topics.size());
  for (const std::string& topic : topics) failed.push_back({topic, error, text != nullptr ? text : ""});
  return failed;
}

}  // namespace

std::vector<TopicCreation> create_topics(rd_kafka_t* client, const std::vector<std::string>& topics, TopicShape shape,
                                         std::chrono::milliseconds timeout) {
  std::array<char, 256> reason{};
  const auto timeout_ms = static_cast<int>(timeout.count());
  const AdminOptionsHandle options(rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_CREATETOPICS));
  const rd_kafka_resp_err_t taken =
      rd_kafka_AdminOptions_set_request_timeout(options.get(), timeout_ms, reason.data(), reason.size());
  if (taken != RD_KAFKA_RESP_ERR_NO_ERROR) return all_failed(topics, taken, reason.data());
  std::vector<NewTopicHandle> made;
  std::vector<rd_kafka_NewTopic_t*> pointers;
  for (const std::string& topic : topics) {
    made.emplace_back(
        rd_kafka_NewTopic_new(topic.c_str(), shape.partitions, shape.replicas, reason.data(), reason.size()));
    if (!made.back()) return all_failed(topics, RD_KAFKA_RESP_ERR__INVALID_ARG, reason.data());
    pointers.push_back(made.back().get());
  }
  const QueueHandle queue(rd_kafka_queue_new(client));
  rd_kafka_CreateTopics(client, pointers.data(), pointers.size(), options.get(), queue.get());
  // The client's own limit comes first; this one is for a client that does not even say so.
  const EventHandle event(rd_kafka_queue_poll(queue.get(), 2 * timeout_ms));
  if (!event) return all_failed(topics, RD_KAFKA_RESP_ERR__TIMED_OUT, nullptr);
  const rd_kafka_CreateTopics_result_t* result = rd_kafka_event_CreateTopics_result(event.get());
  if (result == nullptr || rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR)
    return all_failed(topics, rd_kafka_event_error(event.get()), rd_kafka_event_error_string(event.get()));
  std::size_t count = 0;
  const rd_kafka_topic_result_t** answers = rd_kafka_CreateTopics_result_topics(result, &count);
  std::vector<TopicCreation> creations;
  for (std::size_t index = 0; index < count; ++index) {
    const char* text = rd_kafka_topic_result_error_string(answers[index]);
    creations.push_back({rd_kafka_topic_result_name(answers[index]), rd_kafka_topic_result_error(answers[index]),
                         text != nullptr ? text : ""});
  }
  return creations;
}

}  // namespace txbox::kafka
