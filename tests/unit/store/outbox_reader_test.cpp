#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include <txbox/base/event_id.hpp>
#include <txbox/store/outbox_reader.hpp>
#include <txbox/store/outbox_tools.hpp>

#include "support/expect_error.hpp"
#include "support/relay_store.hpp"

using txbox::BytesView;
using txbox::ErrorCode;
using txbox::store::HeldState;
using txbox::store::lane_of;
using txbox::test::code_of;
using txbox::test::RelaySide;
using txbox::test::RelayStore;

namespace {

std::vector<std::int64_t> ids_of(const std::vector<txbox::store::OutboxRow>& rows) {
  std::vector<std::int64_t> ids;
  ids.reserve(rows.size());
  for (const auto& row : rows) ids.push_back(row.id);
  return ids;
}

using Ids = std::vector<std::int64_t>;

void expect_nothing_open(const RelaySide& relay) {
  for (sqlite3* db : {relay.reading.handle(), relay.writing.handle()}) {
    CHECK(sqlite3_get_autocommit(db) != 0);
    CHECK(sqlite3_txn_state(db, nullptr) == SQLITE_TXN_NONE);
  }
}

}  // namespace

TEST_CASE("rows come in commit order with every field, and null, empty and bytes stay apart") {
  RelayStore store;
  store.app.run("INSERT INTO outbox(topic, key, payload) VALUES ('a', NULL, NULL)");
  store.app.run("INSERT INTO outbox(topic, key, payload) VALUES ('a', '', x'')");
  store.app.run("INSERT INTO outbox(topic, key, payload) VALUES ('a', x'00ff80', 'x' || char(0) || 'y')");
  store.app.run(
      "INSERT INTO outbox(topic, key, payload, headers, event_id, partition, deliver_at, as_is, created_at)"
      " VALUES ('b', 12, 3.5, '{\"h\":null}', 'mine', 7, 1700000000001, 1, 1700000000000)");
  store.app.run("INSERT INTO outbox(topic, payload) VALUES ('a', zeroblob(900000))");

  const auto& rows = store.relay->read(0);
  REQUIRE(ids_of(rows) == Ids{1, 2, 3, 4, 5});
  CHECK(rows[0].key.is_null());
  CHECK(rows[0].payload.is_null());
  CHECK(rows[0].headers.is_null());
  CHECK(rows[0].event_id.empty());
  CHECK(rows[0].nonce.size() == txbox::kNonceSize);
  CHECK(rows[1].key == BytesView(std::string_view("")));
  CHECK(rows[1].payload == BytesView(std::string_view("")));
  CHECK(rows[2].key == BytesView(std::string_view("\x00\xff\x80", 3)));
  CHECK(rows[2].payload == BytesView(std::string_view("x\0y", 3)));
  CHECK(rows[3].topic == "b");
  CHECK(rows[3].key == BytesView(std::string_view("12")));
  CHECK(rows[3].payload == BytesView(std::string_view("3.5")));
  CHECK(rows[3].headers == BytesView(std::string_view("{\"h\":null}")));
  CHECK(rows[3].event_id == "mine");
  CHECK(rows[3].partition == 7);
  CHECK(rows[3].deliver_at_ms == 1700000000001);
  CHECK(rows[3].created_at_ms == 1700000000000);
  CHECK(rows[3].as_is);
  CHECK(rows[4].payload.size() == 900000);
  CHECK(rows[4].record_bytes() == 900000);
  expect_nothing_open(*store.relay);
}

TEST_CASE("a batch ends at its limit of rows or bytes, but always holds one row") {
  RelayStore store;
  for (int index = 0; index < 5; ++index)
    store.app.run("INSERT INTO outbox(topic, payload) VALUES ('a', zeroblob(1000))");
  auto& reader = store.relay->reader;
  auto& batch = store.relay->batch;

  auto result = reader.read_after(0, {.rows = 2}, batch);
  CHECK(ids_of(batch.rows()) == Ids{1, 2});
  CHECK_FALSE(result.exhausted);
  CHECK(result.newest_id == 5);
  result = reader.read_after(2, {.rows = 100, .bytes = 1}, batch);
  CHECK(ids_of(batch.rows()) == Ids{3});
  CHECK_FALSE(result.exhausted);
  result = reader.read_after(3, {.rows = 2}, batch);
  CHECK(ids_of(batch.rows()) == Ids{4, 5});
  CHECK(result.exhausted);
  result = reader.read_after(5, {}, batch);
  CHECK(batch.rows().empty());
  CHECK(result.exhausted);
  CHECK(result.newest_id == 5);
}

