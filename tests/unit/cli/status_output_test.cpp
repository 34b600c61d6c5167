#include "relay/cli/status_output.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace txbox::relay {

namespace {

FileStatus both_boxes() {
  FileStatus status;
  status.boxes = {.outbox = true, .inbox = true};
  return status;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("status as JSON has every count, and null for the age when nothing is ready") {
  FileStatus status = both_boxes();
  status.counts.sent = 5;
  status.counts.parked = 1;
  CHECK(status_as_json(status, 2'000)
            .starts_with(R"({"ready":0,"scheduled":0,"sent":5,"parked":1,"blocked":0,"waiting":0,"skipped":0,)"
                         R"("oldest_ready_seconds":null,)"));
  status.counts.oldest_ready_created_at_ms = 500;
  CHECK(nlohmann::json::parse(status_as_json(status, 2'000))["oldest_ready_seconds"] == 1.5);
  status.counts.oldest_ready_created_at_ms = 3'000;
  CHECK(oldest_ready_seconds(status.counts, 2'000) == 0);
}

TEST_CASE("status has the consumer groups and the boxes that are there") {
  FileStatus status = both_boxes();
  auto json = nlohmann::json::parse(status_as_json(status, 0));
  CHECK(json["inbox_groups"] == nlohmann::json::array());
  CHECK(json["boxes"] == nlohmann::json{"outbox", "inbox"});
  CHECK(contains(status_as_text(status, 0), "inbox groups  0\n"));
  store::InboxGroup group;
  group.group = "bill\x1b[2J";
  group.claims = 10'000;
  group.claims_exact = false;
  group.parked_messages = 2;
  status.groups = {group, group};
  status.more_groups = true;
  status.counts.parked = 3;
  json = nlohmann::json::parse(status_as_json(status, 0));
  REQUIRE(json["inbox_groups"].size() == 2);
  CHECK(json["inbox_groups"][0]["group"] == group.group);
  CHECK(json["inbox_groups"][0]["claims"] == 10'000);
  CHECK(json["inbox_groups"][0]["claims_exact"] == false);
  CHECK(json["more_inbox_groups"] == true);
  CHECK(parked_in_all(status) == 7);
  const std::string text = status_as_text(status, 0);
  CHECK(contains(text, "inbox groups  2 and more\n"));
  CHECK(contains(text, "bill\\x1b[2J: claims over 10000, "));
}

TEST_CASE("a box that a file does not have is said to be missing") {
  FileStatus status;
  status.boxes.inbox = true;
  CHECK(status_as_text(status, 0) == "outbox        none\ninbox groups  0\nWAL           0 bytes\n");
  CHECK(nlohmann::json::parse(status_as_json(status, 0))["boxes"] == nlohmann::json{"inbox"});
  CHECK(nlohmann::json::parse(status_as_json(status, 0))["ready"] == 0);
  status.boxes = {.outbox = true, .inbox = false};
  CHECK(contains(status_as_text(status, 0), "oldest ready  -\ninbox         none\n"));
  CHECK(nlohmann::json::parse(status_as_json(status, 0))["inbox_groups"] == nlohmann::json::array());
}

TEST_CASE("status names the relay that holds the file, where one does") {
  FileStatus status = both_boxes();
  CHECK(nlohmann::json::parse(status_as_json(status, 0))["relay_pid"].is_null());
  CHECK_FALSE(contains(status_as_text(status, 0), "pid"));
  status.relay_pid = 4711;
  CHECK(nlohmann::json::parse(status_as_json(status, 0))["relay_pid"] == 4711);
  CHECK(contains(status_as_text(status, 0), "relay         pid 4711\n"));
}

TEST_CASE("status names who pins the WAL, whatever that program calls itself") {
  FileStatus status = both_boxes();
  CHECK(nlohmann::json::parse(status_as_json(status, 0))["wal_readers"] == nlohmann::json::array());
  status.wal_bytes = 9'000'000;
  status.wal_readers = {{.pid = 4711, .program = "report\x1b[2J", .is_us = false, .pinned_bytes = 8'000'000}};
  const auto json = nlohmann::json::parse(status_as_json(status, 0));
  CHECK(json["wal_bytes"] == 9'000'000);
  CHECK(json["wal_readers"][0] ==
        nlohmann::json{{"pid", 4711}, {"program", "report\x1b[2J"}, {"pinned_bytes", 8'000'000}});
  CHECK(contains(status_as_text(status, 0),
                 "WAL           9000000 bytes\n"
                 "  report\\x1b[2J (pid 4711) keeps a transaction open and pins 8000000 "
                 "bytes of it\n"));
}

}  // namespace txbox::relay
