#include "relay/engine/row_count.hpp"

#include <doctest/doctest.h>

using namespace txbox;
using namespace txbox::relay;
using namespace std::chrono_literals;

TEST_CASE("rows are counted at first, and then a second after a change") {
  RowCount rows;
  SteadyTime now{1h};
  CHECK(rows.is_due(now));
  store::OutboxCounts counts;
  counts.ready = 1;
  rows.counted(now, now + 100us, counts);
  CHECK(rows.counts()->ready == 1);
  rows.changed();
  CHECK_FALSE(rows.is_due(now + 500ms));
  CHECK(rows.is_due(now + 1s));
}

TEST_CASE("without a change they are counted four times an hour") {
  RowCount rows;
  SteadyTime now{1h};
  rows.counted(now, now, {});
  CHECK_FALSE(rows.is_due(now + 14min));
  CHECK(rows.is_due(now + 15min));
}

TEST_CASE("a count that takes long is made a hundredth of the time") {
  RowCount rows;
  SteadyTime now{1h};
  rows.counted(now, now + 200ms, {});
  rows.changed();
  CHECK_FALSE(rows.is_due(now + 20s));
  CHECK(rows.is_due(now + 20'200ms));
}
