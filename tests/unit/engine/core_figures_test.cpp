// What the core counts of its own work.

#include <doctest/doctest.h>

#include "core_fixture.hpp"

#include "relay/engine/published_topics.hpp"

using namespace txbox;
using namespace txbox::test;
using namespace txbox::relay;
using namespace std::chrono_literals;

namespace {

CoreOptions measured() {
  CoreOptions options;
  options.measure = true;
  return options;
}

using Published = std::vector<std::pair<std::string, std::int64_t>>;

}  // namespace

TEST_CASE("a row is published once its receipt is on its way, whatever was acknowledged and taken back before") {
  CoreFixture fixture(measured());
  const auto rows = rows_of_key(1, 3);
  fixture.read(rows);
  fixture.ack({2, 3});  // They overtook row 1, which fails: both are sent again.
  fixture.report(1, ReportKind::unknown, -152);
  fixture.producer_ready();
  fixture.advance(1s);
  CHECK(fixture.core.figures_of(0).published.empty());
  fixture.read_ready({});
  fixture.read(rows);
  fixture.ack({1, 2, 3});
  fixture.advance(1s);
  fixture.marked();
  CHECK(fixture.core.figures_of(0).published == Published{{"orders", 3}});
  CHECK(fixture.core.figures_of(0).duplicates_possible == 3);
  CHECK(fixture.core.figures().commit_to_ack.count() == 3);
}

TEST_CASE("rows are counted by topic") {
  CoreFixture fixture(measured());
  fixture.read({{.id = 1, .topic = "b"}, {.id = 2, .topic = "a"}, {.id = 3, .topic = "b", .key = std::nullopt}});
  fixture.ack({1, 2, 3});
  fixture.advance(1s);
  CHECK(fixture.core.figures_of(0).published == Published{{"b", 2}, {"a", 1}});
}

TEST_CASE("nothing is counted for nobody, and nothing is known of a database that is not there") {
  CoreFixture fixture;
  fixture.read(rows_of_key(1, 3));
  fixture.ack({1, 2, 3});
  fixture.advance(1s);
  CHECK(fixture.core.figures_of(0).published.empty());
  CHECK(fixture.core.figures().commit_to_ack.count() == 0);
  CHECK(fixture.core.figures_of(7).published.empty());
}

TEST_CASE("the oldest row that Kafka has not acknowledged is told by its own time") {
  CoreFixture fixture(measured());
  CHECK_FALSE(fixture.core.figures().oldest_unacknowledged_ms);
  fixture.advance(5s);
  fixture.read({{.id = 1, .key = "A1"}, {.id = 2, .key = "B2", .deliver_at_ms = 1'700'000'003'000}});
  CHECK(fixture.core.figures().oldest_unacknowledged_ms == 1'700'000'000'000);
  fixture.ack({1});
  CHECK(fixture.core.figures().oldest_unacknowledged_ms == 1'700'000'003'000);
  fixture.ack({2});
  CHECK_FALSE(fixture.core.figures().oldest_unacknowledged_ms);
}

TEST_CASE("a topic that is missing is paused, with Kafka's words, until it is there") {
  CoreFixture fixture(measured());
  fixture.facts["orders"] = missing_topic();
  fixture.read(rows_of_key(1, 1));
  auto paused = fixture.core.figures().paused_topics;
  REQUIRE(paused.size() == 1);
  CHECK(paused[0].topic == "orders");
  CHECK(paused[0].reason == missing_topic().reason);
  fixture.describe("orders", usable_topic());
  CHECK(fixture.core.figures().paused_topics.empty());
}

TEST_CASE("a histogram counts what is at a bound in its bucket, and nothing below zero") {
  DurationHistogram histogram;
  histogram.add(-5ms);
  histogram.add(1ms);
  histogram.add(DurationHistogram::kBounds.back() + 1us);
  CHECK(histogram.in_bucket(0) == 1);
  CHECK(histogram.in_bucket(1) == 1);
  CHECK(histogram.in_bucket(DurationHistogram::kBounds.size()) == 1);
  CHECK(histogram.count() == 3);
  CHECK(histogram.sum() == DurationHistogram::kBounds.back() + 1ms + 1us);
}

TEST_CASE("the first topics keep their counts, whatever comes after them") {
  PublishedTopics topics;
  for (std::uint32_t topic = 0; topic < 2 * PublishedTopics::kMost; ++topic) topics.add(topic);
  for (int again = 0; again < 3; ++again) topics.add(0);
  topics.add(2 * PublishedTopics::kMost);
  REQUIRE(topics.counts().size() == PublishedTopics::kMost);
  CHECK(topics.counts()[0] == std::pair<std::uint32_t, std::int64_t>{0, 4});
  CHECK(topics.others() == static_cast<std::int64_t>(PublishedTopics::kMost) + 1);
}
