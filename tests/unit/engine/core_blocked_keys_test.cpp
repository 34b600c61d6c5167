// What blocked keys cost the others: nothing.

#include <doctest/doctest.h>

#include "core_fixture.hpp"

using namespace txbox;
using namespace txbox::test;
using namespace txbox::relay;
using namespace std::chrono_literals;

namespace {

TestRow parked_row() {
  TestRow row{.id = 1};
  row.held = store::HeldState::parked;
  row.held_lane = row.lane();
  return row;
}

}  // namespace

TEST_CASE("beside blocked keys a commit of the application asks what people did, and all that is held once a minute") {
  CoreFixture fixture;
  fixture.read({parked_row()});
  int reloads = 0;
  int whole = 0;
  for (int commit = 0; commit < 1200; ++commit) {
    fixture.advance(100ms);
    fixture.wake(true);
    for (const command::Reload& reload : fixture.take<command::Reload>()) {
      ++reloads;
      if (!reload.only_after_deeds) ++whole;
      event::DatabaseOpened opened;
      opened.progress = {1, 0, 1};
      opened.held_lanes = {{parked_row().lane(), 1, true}};
      fixture.step(reload.only_after_deeds ? Event(event::HeldUnchanged{}) : Event(opened));
    }
    if (fixture.reading_ready) fixture.read_ready({});
    if (fixture.reading) fixture.read({});
  }
  CHECK(whole == 1);
  CHECK(reloads > 300);
  CHECK(reloads < 500);
  CHECK(fixture.take<command::ReleaseLane>().size() <= 1);
}

TEST_CASE("rows of other keys bring about the same commands beside a hundred thousand blocked keys") {
  std::map<std::string, std::size_t> beside_none;
  for (const int keys : {0, 1'000, 100'000}) {
    CAPTURE(keys);
    CoreFixture fixture({}, false);
    event::DatabaseOpened opened;
    opened.progress = {1, 0, 1001};
    for (int key = 0; key < keys; ++key) opened.held_lanes.push_back({key, 3, true});
    fixture.step(opened);
    if (fixture.reading_ready) fixture.read_ready({});
    fixture.read(rows_of_key(2, 1001, "free"));
    for (std::int64_t row = 2; row <= 1001; ++row) fixture.ack({row});
    fixture.advance(25ms);
    const std::size_t marks = fixture.marks.size();
    while (!fixture.marks.empty()) fixture.marked();
    const std::map<std::string, std::size_t> counts{{"produced", fixture.take_handed_ids().size()},
                                                    {"marks", marks},
                                                    {"other commands", fixture.commands.size()},
                                                    {"words", fixture.words.size()}};
    if (keys == 0) beside_none = counts;
    CHECK(counts.at("produced") == 1000);
    for (const auto& [what, count] : counts) {
      CAPTURE(what);
      CHECK(count == beside_none.at(what));
    }
  }
}
