#include "connection_watch.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <sys/eventfd.h>

#include "property_rules.hpp"

namespace txbox::kafka {
namespace {

using namespace std::chrono_literals;

constexpr const char* kName = "txbox";
/// A connection that lived longer did not die of the first thing that was sent over it.
constexpr std::chrono::milliseconds kSoon = 5s;
/// Ends that nobody takes are not worth memory.
constexpr std::size_t kEndsMax = 1'000;

}  // namespace

void ConnectionWatch::watch(rd_kafka_conf_t* configuration) {
  // The client itself ends a connection on which a request waited for that long: a slow broker closes nothing.
  const std::chrono::milliseconds patience{std::atoll(value_of(configuration, "socket.timeout.ms").c_str())};
  soon_ = std::min(kSoon, patience / 2);
  rd_kafka_conf_interceptor_add_on_new(configuration, kName, on_new, this);
}

rd_kafka_resp_err_t ConnectionWatch::on_new(rd_kafka_t* client, const rd_kafka_conf_t*, void* opaque, char*, size_t) {
  return rd_kafka_interceptor_add_on_broker_state_change(client, kName, on_state, opaque);
}

rd_kafka_resp_err_t ConnectionWatch::on_state(rd_kafka_t*, std::int32_t broker, const char*, const char* name, int port,
                                              const char* state, void* opaque) {
  auto& watch = *static_cast<ConnectionWatch*>(opaque);
  try {
    const std::string address = std::string(name) + ":" + std::to_string(port);
    // The connections that only find the cluster carry no record: number -1, beside those to the brokers themselves.
    broker < 0 ? watch.finder_changed(address, state) : watch.changed(address, state);
  } catch (...) {
    return RD_KAFKA_RESP_ERR__FAIL;  // Out of memory: librdkafka logs it, and one end less is known.
  }
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void ConnectionWatch::changed(std::string broker, std::string_view state) {
  const std::lock_guard lock(mutex_);
  Connection& connection = connections_[broker];
  const auto now = std::chrono::steady_clock::now();
  if (state == "UP") {
    if (std::exchange(connection.up, true)) return;
    connection.up_since = now;
    ++tally_.made;
    return;
  }
  if (state != "DOWN") return;
  const bool was_up = std::exchange(connection.up, false);
  if (!was_up) failed(broker);
  if (was_up && now - connection.up_since > soon_) return;
  if (ends_.size() < kEndsMax) ends_.push_back({.broker = std::move(broker), .came_up = was_up});
  eventfd_write(wake_, 1);
}

void ConnectionWatch::finder_changed(const std::string& broker, std::string_view state) {
  const std::lock_guard lock(mutex_);
  bool& up = finders_[broker];
  if (state == "UP" && !std::exchange(up, true)) ++tally_.made;
  if (state == "DOWN" && !std::exchange(up, false)) failed(broker);
}

/// REQUIRES: mutex_ held.
void ConnectionWatch::failed(const std::string& broker) {
  ++tally_.failed;
  tally_.last_failed = broker;
}

ConnectionTally ConnectionWatch::tally() {
  const std::lock_guard lock(mutex_);
  return tally_;
}

std::vector<ConnectionEnd> ConnectionWatch::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ends_, {});
}

}  // namespace txbox::kafka