TEST_CASE("an empty table is exhausted and has no newest row") {
  RelayStore store;
  const auto result = store.relay->reader.read_after(0, {}, store.relay->batch);
  CHECK(result.exhausted);
  CHECK(result.newest_id == 0);
  CHECK(store.relay->reader.progress().newest_id == 0);
}

TEST_CASE("each row tells its receipt and its held row of the same snapshot") {
  RelayStore store;
  store.add("orders", "k", 5);
  store.mark({store.receipt(2)}, {store.hold(3, HeldState::parked), store.hold(4, HeldState::blocked)});
  const auto& rows = store.relay->read(0);
  REQUIRE(rows.size() == 5);
  CHECK_FALSE(rows[0].sent);
  CHECK_FALSE(rows[0].held.has_value());
  CHECK(rows[1].sent);
  CHECK(rows[2].held == HeldState::parked);
  CHECK(rows[2].held_lane == lane_of("orders", std::nullopt, "k"));
  CHECK(rows[3].held == HeldState::blocked);
  CHECK_FALSE(rows[4].held.has_value());
}

TEST_CASE("a receipt or held row with another row's nonce means restored, never sent") {
  RelayStore store;
  store.add("orders", "k", 3);
  SUBCASE("receipt") { store.app.run("INSERT INTO outbox_sent VALUES (2, x'0000000000000001', 1, 0, 5, 1)"); }
  SUBCASE("held row") {
    store.app.run("INSERT INTO outbox_held(id, nonce, state) VALUES (2, x'0000000000000001', 'parked')");
  }
  SUBCASE("ready row") {
    store.app.run("INSERT INTO outbox_held(id, nonce, state) VALUES (2, x'0000000000000001', 'ready')");
    CHECK(code_of([&] { return store.relay->read_ready(3); }) == ErrorCode::restored);
  }
  CHECK(code_of([&] { return store.relay->read(0); }) == ErrorCode::restored);
  expect_nothing_open(*store.relay);
}

TEST_CASE("a settled_through beyond the newest row means restored") {
  RelayStore store;
  store.add();
  store.app.run("UPDATE outbox_progress SET settled_through = 2");
  CHECK(code_of([&] { return store.relay->read(0); }) == ErrorCode::restored);
  CHECK(code_of([&] { return store.relay->reader.progress(); }) == ErrorCode::restored);
}

TEST_CASE("a row written without its checks, with a malformed nonce, is read as such and can be held") {
  RelayStore store;
  store.app.run("PRAGMA ignore_check_constraints = ON; DROP TRIGGER outbox_guard");
  store.app.run("INSERT INTO outbox(topic, nonce, payload) VALUES ('a', x'0102', 'p')");
  store.app.run("INSERT INTO outbox(topic, nonce, payload) VALUES ('a', '0123456789', 'p')");
  txbox::store::install(store.app, {});
  const auto& rows = store.relay->read(0);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].nonce.empty());
  CHECK(rows[0].nonce_prefix == 0);
  CHECK(rows[1].nonce.empty());
  CHECK(store.mark({}, {store.hold(1, HeldState::parked), store.hold(2, HeldState::parked)}, 2).settled_through == 2);
  CHECK(store.relay->read(0)[0].held == HeldState::parked);
}

TEST_CASE("a ready row is read when the scan has passed it and no earlier row of its lane waits") {
  RelayStore store;
  store.add("orders", "k", 4);
  store.add("orders", "other", 1);
  store.mark({},
             {store.hold(1, HeldState::ready), store.hold(2, HeldState::parked), store.hold(3, HeldState::ready),
              store.hold(4, HeldState::ready), store.hold(5, HeldState::ready)},
             5);
  CHECK(ids_of(store.relay->read_ready(5)) == Ids{1, 5});
  CHECK(ids_of(store.relay->read_ready(4)) == Ids{1});
  CHECK(ids_of(store.relay->read_ready(5, 1)) == Ids{5});
  CHECK(ids_of(store.relay->read_ready(0)).empty());
  store.app.run("UPDATE outbox_held SET state = 'skipped' WHERE id = 2");
  CHECK(ids_of(store.relay->read_ready(5)) == Ids{1, 3, 4, 5});
  store.app.run("UPDATE outbox_held SET state = 'ready' WHERE id = 2");
  CHECK(ids_of(store.relay->read_ready(5)) == Ids{1, 2, 3, 4, 5});
  store.app.run("UPDATE outbox_held SET state = 'waiting' WHERE id = 1");
  CHECK(ids_of(store.relay->read_ready(5)) == Ids{5});
  expect_nothing_open(*store.relay);
}

