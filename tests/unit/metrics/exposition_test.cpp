#include "relay/metrics/exposition.hpp"

#include <string>

#include <doctest/doctest.h>

namespace txbox::relay {

namespace {

constexpr std::int64_t kNowMs = 1'600'000'000'000;

MetricContext context() {
  return {.now = WallTime(std::chrono::milliseconds(kNowMs)),
          .version = "1.2.3",
          .librdkafka = "2.0.2",
          .sqlite = "3.40.1",
          .loop_still_seconds = 0.5};
}

FileFigures file(const std::string& db, FileFigures::Role role = FileFigures::Role::active) {
  FileFigures figures;
  figures.db = db;
  figures.role = role;
  return figures;
}

/// The value of one series; empty where it is not there.
std::string value(const std::string& text, const std::string& series) {
  const std::size_t at = ("\n" + text).find("\n" + series + " ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + series.size() + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("a scrape before anything is known has the versions, and ends with a line") {
  const std::string text = exposition({}, context());
  CHECK(value(text, R"(txbox_build_info{version="1.2.3",librdkafka="2.0.2",sqlite="3.40.1"})") == "1");
  CHECK(value(text, "txbox_relay_loop_still_seconds") == "0.5");
  CHECK(text.ends_with("\n"));
}

TEST_CASE("a file's rows are told by state, with the age of the oldest") {
  RelayFigures relay;
  relay.files.push_back(file("shop.db"));
  relay.files[0].counts = store::OutboxCounts{.ready = 3,
                                              .scheduled = 1,
                                              .sent = 12'345'678'901,
                                              .parked = 2,
                                              .blocked = 7,
                                              .oldest_ready_created_at_ms = kNowMs - 1'500,
                                              .blocked_keys = 1};
  const std::string text = exposition(relay, context());
  CHECK(value(text, R"(txbox_outbox_rows{db="shop.db",state="ready"})") == "3");
  CHECK(value(text, R"(txbox_outbox_rows{db="shop.db",state="sent"})") == "12345678901");
  CHECK(value(text, R"(txbox_outbox_rows{db="shop.db",state="skipped"})") == "0");
  CHECK(value(text, R"(txbox_outbox_oldest_ready_seconds{db="shop.db"})") == "1.5");
  CHECK(value(text, R"(txbox_relay_blocked_keys{db="shop.db"})") == "1");
}

TEST_CASE("a file that was not counted yet has no rows, and one that a clock puts into the future is not old") {
  RelayFigures relay;
  relay.files.push_back(file("new.db"));
  relay.files.push_back(file("ahead.db"));
  relay.files[1].counts = store::OutboxCounts{.ready = 1, .oldest_ready_created_at_ms = kNowMs + 5'000};
  const std::string text = exposition(relay, context());
  CHECK(value(text, R"(txbox_outbox_rows{db="new.db",state="ready"})").empty());
  CHECK(value(text, R"(txbox_outbox_oldest_ready_seconds{db="ahead.db"})") == "0");
}

TEST_CASE("who holds a file is told, whatever its path is made of") {
  RelayFigures relay;
  relay.files.push_back(file("a\"b\\c\nd.db"));
  relay.files.push_back(file("\xff.db", FileFigures::Role::standby));
  relay.files.push_back(file("broken.db", FileFigures::Role::ended));
  const std::string text = exposition(relay, context());
  CHECK(value(text, R"(txbox_relay_active{db="a\"b\\c\nd.db"})") == "1");
  CHECK(value(text, R"(txbox_relay_active{db="?.db"})") == "0");
  CHECK(value(text, R"(txbox_relay_standby{db="?.db"})") == "1");
  CHECK(value(text, R"(txbox_relay_active{db="broken.db"})") == "0");
  CHECK(value(text, R"(txbox_relay_files{role="ended"})") == "1");
}

TEST_CASE("a histogram's buckets add up, and its sum is in seconds") {
  RelayFigures relay;
  for (const int ms : {1, 3, 700, 7'200'000}) relay.counted.commit_to_ack.add(std::chrono::milliseconds(ms));
  const std::string text = exposition(relay, context());
  const std::string name = "txbox_relay_commit_to_ack_seconds";
  CHECK(value(text, name + R"(_bucket{le="0.001"})") == "1");
  CHECK(value(text, name + R"(_bucket{le="0.005"})") == "2");
  CHECK(value(text, name + R"(_bucket{le="1"})") == "3");
  CHECK(value(text, name + R"(_bucket{le="3600"})") == "3");
  CHECK(value(text, name + R"(_bucket{le="+Inf"})") == "4");
  CHECK(value(text, name + "_count") == "4");
  CHECK(value(text, name + "_sum") == "7200.704");
}

TEST_CASE("what the core counted of a file, and what is known of its WAL, is told") {
  RelayFigures relay;
  relay.files.push_back(file("shop.db"));
  relay.files[0].counted = {.published = {{"orders", 7}, {kOtherTopics, 2}}, .duplicates_possible = 3};
  relay.files[0].wal_bytes = 4096;
  relay.files[0].wal_pinned_since = context().now - std::chrono::seconds(90);
  relay.counted.oldest_unacknowledged_ms = kNowMs - 2'000;
  relay.counted.paused_topics.push_back({"gone", "Unknown topic"});
  const std::string text = exposition(relay, context());
  CHECK(value(text, R"(txbox_relay_published_total{db="shop.db",topic="orders"})") == "7");
  CHECK(value(text, R"x(txbox_relay_published_total{db="shop.db",topic="(other)"})x") == "2");
  CHECK(value(text, R"(txbox_relay_duplicates_possible_total{db="shop.db"})") == "3");
  CHECK(value(text, R"(txbox_store_wal_bytes{db="shop.db"})") == "4096");
  CHECK(value(text, R"(txbox_store_wal_pinned_seconds{db="shop.db"})") == "90");
  CHECK(value(text, "txbox_relay_oldest_unacknowledged_seconds") == "2");
  CHECK(value(text, "txbox_relay_topics_paused") == "1");
}

TEST_CASE("of very many files only the first have series of their own, and all are counted") {
  RelayFigures relay;
  for (std::size_t index = 0; index < kFilesShown + 5; ++index) relay.files.push_back(file(std::to_string(index)));
  const std::string text = exposition(relay, context());
  CHECK(value(text, R"(txbox_relay_active{db="999"})") == "1");
  CHECK(value(text, R"(txbox_relay_active{db="1000"})").empty());
  CHECK(value(text, R"(txbox_relay_files{role="active"})") == "1005");
}

TEST_CASE("of Kafka's troubles the one that is there is 1") {
  RelayFigures relay;
  relay.trouble = TroubleFigures{.kind = BrokerTrouble::tls_failed, .text = "TLS to Kafka fails"};
  const std::string text = exposition(relay, context());
  CHECK(value(text, R"(txbox_relay_broker_trouble{kind="tls"})") == "1");
  CHECK(value(text, R"(txbox_relay_broker_trouble{kind="credentials"})") == "0");
  CHECK(text.find("TLS to Kafka fails") == std::string::npos);
}

}  // namespace txbox::relay
