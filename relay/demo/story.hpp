#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <txbox/kafka/mock_cluster.hpp>

#include "relay/demo/billing_role.hpp"
#include "relay/demo/copier.hpp"
#include "relay/demo/narrator.hpp"
#include "relay/demo/order_desk.hpp"
#include "relay/demo/outcome.hpp"
#include "relay/demo/positions.hpp"
#include "relay/demo/relay_role.hpp"
#include "relay/demo/stop_request.hpp"
#include "relay/demo/temporary_folder.hpp"
#include "relay/demo/topic_watch.hpp"

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
  void publish_everything();
  void settle_relay();
  void apply_everything();
  /// One look at everybody.
  void glance();
  [[nodiscard]] bool stalled() const;
  Outcome take_stock();

  Options options_;
  Narrator& narrator_;
  const StopRequest& stop_;
  TemporaryFolder folder_;
  std::string shop_db_ = folder_.file("shop.db");
  std::string billing_db_ = folder_.file("billing.db");
  kafka::MockCluster broker_;
  OrderDesk desk_;
  std::optional<TopicWatch> topic_;
  std::optional<Copier> copier_;
  std::optional<RelayRole> relay_;
  std::optional<BillingRole> billing_;
  std::optional<Positions> positions_;

  bool relay_plays_ = false;
  bool billing_plays_ = false;
  Progress progress_;
  Standing standing_;
  std::chrono::steady_clock::time_point last_step_;
};

}  // namespace txbox::relay::demo
