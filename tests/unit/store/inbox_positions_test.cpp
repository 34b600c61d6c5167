#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <txbox/store/inbox_store.hpp>

#include "support/expect_error.hpp"
#include "support/inbox_database.hpp"

using txbox::ErrorCode;
using txbox::store::InboxPlace;
using txbox::store::InboxPosition;
using txbox::store::InboxStore;
using txbox::test::code_of;
using txbox::test::error_of;
using txbox::test::InboxDatabase;
using txbox::test::InboxSide;

namespace {

using Offset = std::optional<std::int64_t>;

std::string text_of(const InboxPosition& position) {
  return std::to_string(position.next_offset) + (position.clean ? " clean" : " unclean") + " reset " +
         (position.reset_to ? std::to_string(*position.reset_to) : "none") + " taken " +
         std::to_string(position.assignment);
}

std::string position_text(InboxSide& side, const InboxPlace& place) {
  const auto position = side.inbox.position(place);
  return position ? text_of(*position) : "none";
}

InboxPosition take(InboxSide& side, const InboxStore::Take& wish) { return side.inbox.take({&wish, 1}).at(0); }

void give_up(InboxSide& side, const InboxStore::GiveUp& wish) { side.inbox.give_up({&wish, 1}); }

/// One batch that only moves the position.
bool advance(InboxSide& side, const InboxPlace& place, std::int64_t expected, std::int64_t next) {
  side.inbox.begin();
  const bool moved = side.inbox.advance(place, expected, next);
  side.inbox.commit();
  return moved;
}

}  // namespace

TEST_CASE("a partition is taken, advanced, given up in order, and taken again where it was left") {
  InboxDatabase file;
  InboxSide& side = file.side;
  CHECK(position_text(side, file.place) == "none");
  CHECK(text_of(side.take(file.place, 40)) == "40 clean reset none taken 1");
  CHECK(position_text(side, file.place) == "40 unclean reset none taken 1");
  CHECK(advance(side, file.place, 40, 45));
  give_up(side, {.place = file.place, .expected_next = 45, .assignment = 1, .not_tried = {}});
  CHECK(position_text(side, file.place) == "45 clean reset none taken 1");
  CHECK(text_of(side.take(file.place)) == "45 clean reset none taken 2");
  CHECK(text_of(side.take(file.place)) == "45 unclean reset none taken 3");
  give_up(side, {.place = file.place, .expected_next = 45, .assignment = 3, .clean = false});
  CHECK(text_of(side.take(file.place)) == "45 unclean reset none taken 4");
  CHECK_FALSE(side.any_statement_busy());
  CHECK(file.app.number("SELECT abs(updated_at - strftime('%s', 'now') * 1000) < 60000 FROM inbox_offsets") == 1);
}

TEST_CASE("partitions, topics, groups and clusters have positions of their own") {
  InboxDatabase file;
  InboxSide audit(file.path, "audit");
  file.side.take(file.place, 1);
  file.side.take({"orders", 4}, 2);
  file.side.take({"refunds", 3}, 3);
  audit.take(file.place, 4);
  CHECK(file.side.inbox.use_cluster("mirror") != file.side.inbox.use_cluster("c1"));
  file.side.inbox.use_cluster("mirror");
  CHECK(position_text(file.side, file.place) == "none");
  file.side.take(file.place, 5);
  CHECK(advance(file.side, file.place, 5, 6));
  file.side.inbox.use_cluster("c1");
  CHECK(position_text(file.side, file.place) == "1 unclean reset none taken 1");
  CHECK(position_text(file.side, {"orders", 4}) == "2 unclean reset none taken 1");
  CHECK(position_text(file.side, {"refunds", 3}) == "3 unclean reset none taken 1");
  CHECK(position_text(audit, file.place) == "4 unclean reset none taken 1");
}

TEST_CASE("a cluster keeps its number, whoever asks first, and one without a name is refused") {
  InboxDatabase file;
  InboxSide other(file.path);
  const auto number = file.side.inbox.use_cluster("new one");
  CHECK(other.inbox.use_cluster("new one") == number);
  CHECK(file.side.inbox.use_cluster("new one") == number);
  CHECK(file.app.number("SELECT count(*) FROM inbox_cluster") == 2);
  CHECK(code_of([&] { file.side.inbox.use_cluster(""); }) == ErrorCode::invalid_argument);
}

