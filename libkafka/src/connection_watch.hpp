#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <librdkafka/rdkafka.h>

#include <txbox/kafka/producer.hpp>

namespace txbox::kafka {

/// Follows the connections of one client. librdkafka's error events say less: equal ones that follow each other are
/// held back, and their texts differ between versions.
class ConnectionWatch {
 public:
  /// `wake` becomes readable (an eventfd) when there is something to take. It must outlive the client.
  explicit ConnectionWatch(int wake) : wake_(wake) {}

  /// Before the client is made of the configuration; `this` must outlive the client.
  void watch(rd_kafka_conf_t* configuration);
  /// What ended since the last call, in order. From any thread.
  [[nodiscard]] std::vector<ConnectionEnd> take();
  /// Those that only find the cluster count too. From any thread.
  [[nodiscard]] ConnectionTally tally();

 private:
  struct Connection {
    bool up = false;
    std::chrono::steady_clock::time_point up_since;
  };

  static rd_kafka_resp_err_t on_new(rd_kafka_t* client, const rd_kafka_conf_t* configuration, void* opaque,
                                    char* reason, size_t reason_size);
  static rd_kafka_resp_err_t on_state(rd_kafka_t* client, std::int32_t broker, const char* protocol, const char* name,
                                      int port, const char* state, void* opaque);
  void changed(std::string broker, std::string_view state);
  void finder_changed(const std::string& broker, std::string_view state);
  void failed(const std::string& broker);

  int wake_;
  std::chrono::milliseconds soon_{0};  ///< A connection that lived longer did not die of what was sent first.
  std::mutex mutex_;                   ///< librdkafka's broker threads tell of their own connections.
  std::map<std::string, Connection> connections_;
  std::vector<ConnectionEnd> ends_;
  std::map<std::string, bool> finders_;  ///< Connections that find the cluster: whether they are up.
  ConnectionTally tally_;
};

}  // namespace txbox::kafka
