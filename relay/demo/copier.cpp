#include "relay/demo/copier.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <txbox/base/error.hpp>
#include <txbox/kafka/errors.hpp>

#include "relay/demo/copy_plan.hpp"
#include "relay/demo/topic_watch.hpp"

namespace txbox::relay::demo {
namespace {

constexpr std::int64_t kInFlightMax = 10'000;  ///< Far below what librdkafka's queue takes.

}  // namespace

Copier::Copier(const std::string& brokers, std::string topic, std::uint64_t seed)
    : topic_(std::move(topic)), seed_(seed), producer_({.properties = {{"bootstrap.servers", brokers}}, .log = {}}) {
  producer_.add_topic(topic_);
}

std::string Copier::cluster_id() {
  std::string id = producer_.cluster_id(std::chrono::seconds(10));
  if (id.empty()) throw Error(ErrorCode::broker_unavailable, "the mock cluster does not answer");
  return id;
}

void Copier::plan(const kafka::TopicRecord& record) {
  for (const std::chrono::milliseconds delay : plan_copies(seed_, record.payload)) {
    planned_.push_back({.due = Clock::now() + delay, .record = record});
    std::push_heap(planned_.begin(), planned_.end(), std::greater<>());
  }
}

void Copier::work() {
  const Clock::time_point now = Clock::now();
  while (!planned_.empty() && planned_.front().due <= now && send(planned_.front().record)) {
    std::pop_heap(planned_.begin(), planned_.end(), std::greater<>());
    planned_.pop_back();
  }
  take_reports();
}

bool Copier::send(const kafka::TopicRecord& record) {
  if (in_flight_ >= kInFlightMax) return false;
  std::vector<kafka::HeaderView> headers;
  for (const Header& header : record.headers) headers.push_back({.name = header.name, .value = header.value});
  headers.push_back({.name = TopicWatch::kCopyHeader, .value = std::string_view("yes")});
  const int error = producer_.produce(topic_, record.partition, record.key, record.payload, headers, 0);
  if (error != 0) throw Error(ErrorCode::failure, "sending a copy: " + kafka::describe(error));
  ++in_flight_;
  return true;
}

void Copier::take_reports() {
  std::vector<kafka::DeliveryReport> reports;
  producer_.poll(std::chrono::milliseconds(0), reports);
  for (const kafka::DeliveryReport& report : reports) {
    if (report.error != 0) throw Error(ErrorCode::failure, "sending a copy: " + kafka::describe(report.error));
    --in_flight_;
    ++sent_;
  }
}

}  // namespace txbox::relay::demo
