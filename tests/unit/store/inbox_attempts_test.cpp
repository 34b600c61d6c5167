#include <string>

#include <doctest/doctest.h>

#include <txbox/store/inbox_store.hpp>

#include "support/inbox_database.hpp"

using txbox::store::InboxPlace;
using txbox::store::InboxStore;
using txbox::test::InboxDatabase;
using txbox::test::InboxSide;

namespace {

std::string attempts_text(InboxSide& side, const InboxPlace& place, std::int64_t from = 0) {
  std::string text;
  for (const auto& row : side.inbox.attempts(place, from)) {
    text += std::to_string(row.offset) + ": " + std::to_string(row.started) + "+" + std::to_string(row.failed) +
            " at " + std::to_string(row.next_try_at_ms) + " " + row.last_error + "; ";
  }
  return text;
}

template <typename Work>
void in_batch(InboxSide& side, Work work) {
  side.inbox.begin();
  work(side.inbox);
  side.inbox.commit();
}

}  // namespace

TEST_CASE("attempts are counted over all lives, in the order of offsets, and forgotten one by one") {
  InboxDatabase file;
  in_batch(file.side, [&](InboxStore& inbox) {
    inbox.record_failed(file.place, 9, "no such account", 5000);
    inbox.record_started(file.place, 7);
    inbox.record_started(file.place, 7);
    inbox.record_failed(file.place, 9, "still none", 7000);
    inbox.record_failed({"orders", 4}, 8, "another partition's", 1);
  });
  InboxSide next_life(file.path);
  CHECK(attempts_text(next_life, file.place) == "7: 2+0 at 0 ; 9: 0+2 at 7000 still none; ");
  CHECK(attempts_text(next_life, file.place, 8) == "9: 0+2 at 7000 still none; ");
  CHECK(attempts_text(next_life, file.place, 10).empty());
  in_batch(next_life, [&](InboxStore& inbox) {
    inbox.forget_attempts(file.place, 7);
    inbox.forget_attempts(file.place, 1234);
  });
  CHECK(attempts_text(next_life, file.place) == "9: 0+2 at 7000 still none; ");
  CHECK(attempts_text(next_life, {"orders", 4}) == "8: 0+1 at 1 another partition's; ");
  CHECK_FALSE(next_life.any_statement_busy());
}

TEST_CASE("a try that was started and then failed counts once") {
  InboxDatabase file;
  in_batch(file.side, [&](InboxStore& inbox) { inbox.record_started(file.place, 7); });
  in_batch(file.side, [&](InboxStore& inbox) { inbox.record_started(file.place, 7); });
  in_batch(file.side, [&](InboxStore& inbox) { inbox.record_failed(file.place, 7, "e", 1, true); });
  CHECK(attempts_text(file.side, file.place) == "7: 1+1 at 1 e; ");
  in_batch(file.side, [&](InboxStore& inbox) { inbox.record_failed(file.place, 7, "f", 2); });
  CHECK(attempts_text(file.side, file.place) == "7: 1+2 at 2 f; ");
  in_batch(file.side, [&](InboxStore& inbox) { inbox.record_failed(file.place, 8, "g", 3, true); });
  in_batch(file.side, [&](InboxStore& inbox) { inbox.record_failed(file.place, 8, "h", 3, true); });
  CHECK(attempts_text(file.side, file.place, 8) == "8: 0+2 at 3 h; ");
}

TEST_CASE("an attempt that was rolled back was none") {
  InboxDatabase file;
  file.side.inbox.begin();
  file.side.inbox.record_started(file.place, 7);
  file.side.inbox.rollback();
  CHECK(attempts_text(file.side, file.place).empty());
}

TEST_CASE("a message that was started and never tried is given back, by its owner only") {
  InboxDatabase file;
  const auto position = file.side.take(file.place, 7);
  in_batch(file.side, [&](InboxStore& inbox) {
    inbox.record_started(file.place, 7);
    inbox.record_failed(file.place, 8, "e", 1);
    inbox.record_started(file.place, 8);
  });
  const auto give_up = [&](std::int64_t assignment, std::int64_t not_tried) {
    const InboxStore::GiveUp wish{
        .place = file.place, .expected_next = 7, .assignment = assignment, .not_tried = not_tried};
    file.side.inbox.give_up({&wish, 1});
  };
  give_up(position.assignment + 1, 7);
  CHECK(attempts_text(file.side, file.place) == "7: 1+0 at 0 ; 8: 1+1 at 1 e; ");
  give_up(position.assignment, 7);
  CHECK(attempts_text(file.side, file.place) == "8: 1+1 at 1 e; ");
  give_up(position.assignment, 8);
  give_up(position.assignment, 8);
  CHECK(attempts_text(file.side, file.place) == "8: 0+1 at 1 e; ");
}

TEST_CASE("taking a partition forgets attempts below its position, of that partition alone") {
  InboxDatabase file;
  file.side.take(file.place, 10);
  in_batch(file.side, [&](InboxStore& inbox) {
    for (const std::int64_t offset : {8, 9, 10, 11}) inbox.record_failed(file.place, offset, "e", 1);
    inbox.record_failed({"orders", 4}, 8, "e", 1);
  });
  file.side.take(file.place);
  CHECK(attempts_text(file.side, file.place) == "10: 0+1 at 1 e; 11: 0+1 at 1 e; ");
  CHECK(attempts_text(file.side, {"orders", 4}) == "8: 0+1 at 1 e; ");
}

TEST_CASE("a position that jumps forgets every attempt of its partition: they may be of other records") {
  InboxDatabase file;
  file.side.take(file.place, 10);
  file.side.take({"orders", 4}, 10);
  const auto jump = [&](std::int64_t from, std::int64_t to) {
    const InboxStore::Take wish{.place = file.place, .set_next = to, .reset_to = {}, .loaded_next = from};
    REQUIRE_FALSE(file.side.inbox.take({&wish, 1}).at(0).left);
  };
  in_batch(file.side, [&](InboxStore& inbox) {
    for (const std::int64_t offset : {10, 12}) inbox.record_started(file.place, offset);
    inbox.record_started({"orders", 4}, 10);
  });
  jump(10, 10);
  CHECK(attempts_text(file.side, file.place) == "10: 1+0 at 0 ; 12: 1+0 at 0 ; ");
  jump(10, 0);
  CHECK(attempts_text(file.side, file.place).empty());
  CHECK(attempts_text(file.side, {"orders", 4}) == "10: 1+0 at 0 ; ");
}

TEST_CASE("a long error is cut between characters, an empty one and odd bytes are kept") {
  InboxDatabase file;
  constexpr std::size_t kLimit = InboxStore::kTextLimitBytes;
  const std::string umlauts = [] {
    std::string text = "x";
    for (int letter = 0; letter < 1000; ++letter) text += "\xc3\xa4";
    return text;
  }();
  in_batch(file.side, [&](InboxStore& inbox) {
    inbox.record_failed(file.place, 1, umlauts, 0);
    inbox.record_failed(file.place, 2, std::string(kLimit, 'y'), 0);
    inbox.record_failed(file.place, 3, std::string(kLimit + 1, '\xbf'), 0);
    inbox.record_failed(file.place, 4, "", 0);
  });
  const auto rows = file.side.inbox.attempts(file.place, 0);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].last_error == umlauts.substr(0, kLimit - 1));
  CHECK(rows[1].last_error.size() == kLimit);
  CHECK(rows[2].last_error.size() == kLimit - 3);
  CHECK(rows[3].last_error.empty());
}
