#include <txbox/inbox/consumer.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sqlite3.h>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

using namespace std::chrono_literals;
using txbox::ErrorCode;
using txbox::inbox::Consumer;
using txbox::inbox::ConsumerOptions;
using txbox::inbox::done;
using txbox::inbox::Message;
using txbox::test::AppDatabase;
using txbox::test::code_of;
using txbox::test::error_of;
using txbox::test::TempDir;

namespace {

ConsumerOptions good(const TempDir& dir) {
  return {.database = dir.file("billing.db"), .group = "billing", .kafka = {{"bootstrap.servers", "127.0.0.1:1"}}};
}

}  // namespace

TEST_CASE("a consumer makes its file, in WAL mode, with the inbox and nothing else of ours") {
  const TempDir dir;
  const Consumer consumer(good(dir));
  AppDatabase app(dir.file("billing.db"), false);
  CHECK(app.text("PRAGMA journal_mode") == "wal");
  CHECK(app.number("SELECT count(*) FROM inbox") == 0);
  CHECK(app.number("SELECT count(*) FROM sqlite_schema WHERE name = 'outbox'") == 0);
  CHECK(consumer.counts().applied == 0);
}

TEST_CASE("options that cannot work are refused by their names, before any file is made") {
  const TempDir dir;
  struct Case {
    const char* name;
    std::function<void(ConsumerOptions&)> spoil;
  };
  const std::vector<Case> cases{
      {"database", [](auto& options) { options.database = ""; }},
      {"group", [](auto& options) { options.group = ""; }},
      {"group", [](auto& options) { options.group = std::string(256, 'g'); }},
      {"group", [](auto& options) { options.group = std::string("a\0b", 3); }},
      {"bootstrap.servers", [](auto& options) { options.kafka.clear(); }},
      {"enable.auto.commit",
       [](auto& options) {
         options.kafka.push_back({"enable.auto.commit", "true"});
       }},
      {"bootstrap.servres",
       [](auto& options) {
         options.kafka.push_back({"bootstrap.servres", "x"});
       }},
      {"attempts", [](auto& options) { options.attempts = 0; }},
      {"retry_delay", [](auto& options) { options.retry_delay = -1ms; }},
      {"retry_delay_max", [](auto& options) { options.retry_delay_max = 1ms; }},
      {"id_headers", [](auto& options) { options.id_headers.clear(); }},
      {"batch_messages", [](auto& options) { options.batch_messages = 0; }},
      {"batch_lock_hold", [](auto& options) { options.batch_lock_hold = 0ms; }},
      {"kafka_commit_interval", [](auto& options) { options.kafka_commit_interval = -1ms; }},
  };
  for (const Case& wrong : cases) {
    CAPTURE(wrong.name);
    ConsumerOptions options = good(dir);
    wrong.spoil(options);
    const auto error = error_of([&] { const Consumer consumer(options); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::configuration);
    CHECK(std::string(error->what()).find(wrong.name) != std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(dir.file("billing.db")));
}

TEST_CASE("topics are given once, with a handler, before the run") {
  const TempDir dir;
  Consumer consumer(good(dir));
  const auto handler = [](sqlite3*, const Message&) { return done; };
  for (const std::string& bad : {std::string(), std::string("."), std::string(".."), std::string("^orders.*"),
                                 std::string("a b"), std::string(250, 't')}) {
    CHECK(code_of([&] { consumer.on(bad, handler); }) == ErrorCode::invalid_argument);
  }
  CHECK(code_of([&] { consumer.on("orders", {}); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { consumer.run({}); }) == ErrorCode::invalid_argument);
  consumer.on("orders", handler);
  CHECK(code_of([&] { consumer.on("orders", handler); }) == ErrorCode::invalid_argument);
}

TEST_CASE("a run that was asked to stop before it began talks to nobody") {
  const TempDir dir;
  Consumer consumer(good(dir));
  consumer.on("orders", [](sqlite3*, const Message&) { return done; });
  std::stop_source stop;
  stop.request_stop();
  consumer.run(stop.get_token());
  consumer.drain(stop.get_token());
  sqlite3_exec(consumer.database(), "PRAGMA synchronous=OFF", nullptr, nullptr, nullptr);
  CHECK(code_of([&] { consumer.run(stop.get_token()); }) == ErrorCode::configuration);
}

TEST_CASE("a file that WAL or this consumer cannot serve is refused as the relay refuses it, and left as it is") {
  const TempDir dir;
  { const Consumer consumer(good(dir)); }
  std::filesystem::create_hard_link(dir.file("billing.db"), dir.file("other.db"));
  CHECK(code_of([&] { Consumer consumer(good(dir)); }) == ErrorCode::unsupported_file);
  CHECK_FALSE(std::filesystem::exists(dir.file("billing.db-wal")));
  std::filesystem::remove(dir.file("other.db"));

  auto options = good(dir);
  options.database = ":memory:";
  CHECK(code_of([&] { Consumer consumer(options); }) == ErrorCode::unsupported_file);
  CHECK_FALSE(std::filesystem::exists(":memory:"));
  options.database = dir.file("missing/billing.db");
  CHECK(code_of([&] { Consumer consumer(options); }) == ErrorCode::moved);
  options.database = dir.file(".");
  CHECK(code_of([&] { Consumer consumer(options); }) == ErrorCode::unsupported_file);
}
