#include <set>
#include <string>

#include <doctest/doctest.h>

#include <txbox/store/lane.hpp>

using txbox::store::Lane;
using txbox::store::lane_of;

TEST_CASE("a lane's number never changes: files of older versions hold it") {
  CHECK(lane_of("orders", std::nullopt, "A1") == Lane{4878789207075391062});
  CHECK(lane_of("orders", 0, "") == Lane{-4693926908348791920});
}

TEST_CASE("topic, partition and key are kept apart") {
  const std::set<Lane> lanes{
      lane_of("ab", std::nullopt, "c"),
      lane_of("a", std::nullopt, "bc"),
      lane_of("ab", 0, "c"),
      lane_of("ab", 1, "c"),
      lane_of("ab", std::nullopt, ""),
      lane_of("ab", std::nullopt, std::string_view("\0", 1)),
  };
  CHECK(lanes.size() == 6);
}

TEST_CASE("a hundred thousand keys share no lane") {
  std::set<Lane> lanes;
  for (int key = 0; key < 100'000; ++key) lanes.insert(lane_of("orders", std::nullopt, std::to_string(key)));
  CHECK(lanes.size() == 100'000);
}
