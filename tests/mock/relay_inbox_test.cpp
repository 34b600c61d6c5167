#include <algorithm>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include <txbox/store/schema.hpp>

#include "relay_process.hpp"

namespace txbox::test {

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::int64_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

/// A consumer's file without an outbox, written as another program would.
struct ConsumerFile {
  ConsumerFile() : path(folder.file("billing.db")), app(path) { store::install(app, {.outbox = false}); }

  CommandResult run(std::vector<std::string> command, const std::vector<std::string>& more = {}) {
    command.insert(command.end(), {"--db", path});
    command.insert(command.end(), more.begin(), more.end());
    return relay(folder, command);
  }
  void use() {
    app.run("INSERT INTO inbox_cluster(number, cluster_id) VALUES (1, 'prod-1')");
    app.run(
        "INSERT INTO inbox(consumer_group, event_id, cluster, topic, partition, offset, processed_at, parked) VALUES"
        " ('billing', 'order-1', 1, 'orders', 0, 7, 1700000000123, 0),"
        " ('billing', 'order-2', 1, 'orders', 1, 8, 1700000000124, 1),"
        " ('audit', 'order-1', 1, 'orders', 0, 7, 1700000000125, 0)");
    app.run("INSERT INTO inbox(consumer_group, event_id) VALUES ('billing', 'by-hand')");
    app.run(
        "INSERT INTO inbox_offsets(consumer_group, cluster, topic, partition, next_offset, clean, updated_at)"
        " VALUES ('billing', 1, 'orders', 0, 8, 1, 1700000000126), ('billing', 1, 'orders', 1, 9, 0, 1700000000127)");
    app.run(
        "INSERT INTO inbox_attempts(consumer_group, cluster, topic, partition, offset, started, failed, last_error,"
        " updated_at) VALUES ('billing', 1, 'orders', 1, 9, 1, 2, 'no such account', 1700000000128)");
    app.run(
        "INSERT INTO inbox_parked(consumer_group, cluster, topic, partition, offset, event_id, key, payload,"
        " headers, timestamp, attempts, reason, parked_at) VALUES ('billing', 1, 'orders', 1, 8, 'order-2', x'ff',"
        " x'fe00', '[[\"id\",\"order-2\"]]', 1690000000000, 5, 'no such account', 1700000000124)");
  }

  TempDir folder;
  std::string path;
  AppDatabase app;
};

/// What a name could do to a terminal or to JSON, 255 bytes of it.
const std::string kHostileName = "\x1b[2J\r\n\"\\\x7f\xc2\x9b" + std::string(255 - 11, 'x');

bool drives_terminal(const std::string& text) {
  for (const char byte : text) {
    if (byte != '\n' && (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f)) return true;
  }
  return contains(text, "\xc2\x9b");
}

}  // namespace

TEST_CASE("inbox status tells where each group stands, in a file that has no outbox") {
  ConsumerFile file;
  CHECK(file.run({"inbox", "status"}).output == "no consumer group has used this file\n");
  CHECK(file.run({"inbox", "status"}, {"--json"}).output == "{\"groups\":[],\"more_groups\":false}\n");
  file.use();
  const CommandResult text = file.run({"inbox", "status"});
  CHECK(text.code == 0);
  CHECK(contains(text.output, "group         audit\n"));
  CHECK(contains(text.output, "group         billing\nclaims        3\ngiven up      1\n"));
  CHECK(contains(text.output, "partitions    2, 1 in hand\n"));
  CHECK(contains(text.output, "no such account\n"));
  const CommandResult json = file.run({"inbox", "status"}, {"--group", "billing", "--json"});
  CHECK(json.code == 0);
  CHECK(lines_of(json.output) == 1);
  CHECK(contains(json.output, R"({"groups":[{"group":"billing","claims":3,"claims_exact":true,"given_up":1,)"));
  CHECK(contains(json.output, R"({"cluster":"prod-1","topic":"orders","partition":0,"next_offset":8,"clean":true,)"));
  CHECK(contains(json.output, R"("partition":1,"offset":9,"attempts":3,"started":1,"failed":2,)"));
  CHECK_FALSE(contains(json.output, "audit"));
  const CommandResult unknown = file.run({"inbox", "status"}, {"--group", "biling"});
  CHECK(unknown.code == 1);
  CHECK(unknown.output.empty());
  CHECK(contains(unknown.log, "biling"));
  CHECK(file.run({"inbox", "status"}, {"--group", "biling", "--json"}).output.empty());
}

