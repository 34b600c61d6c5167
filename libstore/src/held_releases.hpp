#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <txbox/store/connection.hpp>
#include <txbox/store/lane.hpp>
#include <txbox/store/outbox_marker.hpp>
#include <txbox/store/statement.hpp>

namespace txbox::store {

/// Makes held rows ready, a few at a time, and blocked again. REQUIRES for each call: a write transaction is open.
class HeldReleases {
 public:
  explicit HeldReleases(sqlite3* db);
  std::int64_t due(std::int64_t now_ms, std::int64_t limit);
  TopicRelease topic(const std::string& topic, std::int64_t after, std::int64_t limit);
  std::int64_t lane(Lane lane, std::int64_t limit);
  /// Row `id` holds its lane back again: what was ready directly behind it, is not.
  void block_behind(Lane lane, std::int64_t id);

 private:
  std::int64_t make_ready();

  sqlite3* db_;
  Statement due_;
  Statement waiting_of_topic_;
  Statement lane_from_start_;
  Statement lane_behind_;
  Statement make_ready_;
  Statement make_blocked_;
  std::vector<std::int64_t> ids_;
};

}  // namespace txbox::store
