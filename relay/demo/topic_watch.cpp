#include "relay/demo/topic_watch.hpp"

#include <algorithm>

namespace txbox::relay::demo {
namespace {

PublishedEvent to_event(const kafka::TopicRecord& record) {
  const Header* id = record.headers.last("id");
  return {.partition = record.partition,
          .offset = record.offset,
          .event_id = id != nullptr ? std::string(id->value.view()) : "",
          .key = record.key,
          .payload = record.payload,
          .copied = record.headers.last(TopicWatch::kCopyHeader) != nullptr};
}

}  // namespace

TopicWatch::TopicWatch(const std::string& brokers, const std::string& topic, int partitions)
    // The mock cluster answers an empty fetch only after its full wait, so that is kept short: kills hit closer then.
    : reader_({{"bootstrap.servers", brokers}, {"fetch.wait.max.ms", "10"}}, topic, std::chrono::seconds(10)),
      ends_(static_cast<std::size_t>(partitions), 0) {}

void TopicWatch::poll(std::chrono::milliseconds timeout, const Look& look) {
  std::vector<kafka::TopicRecord> records;
  reader_.poll(timeout, records);
  for (const kafka::TopicRecord& record : records) take(record, look);
}

void TopicWatch::read_to_end(std::chrono::milliseconds timeout) {
  std::vector<kafka::TopicRecord> records;
  reader_.read_to_end(timeout, records);
  for (const kafka::TopicRecord& record : records) take(record, [](const Seen&) {});
}

void TopicWatch::take(const kafka::TopicRecord& record, const Look& look) {
  events_.push_back(to_event(record));
  std::int64_t& end = ends_.at(static_cast<std::size_t>(record.partition));
  end = std::max(end, record.offset + 1);
  const bool first = ids_.insert(events_.back().event_id).second;
  look({.record = record, .first = first, .copied = events_.back().copied});
}

}  // namespace txbox::relay::demo