TEST_CASE("ready rows come in batches that say whether more are left") {
  RelayStore store;
  store.add("orders", "k", 3);
  store.mark({}, {store.hold(1, HeldState::ready), store.hold(2, HeldState::ready), store.hold(3, HeldState::ready)},
             3);
  auto& reader = store.relay->reader;
  auto& batch = store.relay->batch;
  CHECK_FALSE(reader.read_ready(0, 3, {.rows = 2}, batch).exhausted);
  CHECK(ids_of(batch.rows()) == Ids{1, 2});
  CHECK(reader.read_ready(2, 3, {.rows = 2}, batch).exhausted);
  CHECK(ids_of(batch.rows()) == Ids{3});
  CHECK(batch.rows()[0].held == HeldState::ready);
}

TEST_CASE("a start learns the lanes that wait, the next due time and the paused topics") {
  RelayStore store;
  store.add("orders", "k", 3);
  store.add("bills", "k", 1);
  CHECK(store.relay->reader.held_lanes().empty());
  CHECK_FALSE(store.relay->reader.next_due_ms().has_value());
  CHECK(store.relay->reader.waiting_topics().empty());
  auto scheduled = store.hold(3, HeldState::scheduled);
  scheduled.due_at_ms = 1234;
  scheduled.lane.reset();
  store.mark({},
             {store.hold(1, HeldState::parked), store.hold(2, HeldState::skipped), scheduled,
              store.hold(4, HeldState::waiting)},
             4);
  const auto lanes = store.relay->reader.held_lanes();
  REQUIRE(lanes.size() == 2);
  for (const auto& load : lanes) CHECK(load.held == 1);
  CHECK(store.relay->reader.next_due_ms() == 1234);
  CHECK(store.relay->reader.waiting_topics() == std::vector<std::string>{"bills"});
  CHECK(store.relay->reader.progress().settled_through == 4);
  expect_nothing_open(*store.relay);
}

TEST_CASE("a start learns of which lanes the first row holds the others back") {
  RelayStore store;
  store.add("orders", "parked", 2);
  store.add("orders", "waits", 1);
  store.add("orders", "goes", 2);
  store.add("orders", "skipped", 2);
  using enum HeldState;
  store.mark({},
             {store.hold(1, parked), store.hold(2, blocked), store.hold(3, waiting), store.hold(4, ready),
              store.hold(5, parked), store.hold(6, skipped), store.hold(7, blocked)},
             7);
  int at_head = 0;
  for (const auto& load : store.relay->reader.held_lanes()) {
    const bool stands = load.lane == *store.hold(1, parked).lane || load.lane == *store.hold(3, waiting).lane;
    CHECK(load.stands_at_head == stands);
    if (load.stands_at_head) ++at_head;
  }
  CHECK(at_head == 2);
  expect_nothing_open(*store.relay);
}

TEST_CASE("what people do to rows is seen by one number") {
  RelayStore store;
  store.add("orders", "k", 2);
  CHECK(store.relay->reader.newest_deed() == 0);
  store.mark({}, {store.hold(1, HeldState::parked)}, 1);
  CHECK(store.relay->reader.newest_deed() == 0);
  auto tool = txbox::store::Connection::open(store.path, {.purpose = txbox::store::OpenPurpose::tool});
  txbox::store::apply_tool(tool, txbox::store::ToolAction::skip, std::vector<std::int64_t>{1},
                           {.who = "ops", .why = {}});
  CHECK(store.relay->reader.newest_deed() == 1);
  // One that changed nothing is none.
  txbox::store::apply_tool(tool, txbox::store::ToolAction::skip, std::vector<std::int64_t>{1},
                           {.who = "ops", .why = {}});
  CHECK(store.relay->reader.newest_deed() == 1);
  expect_nothing_open(*store.relay);
}

