#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <txbox/store/connection.hpp>
#include <txbox/store/lane.hpp>
#include <txbox/store/statement.hpp>

namespace txbox::store {

/// Makes held rows ready, a few at a time. REQUIRES for each call: a write transaction is open.
class HeldReleases {
 public:
  explicit HeldReleases(sqlite3* db);
  std::int64_t due(std::int64_t now_ms, std::int64_t limit);
  std::int64_t topic(const std::string& topic, std::int64_t limit);
  std::int64_t lane(Lane lane, std::int64_t limit);

 private:
  struct TopicWalk {
    const std::string& topic;
    std::int64_t after;
    std::int64_t through;
    std::int64_t limit;
  };
  void collect(const TopicWalk& walk);
  std::int64_t make_ready();

  sqlite3* db_;
  Statement due_;
  Statement waiting_of_topic_;
  Statement lane_from_start_;
  Statement make_ready_;
  std::vector<std::int64_t> ids_;
  /// Where the walk over the waiting rows of a topic goes on. Column topic stands in another table than the
  /// index, so that without it each step would pass the waiting rows of all other topics again.
  std::unordered_map<std::string, std::int64_t> topic_walked_through_;
};

}  // namespace txbox::store