TEST_CASE("inbox ls lists claims and parked messages, and payloads only where asked for") {
  ConsumerFile file;
  file.use();
  const CommandResult claims = file.run({"inbox", "ls"}, {"--group", "billing", "--json"});
  CHECK(claims.code == 0);
  CHECK(lines_of(claims.output) == 3);
  CHECK(contains(claims.output,
                 R"({"group":"billing","event_id":"order-1","outcome":"applied","cluster":"prod-1",)"
                 R"("topic":"orders","partition":0,"offset":7,"processed_at":1700000000123,"epoch":0})"));
  CHECK(contains(claims.output, R"("event_id":"order-2","outcome":"given_up")"));
  CHECK(contains(claims.output, R"("event_id":"by-hand","outcome":"applied","cluster":null,"topic":null)"));
  const auto listed = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--group", "billing"});
    return file.run({"inbox", "ls"}, more).output;
  };
  CHECK(lines_of(listed({"--limit", "2", "--json"})) == 2);
  CHECK(lines_of(listed({"--topic", "orders", "--json"})) == 2);
  CHECK(listed({"--topic", "bills", "--json"}).empty());
  CHECK(contains(listed({"--newest", "--limit", "1"}), "by-hand"));
  CHECK(contains(listed({}), "given up"));

  CHECK(contains(listed({"--parked"}), "\\xff"));
  CHECK_FALSE(contains(listed({"--parked", "--json"}), "payload"));
  const std::string whole = listed({"--parked", "--json", "--payload"});
  CHECK(contains(whole, R"("key":{"base64":"/w=="})"));
  CHECK(contains(whole, R"("payload":{"base64":"/gA="})"));
  CHECK(contains(whole, R"("event_id":"order-2")"));
  for (const auto& wrong : std::vector<std::vector<std::string>>{
           {"--payload", "--json"}, {"--payload", "--parked"}, {"--newest", "--parked"}, {"--limit", "0"}}) {
    std::vector<std::string> command = wrong;
    command.insert(command.end(), {"--group", "billing"});
    CHECK(file.run({"inbox", "ls"}, command).code == 2);
  }
  const CommandResult which = file.run({"inbox", "ls"});
  CHECK(which.code == 2);
  CHECK(contains(which.log, "choose with --group: audit, billing\n"));
  const CommandResult unknown = file.run({"inbox", "ls"}, {"--group", "biling", "--json"});
  CHECK(unknown.code == 0);
  CHECK(unknown.output.empty());
  CHECK(contains(unknown.log, "no consumer group biling"));
}

TEST_CASE("inbox ls takes the only group of a file, and says where there is none or no row") {
  ConsumerFile file;
  const CommandResult none = file.run({"inbox", "ls"});
  CHECK(none.code == 0);
  CHECK(none.output.empty());
  CHECK(contains(none.log, "no rows: no consumer group has used this file"));
  file.use();
  file.app.run("DELETE FROM inbox WHERE consumer_group = 'audit'");
  const CommandResult only = file.run({"inbox", "ls"});
  CHECK(only.code == 0);
  CHECK(contains(only.output, "by-hand"));
  CHECK(only.log.empty());
  const CommandResult empty = file.run({"inbox", "ls"}, {"--topic", "bills", "--json"});
  CHECK(empty.output.empty());
  CHECK(contains(empty.log, "no rows"));
  file.app.run(
      "INSERT INTO inbox(consumer_group, event_id) WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n"
      " WHERE i < 40) SELECT 'group-' || i, 'e' FROM n");
  const std::string many = file.run({"inbox", "ls"}).log;
  CHECK(contains(many, "billing, group-10, "));
  CHECK(contains(many, "group-18, ...\n"));
}