TEST_CASE("the anchor is the newest row that was read and barriered") {
  RelayStore store;
  store.add("orders", "k", 2);
  auto& reader = store.relay->reader;
  const auto prefix = store.relay->read(0)[1].nonce_prefix;
  CHECK(reader.anchor().id == 0);
  reader.barrier();
  CHECK(reader.anchor().id == 2);
  CHECK(reader.anchor().nonce_prefix == prefix);
}

TEST_CASE("the barrier works before the first read of a connection") {
  RelayStore store;
  store.add();
  RelaySide other(store.path);
  other.reader.barrier();
  CHECK(other.reader.anchor().id == 0);
}

TEST_CASE("a folder that cannot be opened for its sync is no sign of a corrupt file") {
  RelayStore store;
  store.add();
  store.relay->read(0);
  auto& reader = store.relay->reader;
#ifndef __SANITIZE_ADDRESS__  // The sanitizers look at the type of a thrown object through a pipe of their own.
  SUBCASE("no descriptor is left") {
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const int next = ::dup(STDIN_FILENO);
    REQUIRE(next >= 0);
    ::close(next);
    const rlimit none{.rlim_cur = static_cast<rlim_t>(next), .rlim_max = before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    const auto code = code_of([&] { reader.barrier(); });
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(code == ErrorCode::failure);
  }
#endif
  SUBCASE("the folder may be written, not read") {
    const auto folder = std::filesystem::path(store.path).parent_path();
    std::filesystem::permissions(folder, std::filesystem::perms(0300));
    // No right is missing to root.
    constexpr uid_t kNobody = 65534;
    const uid_t self = ::geteuid();
    if (self == 0) REQUIRE(::seteuid(kNobody) == 0);
    const auto code = code_of([&] { reader.barrier(); });
    if (self == 0) REQUIRE(::seteuid(self) == 0);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    CHECK(code == ErrorCode::unsupported_file);
  }
  reader.barrier();
}

TEST_CASE("an anchor that is gone or another row means restored, in every kind of read") {
  RelayStore store;
  store.add("orders", "k", 2);
  const auto nonce = store.relay->read(1)[0].nonce_prefix;
  SUBCASE("gone") { store.relay->reader.set_anchor({.id = 3, .nonce_prefix = nonce}); }
  SUBCASE("another row") { store.relay->reader.set_anchor({.id = 2, .nonce_prefix = nonce + 1}); }
  auto& reader = store.relay->reader;
  CHECK(code_of([&] { return store.relay->read(0); }) == ErrorCode::restored);
  CHECK(code_of([&] { return store.relay->read_ready(2); }) == ErrorCode::restored);
  CHECK(code_of([&] { return reader.progress(); }) == ErrorCode::restored);
  CHECK(code_of([&] { return reader.held_lanes(); }) == ErrorCode::restored);
}

TEST_CASE("an anchor that retention took is no restore") {
  RelayStore store;
  store.add("orders", "k", 2);
  store.relay->reader.set_anchor({.id = 1, .nonce_prefix = 77});
  store.app.run(
      "DROP TRIGGER outbox_no_delete; DELETE FROM outbox WHERE id = 1; UPDATE outbox_progress SET pruned_through = 1");
  txbox::store::install(store.app, {});
  CHECK(store.relay->read(0).size() == 1);
}

TEST_CASE("an older copy written over the live file, inode kept, is found by the anchor") {
  RelayStore store;
  store.add("orders", "k", 1);
  store.app.run("PRAGMA wal_checkpoint(TRUNCATE)");
  const std::string backup = store.dir.file("backup.db");
  store.app.run("VACUUM INTO '" + backup + "'");
  store.add("orders", "k", 3);
  store.relay->read(0);
  store.app.run("PRAGMA wal_checkpoint(TRUNCATE)");
  // What `sqlite3 shop.db ".restore backup.db"` does: SQLite's backup interface, through an ordinary connection.
  txbox::test::AppDatabase source(backup);
  sqlite3_backup* copy = sqlite3_backup_init(store.app, "main", source, "main");
  REQUIRE(copy != nullptr);
  REQUIRE(sqlite3_backup_step(copy, -1) == SQLITE_DONE);
  sqlite3_backup_finish(copy);
  store.app.run("PRAGMA journal_mode=WAL");
  CHECK(code_of([&] { return store.relay->read(4); }) == ErrorCode::restored);
  // Also when the application has gone on and the ids are used again.
  store.add("orders", "k", 5);
  CHECK(code_of([&] { return store.relay->read(4); }) == ErrorCode::restored);
}

TEST_CASE("an older copy written over the live file by cp is found when the application goes on") {
  RelayStore store;
  store.add("orders", "k", 1);
  store.app.run("PRAGMA wal_checkpoint(TRUNCATE)");
  std::filesystem::copy_file(store.path, store.dir.file("backup.db"));
  store.add("orders", "k", 200);
  store.app.run("PRAGMA wal_checkpoint(TRUNCATE)");
  REQUIRE(store.relay->read(0).size() == 201);
  constexpr auto kKeepInode = std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy_file(store.dir.file("backup.db"), store.path, kKeepInode);
  txbox::test::AppDatabase restarted(store.path);
  restarted.run("INSERT INTO outbox(topic) VALUES ('t')");
  CHECK(code_of([&] { return store.relay->read(201); }) == ErrorCode::restored);
}

TEST_CASE("a file that was moved, deleted or replaced is found before anything is read") {
  RelayStore store;
  store.add();
  SUBCASE("moved") { std::filesystem::rename(store.path, store.path + ".away"); }
  SUBCASE("deleted") { std::filesystem::remove(store.path); }
  SUBCASE("replaced") {
    std::filesystem::copy(store.path, store.path + ".new");
    std::filesystem::rename(store.path + ".new", store.path);
  }
  auto& reader = store.relay->reader;
  CHECK(code_of([&] { return store.relay->read(0); }) == ErrorCode::moved);
  CHECK(code_of([&] { return store.relay->read_ready(1); }) == ErrorCode::moved);
  CHECK(code_of([&] { return reader.progress(); }) == ErrorCode::moved);
  CHECK(code_of([&] { return reader.next_due_ms(); }) == ErrorCode::moved);
  CHECK(code_of([&] { return reader.waiting_topics(); }) == ErrorCode::moved);
}

TEST_CASE("a schema that was altered while the relay runs stops the feeding, and init heals it") {
  RelayStore store;
  store.add();
  CHECK(store.relay->read(0).size() == 1);
  store.app.run("DROP TRIGGER outbox_order");
  CHECK(code_of([&] { return store.relay->read(0); }) == ErrorCode::schema_differs);
  expect_nothing_open(*store.relay);
  txbox::store::install(store.app, {});
  CHECK(store.relay->read(0).size() == 1);
  store.app.run("CREATE TABLE business(x)");
  CHECK(store.relay->read(0).size() == 1);
}

TEST_CASE("a newer version that changed no table's text stops the feeding as well") {
  RelayStore store;
  store.add();
  CHECK(store.relay->read(0).size() == 1);
  store.app.run("UPDATE txbox_meta SET value = 999 WHERE name = 'schema_version'");
  CHECK(code_of([&] { return store.relay->read(0); }) == ErrorCode::schema_newer);
  expect_nothing_open(*store.relay);
}

TEST_CASE("a file without the tables is told apart when the reader is made") {
  const txbox::test::TempDir dir;
  const txbox::test::AppDatabase app(dir.file("a.db"));
  auto connection = txbox::store::Connection::open(dir.file("a.db"), {.purpose = txbox::store::OpenPurpose::relay});
  CHECK(code_of([&] { const txbox::store::OutboxReader reader(connection); }) == ErrorCode::not_installed);
  CHECK(code_of([&] { const txbox::store::OutboxMarker marker(connection); }) == ErrorCode::not_installed);
}

TEST_CASE("data_version moves when another connection commits, and only then") {
  RelayStore store;
  const auto before = store.relay->reader.data_version();
  CHECK(store.relay->reader.data_version() == before);
  store.add();
  CHECK(store.relay->reader.data_version() != before);
  expect_nothing_open(*store.relay);
}

TEST_CASE("a batch of bytes stays what it is while the file goes on, and memory is used again") {
  RelayStore store;
  for (int index = 0; index < 100; ++index) {
    store.app.run("INSERT INTO outbox(topic, payload) VALUES ('a', hex(zeroblob(20000)))");
  }
  for (int round = 0; round < 3; ++round) {
    const auto& rows = store.relay->read(0);
    REQUIRE(rows.size() == 100U + static_cast<unsigned>(round));
    store.add();
    for (const auto& row : rows) {
      REQUIRE(row.payload.size() <= 40000);
      REQUIRE(row.payload.view().find_first_not_of("0p") == std::string_view::npos);
    }
    store.relay->batch.clear();
    CHECK(store.relay->batch.rows().empty());
  }
}
