#include "fetch_waker.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>

#include "property_rules.hpp"

namespace txbox::kafka {
namespace {

/// A broker that does not answer at once was woken all the same.
constexpr int kWaitMs = 1;
constexpr std::size_t kPlacesMax = 32;

std::size_t number_of(const rd_kafka_conf_t* configuration, const char* property) {
  return static_cast<std::size_t>(std::max(std::atoll(value_of(configuration, property).c_str()), 1LL));
}

void ask(rd_kafka_t* client, std::span<const Place* const> places) {
  const TopicPartitionsHandle list(rd_kafka_topic_partition_list_new(static_cast<int>(places.size())));
  for (const Place* place : places) {
    rd_kafka_topic_partition_list_add(list.get(), place->topic.c_str(), place->partition)->offset = RD_KAFKA_OFFSET_END;
  }
  rd_kafka_offsets_for_times(client, list.get(), kWaitMs);
}

}  // namespace

FetchWaker::FetchWaker(const rd_kafka_conf_t* configuration)
    : needed_(value_of(configuration, "fetch.queue.backoff.ms").empty()),
      records_step_(std::max<std::size_t>(number_of(configuration, "queued.min.messages") / 2, 1)),
      bytes_step_(number_of(configuration, "queued.max.messages.kbytes") * 1024 / 2) {}

void FetchWaker::add(const Place& place) {
  if (places_.size() < kPlacesMax && std::find(places_.begin(), places_.end(), &place) == places_.end()) {
    places_.push_back(&place);
  }
}

void FetchWaker::wake(rd_kafka_t* client, rd_kafka_queue_t* queue) {
  if (rd_kafka_queue_length(queue) < 2 * records_step_) ask(client, places_);
  clear();
}

void FetchWaker::wake_for(rd_kafka_t* client, const Place& place) {
  const Place* one = &place;
  ask(client, std::span(&one, 1));
}

void FetchWaker::clear() noexcept {
  records_ = 0;
  bytes_ = 0;
  places_.clear();
}

}  // namespace txbox::kafka