TEST_CASE("status and show work on a file with either box alone, and on one with both") {
  ConsumerFile file;
  file.use();
  const CommandResult alone = file.run({"status"}, {"--json"});
  CHECK(alone.code == 0);
  CHECK(alone.output.starts_with(R"({"ready":0,"scheduled":0,"sent":0,"parked":0,)"));
  CHECK(contains(alone.output, R"("inbox_groups":[{"group":"audit","claims":1,)"));
  CHECK(contains(alone.output, R"("boxes":["inbox"])"));
  CHECK(contains(file.run({"status"}).output, "outbox        none\ninbox groups  2\n"));
  CHECK(file.run({"status"}, {"--max-parked", "0"}).code == 3);
  CHECK(file.run({"status"}, {"--max-parked", "1"}).code == 0);
  CHECK(file.run({"status"}, {"--max-age", "1h"}).code == 78);
  const CommandResult claimed = file.run({"show", "order-1"});
  CHECK(claimed.code == 0);
  CHECK(contains(claimed.output, "inbox:      audit applied it 2023-11-14T22:13:20.125Z from orders 0 at 7"));
  CHECK(contains(claimed.output, "inbox:      billing applied it"));
  CHECK(contains(file.run({"show", "order-2"}).output, "billing gave it up"));
  CHECK_FALSE(contains(file.run({"show", "order-2"}, {"--json"}).output, "payload"));
  CHECK(contains(file.run({"show", "order-2"}, {"--json", "--payload"}).output, R"("payload":{"base64":"/gA="})"));
  CHECK(file.run({"show", "order-3"}).code == 1);
  CHECK(file.run({"ls"}).code == 78);

  store::install(file.app, {});
  file.app.run("INSERT INTO outbox(topic, event_id, payload) VALUES ('orders', 'order-1', '{}')");
  const CommandResult both = file.run({"show", "order-1"}, {"--json"});
  CHECK(contains(both.output, R"({"id":1,"event_id":"order-1","topic":"orders",)"));
  CHECK(contains(both.output, R"("inbox":[{"group":"audit",)"));
  CHECK(contains(file.run({"show", "order-1"}).output, "state:      ready\n"));
  CHECK(contains(file.run({"status"}, {"--json"}).output, R"("boxes":["outbox","inbox"])"));
  CHECK(contains(file.run({"status"}).output, "ready         1\n"));

  AppDatabase outbox(file.folder.file("shop.db"));
  store::install(outbox, {.inbox = false});
  outbox.run("INSERT INTO outbox(topic, event_id) VALUES ('orders', 'order-1')");
  const std::vector<std::string> at{"--db", file.folder.file("shop.db")};
  CHECK(contains(relay(file.folder, {"status", at[0], at[1], "--json"}).output,
                 R"("inbox_groups":[],"more_inbox_groups":false,"boxes":["outbox"])"));
  CHECK(contains(relay(file.folder, {"show", "order-1", at[0], at[1], "--json"}).output, R"("inbox":[])"));
  const CommandResult no_inbox = relay(file.folder, {"inbox", "status", at[0], at[1]});
  CHECK(no_inbox.code == 78);
  CHECK(contains(no_inbox.log, "inbox"));
}

