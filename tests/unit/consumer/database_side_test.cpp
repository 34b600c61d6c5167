#include "libinbox/src/consumer/database_side.hpp"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <txbox/store/headers_json.hpp>
#include <txbox/store/schema.hpp>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

using namespace txbox;
using namespace txbox::inbox;
using namespace txbox::inbox::consumer;
using txbox::test::AppDatabase;
using txbox::test::code_of;
using txbox::test::error_of;
using txbox::test::TempDir;
using Applied = event::Applied;
using Closed = event::Closed;
using Kept = event::DeadLettered::Kept;

namespace {

store::Connection open(const std::string& path) {
  store::Connection connection = store::Connection::open(path, {.purpose = store::OpenPurpose::consumer});
  store::install(connection.handle(), {.outbox = false});
  return connection;
}

ConsumerOptions options_of(const std::string& path, DeadLetters dead_letters) {
  ConsumerOptions options;
  options.database = path;
  options.group = "billing";
  options.dead_letters = dead_letters;
  return options;
}

Message message_at(std::int64_t offset, const std::string& event_id = "one") {
  Message message;
  message.topic = "orders";
  message.partition = 0;
  message.offset = offset;
  message.timestamp_ms = 1'700'000'000'000;
  message.key = "k";
  message.payload = "payload";
  message.event_id = event_id;
  if (!event_id.empty()) message.headers.add("id", event_id);
  return message;
}

const Place kPlace{"orders", 0};

void write(sqlite3* db, const char* sql) {
  char* text = nullptr;
  if (sqlite3_exec(db, sql, nullptr, nullptr, &text) == SQLITE_OK) return;
  const std::string error = text == nullptr ? "?" : text;
  sqlite3_free(text);
  throw std::runtime_error(error);
}

Outcome credit(sqlite3* db, const Message&) {
  write(db, "INSERT INTO effects VALUES (1)");
  return done;
}

/// A consumer's database with one partition that is taken at offset 0.
struct Side {
  explicit Side(DeadLetters dead_letters = DeadLetters::automatic, bool with_outbox = false)
      : path(dir.file("billing.db")),
        options(options_of(path, dead_letters)),
        connection(open(path)),
        database(connection, options),
        app(path) {
    app.run("CREATE TABLE effects(x)");
    if (with_outbox) store::install(app, {});
    REQUIRE(database.use_cluster("cluster"));
    command::Take take;
    take.places.emplace_back().place = kPlace;
    take.places.back().set_next = 0;
    REQUIRE(std::holds_alternative<event::Taken>(database.take(take)));
  }

  Applied::Kind apply(const Message& message, const Handler& handler = credit) {
    const Event event = database.apply(message, handler);
    REQUIRE(std::holds_alternative<Applied>(event));
    return std::get<Applied>(event).kind;
  }
  void begin() { REQUIRE(std::holds_alternative<event::Begun>(database.begin())); }
  Closed::Result close(std::int64_t expected, std::int64_t next) {
    command::Close command;
    command.advance.push_back({kPlace, expected, next});
    const Event event = database.close(command);
    REQUIRE(std::holds_alternative<Closed>(event));
    return std::get<Closed>(event).result;
  }
  Kept dead_letter(const Message& message, const std::string& reason = "no such account") {
    const Event event = database.dead_letter({kPlace, message.offset, reason, 5}, message);
    REQUIRE(std::holds_alternative<event::DeadLettered>(event));
    return std::get<event::DeadLettered>(event).kept;
  }
  std::int64_t effects() { return app.number("SELECT count(*) FROM effects"); }
  std::int64_t position() { return app.number("SELECT next_offset FROM inbox_offsets"); }

  TempDir dir;
  std::string path;
  ConsumerOptions options;
  store::Connection connection;
  DatabaseSide database;
  AppDatabase app;
};

}  // namespace

TEST_CASE("an effect, its claim and the position commit together") {
  Side side;
  side.begin();
  CHECK(side.apply(message_at(0)) == Applied::Kind::applied);
  CHECK(side.apply(message_at(1)) == Applied::Kind::duplicate);
  CHECK(side.effects() == 0);
  CHECK(side.close(0, 2) == Closed::Result::committed);
  CHECK(side.effects() == 1);
  CHECK(side.position() == 2);
  side.begin();
  CHECK(side.apply(message_at(2)) == Applied::Kind::duplicate);
  CHECK(side.close(2, 3) == Closed::Result::committed);
  CHECK(side.effects() == 1);
}

