#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <txbox/store/connection.hpp>
#include <txbox/store/inbox_store.hpp>

namespace txbox::relay::demo {

/// Where a consumer group stands in a topic, all its partitions together.
struct Standing {
  std::int64_t delivered = 0;  ///< Records below its positions.
  std::int64_t unread = 0;     ///< Records at or above them.
  std::int64_t taken = 0;      ///< How often a member took a partition.
};

/// Asks the consumer's own database for its positions, again and again while it works. One thread.
class Positions {
 public:
  struct Group {
    std::string name;
    std::string cluster_id;
    std::string topic;
  };
  /// REQUIRES the inbox's tables in `db`.
  Positions(const std::string& db, const Group& group);
  /// `ends`: for each partition the offset of its next record. The topic begins at 0 and has no gaps.
  [[nodiscard]] Standing against(const std::vector<std::int64_t>& ends);

 private:
  store::Connection db_;
  store::InboxStore inbox_;
  std::string topic_;
};

}  // namespace txbox::relay::demo