TEST_CASE("names, numbers and errors that an enemy wrote drive no terminal and break no JSON") {
  ConsumerFile file;
  sqlite3_exec(file.app, "CREATE TABLE hostile(name TEXT)", nullptr, nullptr, nullptr);
  sqlite3_stmt* insert = nullptr;
  REQUIRE(sqlite3_prepare_v2(file.app, "INSERT INTO hostile VALUES (?1)", -1, &insert, nullptr) == SQLITE_OK);
  sqlite3_bind_text(insert, 1, kHostileName.data(), static_cast<int>(kHostileName.size()), SQLITE_STATIC);
  REQUIRE(sqlite3_step(insert) == SQLITE_DONE);
  sqlite3_finalize(insert);
  file.app.run("INSERT INTO inbox_cluster SELECT 9223372036854775807, name FROM hostile");
  file.app.run(
      "INSERT INTO inbox(consumer_group, event_id, cluster, topic, partition, offset, parked) SELECT name, name,"
      " 9223372036854775807, name, 9223372036854775807, 9223372036854775807, 1 FROM hostile");
  file.app.run(
      "INSERT INTO inbox_offsets(consumer_group, cluster, topic, partition, next_offset, updated_at) SELECT"
      " name, 9223372036854775807, name, 9223372036854775807, 9223372036854775807, -9223372036854775808"
      " FROM hostile");
  file.app.run(
      "INSERT INTO inbox_offsets(consumer_group, cluster, topic, partition, next_offset, updated_at) VALUES"
      " (x'00ff', 1, x'00ff', 0, 0, 'soon')");
  file.app.run(
      "INSERT INTO inbox_attempts(consumer_group, cluster, topic, partition, offset, started, failed,"
      " last_error, next_try_at, updated_at) SELECT name, -1, name, -1, 9223372036854775807,"
      " 9223372036854775807, 9223372036854775807, name, 9223372036854775807, 1 FROM hostile");
  file.app.run(
      "INSERT INTO inbox_parked(consumer_group, cluster, topic, partition, offset, event_id, key, payload,"
      " headers, timestamp, attempts, reason, parked_at) SELECT name, 1, name, 0, 1, name, name, name, name,"
      " -1, 1, name, 1 FROM hostile");
  for (const auto& command : std::vector<std::vector<std::string>>{
           {"inbox", "status"},
           {"inbox", "status", "--json", "--count"},
           {"inbox", "status", "--group", kHostileName},
           {"inbox", "ls", "--group", kHostileName},
           {"inbox", "ls", "--group", kHostileName, "--json", "--topic", kHostileName},
           {"inbox", "ls", "--group", kHostileName, "--parked"},
           {"inbox", "ls", "--group", kHostileName, "--parked", "--json", "--payload"},
           {"show", kHostileName, "--payload"},
           {"show", kHostileName, "--payload", "--json"},
           {"status"},
           {"status", "--json"}}) {
    CAPTURE(command);
    const CommandResult result = file.run(command);
    CHECK(result.code == 0);
    CHECK_FALSE(drives_terminal(result.output));
    CHECK(contains(result.output, std::string(244, 'x')));
    CHECK(result.log.empty());
  }
  const CommandResult unknown = file.run({"inbox", "status", "--group", kHostileName + "y"});
  CHECK(unknown.code == 1);
  CHECK_FALSE(drives_terminal(unknown.log));
}

TEST_CASE("the inbox's commands end as the others do on files that cannot be read") {
  const TempDir folder;
  const std::string path = folder.file("other.db");
  const auto codes = [&] {
    std::vector<int> answered;
    for (const auto& command :
         std::vector<std::vector<std::string>>{{"inbox", "status"}, {"inbox", "ls", "--group", "g"}, {"show", "e"}}) {
      std::vector<std::string> whole = command;
      whole.insert(whole.end(), {"--db", path});
      const CommandResult result = relay(folder, whole);
      CHECK(result.output.empty());
      answered.push_back(result.code);
    }
    return answered;
  };
  using Codes = std::vector<int>;
  CHECK(codes() == Codes{20, 20, 20});
  std::ofstream(path) << "this is a letter and not a database, however long one looks at it";
  CHECK(codes() == Codes{21, 21, 21});
  std::filesystem::remove(path);
  AppDatabase app(path);
  app.run("CREATE TABLE orders(id INTEGER PRIMARY KEY)");
  CHECK(codes() == Codes{78, 78, 78});
  store::install(app, {.outbox = false});
  app.run("UPDATE txbox_meta SET value = '999' WHERE name = 'schema_version'");
  CHECK(codes() == Codes{23, 23, 23});
  app.run("UPDATE txbox_meta SET value = '1' WHERE name = 'schema_version'");
  app.run("DROP TABLE inbox_epochs");
  CHECK(codes() == Codes{78, 78, 78});

  AppDatabase locked(folder.file("locked.db"));
  store::install(locked, {.outbox = false});
  locked.run("INSERT INTO inbox(consumer_group, event_id) VALUES ('g', 'e')");
  locked.run("PRAGMA locking_mode=EXCLUSIVE");
  locked.run("BEGIN EXCLUSIVE");
  const CommandResult held = relay(folder, {"inbox", "ls", "--group", "g", "--db", folder.file("locked.db")});
  CHECK(held.code == 75);
  CHECK(held.output.empty());

  const CommandResult typo = relay(folder, {"inbox", "lss", "--db", path});
  CHECK(typo.code == 2);
  CHECK(contains(typo.log, "inbox lss; did you mean ls?"));
  CHECK(relay(folder, {"inbox"}).code == 2);
  CHECK(contains(relay(folder, {"inbox", "ls", "--help"}).output, "Examples:"));
  CHECK(contains(relay(folder, {"inbox", "--help"}).output, "--parked"));
  CHECK(contains(relay(folder, {"prune", "--help"}).output, "claims stay"));
}

}  // namespace txbox::test
