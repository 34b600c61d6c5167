#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <txbox/kafka/mock_cluster.hpp>
#include <txbox/kafka/topic_reader.hpp>

#include "relay/demo/child_process.hpp"
#include "relay/demo/kill_plan.hpp"
#include "relay/demo/narrator.hpp"
#include "relay/demo/order_desk.hpp"
#include "relay/demo/stop_request.hpp"
#include "relay/demo/temporary_folder.hpp"

namespace txbox::relay::demo {

/// Thrown out of the story by SIGINT or SIGTERM.
struct Interrupted {
  int signal = 0;
};

/// The demo's plot: who starts when, who is killed when, and when it is over. One thread.
class Story {
 public:
  struct Options {
    std::int64_t orders = 0;
    std::uint64_t seed = 0;
  };
  Story(const Options& options, Narrator& narrator, const StopRequest& stop);

  /// Tells it to its end. Throws Interrupted, and Error when it can't go on.
  Outcome tell();

 private:
  void open();
  void start_relay();
  void kill_relay();
  void publish_everything();
  void settle();
  bool kill_is_due();
  void restart_when_due();
  void look_at_topic(std::chrono::milliseconds timeout);
  void report_end(std::string_view what, int result);
  Outcome take_stock();

  Options options_;
  Narrator& narrator_;
  const StopRequest& stop_;
  TemporaryFolder folder_;
  std::string db_ = folder_.file("shop.db");
  kafka::MockCluster broker_;
  OrderDesk desk_;
  std::optional<kafka::TopicReader> reader_;
  std::optional<ChildProcess> relay_;

  std::vector<PlannedKill> plan_;
  std::size_t next_kill_ = 0;
  int kills_after_publishing_ = 0;
  int failures_ = 0;
  std::optional<std::chrono::steady_clock::time_point> restart_at_;
  std::chrono::steady_clock::time_point life_began_;
  bool life_has_published_ = false;
  std::int64_t repeats_in_life_ = 0;
  std::chrono::steady_clock::time_point last_progress_;

  std::vector<PublishedEvent> events_;
  std::unordered_set<std::string> published_;  ///< Event ids.
};

}  // namespace txbox::relay::demo