TEST_CASE("a position that somebody else moved undoes the batch") {
  Side side;
  side.begin();
  CHECK(side.apply(message_at(0)) == Applied::Kind::applied);
  CHECK(side.close(7, 8) == Closed::Result::conflict);
  CHECK(side.effects() == 0);
  side.begin();
  CHECK(side.apply(message_at(0)) == Applied::Kind::applied);
  CHECK(side.close(0, 1) == Closed::Result::committed);
}

TEST_CASE("a handler that moves the position itself ends the run with the reason, not in conflicts for ever") {
  Side side;
  const auto meddle = [](const char* sql) {
    return [sql](sqlite3* db, const Message&) -> Outcome {
      write(db, sql);
      return done;
    };
  };
  for (const char* sql : {"UPDATE inbox_offsets SET next_offset = next_offset + 1", "DELETE FROM inbox_offsets"}) {
    CAPTURE(sql);
    side.begin();
    CHECK(side.apply(message_at(0), meddle(sql)) == Applied::Kind::applied);
    const auto error = error_of([&] { static_cast<void>(side.close(0, 1)); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::refused);
    CHECK(std::string(error->what()).find("orders[0] in inbox_offsets") != std::string::npos);
    CHECK(side.position() == 0);
  }
  side.begin();
  CHECK(side.apply(message_at(0)) == Applied::Kind::applied);
  CHECK(side.close(0, 1) == Closed::Result::committed);
}

TEST_CASE("a message that does not succeed is undone without its batch") {
  Side side;
  side.begin();
  CHECK(side.apply(message_at(0, "one")) == Applied::Kind::applied);
  const auto throws = [](sqlite3* db, const Message& message) -> Outcome {
    credit(db, message);
    write(db, "SAVEPOINT left_open");
    throw std::runtime_error("no such account");
  };
  const Event failed = side.database.apply(message_at(1, "two"), throws);
  CHECK(std::get<Applied>(failed).kind == Applied::Kind::failed);
  CHECK(std::get<Applied>(failed).reason == "no such account");
  const Event later = side.database.apply(message_at(1, "two"), [](sqlite3* db, const Message& message) {
    credit(db, message);
    return retry_after(std::chrono::seconds(5));
  });
  CHECK(std::get<Applied>(later).kind == Applied::Kind::retry_after);
  CHECK(std::get<Applied>(later).delay == std::chrono::seconds(5));
  const Event parked = side.database.apply(message_at(1, "two"), [](sqlite3* db, const Message& message) {
    credit(db, message);
    return park("never");
  });
  CHECK(std::get<Applied>(parked).kind == Applied::Kind::park);
  CHECK(std::get<Applied>(parked).reason == "never");
  CHECK(side.apply(message_at(2, "three")) == Applied::Kind::applied);
  CHECK(side.close(0, 3) == Closed::Result::committed);
  CHECK(side.effects() == 2);
  CHECK(side.app.text("SELECT group_concat(event_id) FROM (SELECT event_id FROM inbox ORDER BY 1)") == "one,three");
}

TEST_CASE("a handler that ends the transaction is stopped before it does it again") {
  for (const char* end : {"COMMIT", "ROLLBACK", "COMMIT; BEGIN IMMEDIATE", "ROLLBACK; BEGIN"}) {
    CAPTURE(end);
    Side side;
    side.begin();
    const auto handler = [end](sqlite3* db, const Message& message) {
      credit(db, message);
      write(db, end);
      return done;
    };
    const auto error = txbox::test::error_of([&] { (void)side.database.apply(message_at(0), handler); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::no_transaction);
    CHECK(std::string(error->what()).find("'orders'") != std::string::npos);
    CHECK(sqlite3_get_autocommit(side.connection.handle()) != 0);
  }
}

TEST_CASE("a handler that commits and throws is told apart from one that SQLite rolled back") {
  Side side;
  side.begin();
  const auto commits = [](sqlite3* db, const Message& message) -> Outcome {
    credit(db, message);
    write(db, "COMMIT");
    throw std::runtime_error("after all");
  };
  CHECK(code_of([&] { (void)side.database.apply(message_at(0), commits); }) == ErrorCode::no_transaction);
}

TEST_CASE("a conflict clause that rolls everything back is a failed attempt of its message") {
  Side side;
  side.app.run("CREATE TABLE once(x PRIMARY KEY); INSERT INTO once VALUES (1)");
  side.begin();
  CHECK(side.apply(message_at(0, "one")) == Applied::Kind::applied);
  const Event event = side.database.apply(message_at(1, "two"), [](sqlite3* db, const Message&) {
    write(db, "INSERT OR ROLLBACK INTO once VALUES (1)");
    return done;
  });
  CHECK(std::get<Applied>(event).kind == Applied::Kind::rolled_back);
  CHECK(side.effects() == 0);
  side.begin();
  CHECK(side.apply(message_at(0, "one")) == Applied::Kind::applied);
  CHECK(side.close(0, 1) == Closed::Result::committed);
}

TEST_CASE("a full disk is the database's trouble and no outcome of the message") {
  Side side;
  side.begin();
  const auto fill = [](sqlite3* db, const Message&) {
    write(db, "PRAGMA max_page_count=1");
    write(db, "INSERT INTO effects VALUES (zeroblob(1000000))");
    return done;
  };
  const Event event = side.database.apply(message_at(0), fill);
  REQUIRE(std::holds_alternative<Closed>(event));
  CHECK(std::get<Closed>(event).result == Closed::Result::failed);
  // Whatever of the batch was still to come hears the same.
  const Event next = side.database.apply(message_at(1, "two"), credit);
  CHECK(std::holds_alternative<Closed>(next));
  side.connection.set_busy_deadline(std::chrono::milliseconds(100));
  write(side.connection.handle(), "PRAGMA max_page_count=1000000");
  side.begin();
  CHECK(side.apply(message_at(0)) == Applied::Kind::applied);
  CHECK(side.close(0, 1) == Closed::Result::committed);
  CHECK(side.effects() == 1);
}

TEST_CASE("partitions are taken again after a commit of which nobody knows what became of it") {
  Side side;
  // What a full disk looks like at the COMMIT: it fails, though nothing that came before it did.
  sqlite3_commit_hook(
      side.connection.handle(), [](void*) { return 1; }, nullptr);
  CHECK_FALSE(side.database.use_cluster("another"));
  command::Take take;
  take.round = 7;
  take.places.emplace_back().place = kPlace;
  const Event failed = side.database.take(take);
  REQUIRE(std::holds_alternative<event::LoadFailed>(failed));
  CHECK(std::get<event::LoadFailed>(failed).round == 7);

  sqlite3_commit_hook(side.connection.handle(), nullptr, nullptr);
  CHECK(std::holds_alternative<event::Taken>(side.database.take(take)));
  CHECK(side.database.use_cluster("another"));
}

TEST_CASE("a handler that stands in its own way has failed, as often as it does") {
  Side side;
  side.app.run("CREATE TABLE scratch(x); INSERT INTO scratch VALUES (1)");
  side.begin();
  const Event event = side.database.apply(message_at(0), [](sqlite3* db, const Message&) {
    sqlite3_stmt* reading = nullptr;
    REQUIRE(sqlite3_prepare_v2(db, "SELECT x FROM scratch", -1, &reading, nullptr) == SQLITE_OK);
    REQUIRE(sqlite3_step(reading) == SQLITE_ROW);
    const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> open_statement(reading, &sqlite3_finalize);
    REQUIRE(sqlite3_exec(db, "DROP TABLE scratch", nullptr, nullptr, nullptr) == SQLITE_LOCKED);
    throw std::runtime_error("table is locked");
    return done;
  });
  REQUIRE(std::holds_alternative<Applied>(event));
  CHECK(std::get<Applied>(event).kind == Applied::Kind::failed);
  CHECK(side.close(0, 0) == Closed::Result::committed);
}

TEST_CASE("a broken deferred foreign key is a failed attempt of its message, and no batch is lost by it") {
  Side side;
  side.app.run(
      "CREATE TABLE accounts(name PRIMARY KEY);"
      "CREATE TABLE entries(account REFERENCES accounts(name) DEFERRABLE INITIALLY DEFERRED)");
  write(side.connection.handle(), "PRAGMA foreign_keys=ON");
  side.begin();
  CHECK(side.apply(message_at(0, "one")) == Applied::Kind::applied);
  const auto orphan = [](sqlite3* db, const Message&) {
    write(db, "INSERT INTO entries VALUES ('nobody')");
    return done;
  };
  const Event event = side.database.apply(message_at(1, "two"), orphan);
  REQUIRE(std::holds_alternative<Applied>(event));
  CHECK(std::get<Applied>(event).kind == Applied::Kind::failed);
  CHECK(std::get<Applied>(event).reason.find("foreign key") != std::string::npos);
  const auto whole = [](sqlite3* db, const Message&) {
    write(db, "INSERT INTO entries VALUES ('a'); INSERT INTO accounts VALUES ('a')");
    return done;
  };
  CHECK(side.apply(message_at(2, "three"), whole) == Applied::Kind::applied);
  CHECK(side.close(0, 3) == Closed::Result::committed);
  CHECK(side.effects() == 1);
  CHECK(side.app.number("SELECT count(*) FROM entries") == 1);
}

TEST_CASE("a savepoint that a handler's own open statement keeps from ending is a failed attempt of its message") {
  Side side;
  side.app.run("CREATE TABLE scratch(x)");
  const auto leaves_open = [](sqlite3* db, const Message&) {
    sqlite3_stmt* writing = nullptr;
    write(db, "SAVEPOINT mine");
    sqlite3_prepare_v2(db, "INSERT INTO scratch VALUES (1), (2) RETURNING x", -1, &writing, nullptr);
    sqlite3_step(writing);
    write(db, "RELEASE mine");
    sqlite3_finalize(writing);
    return done;
  };
  side.begin();
  const Event event = side.database.apply(message_at(0), leaves_open);
  REQUIRE(std::holds_alternative<Applied>(event));
  CHECK(std::get<Applied>(event).kind == Applied::Kind::failed);
  CHECK(side.apply(message_at(1, "two")) == Applied::Kind::applied);
  CHECK(side.close(0, 2) == Closed::Result::committed);
  CHECK(side.app.number("SELECT count(*) FROM scratch") == 0);
  // The same code with another file's lock in the way says nothing of the message.
  write(side.connection.handle(), ("ATTACH '" + side.dir.file("other.db") + "' AS other").c_str());
  side.begin();
  CHECK(std::holds_alternative<Closed>(side.database.apply(message_at(2, "three"), leaves_open)));
}

TEST_CASE("a lock that is not free costs no batch") {
  Side side;
  side.connection.set_busy_deadline(std::chrono::milliseconds(10));
  side.app.run("BEGIN IMMEDIATE");
  CHECK(std::holds_alternative<event::BeginFailed>(side.database.begin()));
  side.app.run("COMMIT");
  side.begin();
  CHECK(side.close(0, 0) == Closed::Result::committed);
}

TEST_CASE("without an outbox a dead letter is parked whole") {
  Side side;
  Message message = message_at(0);
  message.key = Bytes();
  message.payload = std::string("a\0b", 3);
  side.begin();
  CHECK(side.dead_letter(message) == Kept::parked);
  CHECK(side.close(0, 1) == Closed::Result::committed);
  CHECK(side.app.text("SELECT reason FROM inbox_parked WHERE event_id = 'one' AND key IS NULL AND offset = 0") ==
        "no such account");
  CHECK(side.app.text("SELECT payload FROM inbox_parked") == std::string("a\0b", 3));
  CHECK(side.app.number("SELECT attempts FROM inbox_parked") == 5);
  CHECK(side.app.number("SELECT parked FROM inbox WHERE event_id = 'one'") == 1);
}

TEST_CASE("with an outbox a dead letter goes through it, its headers as they came") {
  Side side(DeadLetters::automatic, true);
  Message message = message_at(7);
  message.headers.add("txbox-created-at", "1");
  side.begin();
  CHECK(side.dead_letter(message) == Kept::outbox);
  CHECK(side.close(0, 8) == Closed::Result::committed);
  CHECK(side.app.number("SELECT count(*) FROM inbox_parked") == 0);
  CHECK(side.app.text("SELECT topic FROM outbox WHERE CAST(key AS TEXT) = 'k' AND as_is = 1") == "orders.dlq");
  const Headers headers = store::headers_from_json(*side.app.text("SELECT headers FROM outbox"));
  CHECK(headers.begin()->name == "id");
  CHECK(headers.begin()->value == Bytes("one"));
  CHECK(headers.last("txbox-created-at")->value == Bytes("1"));
  CHECK(headers.last("__dlq.errors.offset")->value == Bytes("7"));
  CHECK(headers.last("__dlq.errors.message")->value == Bytes("no such account"));
  CHECK(headers.last("__dlq.errors.attempts")->value == Bytes("5"));
}

TEST_CASE("what the outbox refuses of a dead letter is parked in the same transaction") {
  Side side(DeadLetters::automatic, true);
  std::vector<Message> refused(3, message_at(0));
  refused[0].payload = std::string(1'100'000, 'x');
  refused[1].topic = std::string(249, 't');
  refused[2].headers.add("name \xff", "v");
  for (std::size_t at = 0; at < refused.size(); ++at) {
    refused[at].offset = static_cast<std::int64_t>(at);
    refused[at].event_id = "event " + std::to_string(at);
    side.begin();
    CHECK(side.dead_letter(refused[at]) == Kept::parked);
    const auto next = static_cast<std::int64_t>(at);
    CHECK(side.close(next, next + 1) == Closed::Result::committed);
  }
  CHECK(side.app.number("SELECT count(*) FROM inbox_parked") == 3);
  CHECK(side.app.number("SELECT count(*) FROM inbox WHERE parked = 1") == 3);
  CHECK(side.app.number("SELECT count(*) FROM outbox") == 0);
  CHECK(side.app.number("SELECT max(length(payload)) FROM inbox_parked") == 1'100'000);
}

TEST_CASE("dead letters are parked where that is wished") {
  Side side(DeadLetters::park, true);
  side.begin();
  CHECK(side.dead_letter(message_at(0)) == Kept::parked);
  CHECK(side.close(0, 1) == Closed::Result::committed);
  CHECK(side.app.number("SELECT count(*) FROM inbox_parked") == 1);
}

TEST_CASE("a further copy of a dead letter makes none, and may still be applied") {
  Side side(DeadLetters::automatic, true);
  side.begin();
  CHECK(side.dead_letter(message_at(0)) == Kept::outbox);
  CHECK(side.dead_letter(message_at(1)) == Kept::given_up_before);
  CHECK(side.close(0, 2) == Closed::Result::committed);
  CHECK(side.app.number("SELECT count(*) FROM outbox") == 1);
  CHECK(side.app.number("SELECT count(*) FROM inbox_parked") == 0);
  side.begin();
  CHECK(side.apply(message_at(2)) == Applied::Kind::applied);
  CHECK(side.apply(message_at(3)) == Applied::Kind::duplicate);
  CHECK(side.dead_letter(message_at(4)) == Kept::applied_before);
  CHECK(side.close(2, 5) == Closed::Result::committed);
  CHECK(side.effects() == 1);
  CHECK(side.app.number("SELECT parked FROM inbox") == 0);
}

TEST_CASE("one that was sent back and fails again is a dead letter once more") {
  Side side(DeadLetters::automatic, true);
  side.begin();
  CHECK(side.dead_letter(message_at(0)) == Kept::outbox);
  Message back = message_at(1);
  back.headers.add("__dlq.errors.offset", "0");
  CHECK(side.dead_letter(back) == Kept::outbox);
  CHECK(side.close(0, 2) == Closed::Result::committed);
  CHECK(side.app.number("SELECT count(*) FROM outbox") == 2);
}

TEST_CASE("messages without an id are dead letters each for itself") {
  Side side;
  side.begin();
  CHECK(side.dead_letter(message_at(0, "")) == Kept::parked);
  CHECK(side.dead_letter(message_at(1, "")) == Kept::parked);
  CHECK(side.close(0, 2) == Closed::Result::committed);
  CHECK(side.app.number("SELECT count(*) FROM inbox_parked WHERE event_id IS NULL") == 2);
  CHECK(side.app.number("SELECT count(*) FROM inbox") == 0);
}

TEST_CASE("a run begins only where a power cut cannot put Kafka ahead of the database") {
  Side side(DeadLetters::outbox);
  CHECK(code_of([&] { side.database.check_ready(); }) == ErrorCode::not_installed);
  store::install(side.app, {});
  side.database.check_ready();
  write(side.connection.handle(), "PRAGMA synchronous=OFF");
  CHECK(code_of([&] { side.database.check_ready(); }) == ErrorCode::configuration);
  write(side.connection.handle(), "PRAGMA synchronous=NORMAL; BEGIN");
  CHECK(code_of([&] { side.database.check_ready(); }) == ErrorCode::invalid_argument);
  write(side.connection.handle(), "COMMIT");
  side.database.check_ready();
}