TEST_CASE("many partitions are taken in one transaction, and answered in the order asked for") {
  InboxDatabase file;
  file.side.take({"orders", 1}, 10);
  std::vector<InboxStore::Take> takes;
  takes.push_back({.place = {"orders", 2}, .set_next = 20, .reset_to = {}, .loaded_next = {}});
  takes.push_back({.place = {"orders", 1}, .set_next = {}, .reset_to = {}, .loaded_next = {}});
  const auto positions = file.side.inbox.take(takes);
  REQUIRE(positions.size() == 2);
  CHECK(text_of(positions[0]) == "20 clean reset none taken 1");
  CHECK(text_of(positions[1]) == "10 unclean reset none taken 2");

  takes.push_back({.place = {"nowhere", 0}, .set_next = {}, .reset_to = {}, .loaded_next = {}});
  const auto error = error_of([&] { file.side.inbox.take(takes); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::failure);
  CHECK(std::string(error->what()).find("nowhere [0]") != std::string::npos);
  CHECK(position_text(file.side, {"orders", 1}) == "10 unclean reset none taken 2");
  CHECK(sqlite3_get_autocommit(file.side.connection.handle()) == 1);
  CHECK(file.side.inbox.take({}).empty());
}

TEST_CASE("a reset is remembered with the new position, and forgotten when it is said to be over") {
  InboxDatabase file;
  InboxSide& side = file.side;
  side.take(file.place, 40);
  const auto reset = take(side, {.place = file.place, .set_next = 7, .reset_to = 7, .loaded_next = 40});
  CHECK(text_of(reset) == "7 unclean reset 7 taken 2");
  CHECK(text_of(side.take(file.place)) == "7 unclean reset 7 taken 3");
  const auto moved = take(side, {.place = file.place, .set_next = 9, .reset_to = {}, .loaded_next = 7});
  CHECK(text_of(moved) == "9 unclean reset 7 taken 4");
  const auto over = take(side, {.place = file.place, .set_next = {}, .reset_to = -1, .loaded_next = {}});
  CHECK(text_of(over) == "9 unclean reset none taken 5");
  const auto begun = take(side, {.place = {"orders", 9}, .set_next = 3, .reset_to = 3, .loaded_next = {}});
  CHECK(text_of(begun) == "3 clean reset 3 taken 1");
}

TEST_CASE("a position that moved since it was loaded is neither set nor taken") {
  InboxDatabase file;
  InboxSide& side = file.side;
  InboxSide zombie(file.path);
  side.take(file.place, 40);
  give_up(side, {.place = file.place, .expected_next = 40, .assignment = 1, .not_tried = {}});
  REQUIRE(advance(zombie, file.place, 40, 50));
  for (const Offset loaded : {Offset(40), Offset()}) {
    const auto answer = take(side, {.place = file.place, .set_next = 7, .reset_to = 7, .loaded_next = loaded});
    CHECK(text_of(answer) == "50 clean reset none taken 1");
  }
  CHECK(position_text(side, file.place) == "50 clean reset none taken 1");

  // Without a wish of its own it is taken wherever it stands; and a row that is gone was not to be begun anew.
  CHECK(text_of(take(side, {.place = file.place, .set_next = {}, .reset_to = {}, .loaded_next = 40})) ==
        "50 clean reset none taken 2");
  file.app.run("DELETE FROM inbox_offsets");
  CHECK(code_of([&] { take(side, {.place = file.place, .set_next = 7, .reset_to = {}, .loaded_next = 50}); }) ==
        ErrorCode::failure);
}

TEST_CASE("a partition that was taken since it was loaded is neither set nor taken, though it is at the same offset") {
  InboxDatabase file;
  InboxSide& side = file.side;
  side.take(file.place, 40);
  side.take(file.place);
  InboxStore::Take late{.place = file.place, .set_next = 7, .reset_to = 7, .loaded_next = 40, .loaded_assignment = 1};
  CHECK(text_of(take(side, late)) == "40 unclean reset none taken 2");
  CHECK(take(side, late).left);
  late.loaded_assignment = 2;
  CHECK(text_of(take(side, late)) == "7 unclean reset 7 taken 3");
}

TEST_CASE("a compare-and-set that fails changes nothing, and the batch is free to go on or to roll back") {
  InboxDatabase file;
  InboxSide& side = file.side;
  side.take(file.place, 40);
  CHECK_FALSE(advance(side, file.place, 39, 50));
  CHECK_FALSE(advance(side, file.place, 41, 50));
  CHECK_FALSE(advance(side, {"orders", 99}, 40, 50));
  CHECK_FALSE(advance(side, {"nowhere", 3}, 40, 50));
  CHECK(position_text(side, file.place) == "40 unclean reset none taken 1");
  // The same position once more says that it is still the caller's.
  CHECK(advance(side, file.place, 40, 40));
  CHECK_FALSE(advance(side, file.place, 39, 39));
  // Offsets have gaps.
  CHECK(advance(side, file.place, 40, 4000));
  CHECK(position_text(side, file.place) == "4000 unclean reset none taken 1");
}

TEST_CASE("of two consumers that believe they have the partition one applies each message") {
  InboxDatabase file;
  InboxSide zombie(file.path);
  zombie.take(file.place, 10);
  file.side.take(file.place);
  // Both have read the message at 10; the first to commit moves the position.
  zombie.inbox.begin();
  CHECK(zombie.inbox.advance(file.place, 10, 11));
  CHECK(code_of([&] { file.side.inbox.begin(); }) == ErrorCode::busy);
  CHECK_FALSE(file.side.inbox.transaction_open());
  zombie.inbox.commit();
  file.side.inbox.begin();
  CHECK_FALSE(file.side.inbox.advance(file.place, 10, 11));
  file.side.inbox.rollback();
  CHECK(file.side.inbox.position(file.place)->next_offset == 11);
}

TEST_CASE("a former owner's late word does not speak for the new one, though the position is the same") {
  InboxDatabase file;
  InboxSide zombie(file.path);
  const auto before = zombie.take(file.place, 10);
  const auto now = file.side.take(file.place);
  REQUIRE(now.next_offset == before.next_offset);
  give_up(zombie, {.place = file.place, .expected_next = 10, .assignment = before.assignment, .not_tried = {}});
  CHECK(position_text(file.side, file.place) == "10 unclean reset none taken 2");

  // There and back again: the position returns to what the zombie remembers, the assignment does not.
  REQUIRE(advance(file.side, file.place, 10, 20));
  take(file.side, {.place = file.place, .set_next = 10, .reset_to = 10, .loaded_next = 20});
  give_up(zombie, {.place = file.place, .expected_next = 10, .assignment = before.assignment, .not_tried = {}});
  CHECK(position_text(file.side, file.place) == "10 unclean reset 10 taken 3");

  // Its own assignment, yet a position that somebody else moved.
  give_up(file.side, {.place = file.place, .expected_next = 11, .assignment = 3, .not_tried = {}});
  CHECK(position_text(file.side, file.place) == "10 unclean reset 10 taken 3");
  give_up(file.side, {.place = file.place, .expected_next = 10, .assignment = 3, .not_tried = {}});
  CHECK(position_text(file.side, file.place) == "10 clean reset 10 taken 3");
}

TEST_CASE("taking, giving up and a new cluster say busy, and change nothing, while another connection writes") {
  InboxDatabase file;
  file.side.take(file.place, 10);
  file.app.run("BEGIN IMMEDIATE");
  CHECK(code_of([&] { file.side.take(file.place); }) == ErrorCode::busy);
  CHECK(code_of([&] {
          give_up(file.side, {.place = file.place, .expected_next = 10, .assignment = 1, .not_tried = {}});
        }) == ErrorCode::busy);
  CHECK(code_of([&] { file.side.inbox.use_cluster("new one"); }) == ErrorCode::busy);
  CHECK(file.side.inbox.use_cluster("c1") > 0);  // A known one is only read.
  CHECK(position_text(file.side, file.place) == "10 unclean reset none taken 1");
  file.app.run("COMMIT");
  CHECK(file.side.take(file.place).assignment == 2);
  CHECK_FALSE(file.side.any_statement_busy());
}

TEST_CASE("the barrier makes commits durable in a file with an inbox alone, before anything was read") {
  const txbox::test::TempDir dir;
  {
    txbox::store::Connection made =
        txbox::store::Connection::open(dir.file("a.db"), {.purpose = txbox::store::OpenPurpose::consumer});
    txbox::store::install(made.handle(), {.outbox = false});
    CHECK_FALSE(txbox::store::has_outbox(made.handle()));
  }
  InboxSide side(dir.file("a.db"));
  side.inbox.barrier();
  side.handle("PRAGMA synchronous=OFF");
  side.take({"orders", 0}, 1);
  side.inbox.barrier();
  side.inbox.begin();
  side.inbox.barrier();
  side.inbox.rollback();
  txbox::store::install(side.connection.handle(), {});
  CHECK(txbox::store::has_outbox(side.connection.handle()));
}

TEST_CASE("a table that merely has the outbox's name is no outbox") {
  const txbox::test::TempDir dir;
  txbox::test::AppDatabase app(dir.file("a.db"));
  CHECK_FALSE(txbox::store::has_outbox(app));
  app.run("CREATE TABLE outbox(id, message)");
  CHECK_FALSE(txbox::store::has_outbox(app));
  CHECK_FALSE(app.any_statement_busy());
}
