#include <string>

#include <doctest/doctest.h>

#include "support/killed_child.hpp"
#include "support/relay_store.hpp"

using txbox::test::RelaySide;
using txbox::test::RelayStore;

namespace {

bool killed(const std::string& path, const char* action, const char* failpoint) {
  return txbox::test::killed_at({.program = STORE_CRASH_CHILD, .file = path, .action = action}, failpoint);
}

/// All that a write may change, as one text.
std::string notes_of(RelayStore& store) {
  std::string text;
  for (const char* question :
       {"SELECT group_concat(id) FROM outbox", "SELECT group_concat(id) FROM outbox_sent",
        "SELECT group_concat(id || state) FROM outbox_held",
        "SELECT settled_through || ' ' || pruned_through FROM outbox_progress",
        "SELECT group_concat(action) FROM txbox_audit", "SELECT value FROM txbox_meta WHERE name = 'incarnation'",
        "SELECT value FROM txbox_meta WHERE name = 'removed_rows'"}) {
    text += store.app.text(question).value_or("-") + "; ";
  }
  return text;
}

}  // namespace

TEST_CASE("a process killed in any write leaves all of it or nothing, and the same call succeeds afterwards") {
  RelayStore store;
  store.add("orders", "k", 6);
  store.relay.reset();
  struct Write {
    const char* action;
    const char* failpoint;
    bool written;
  };
  for (const Write& write :
       {Write{"mark", "marker:after-receipts", false}, Write{"mark", "marker:before-commit", false},
        Write{"mark", "marker:after-commit", true}, Write{"park", "tools:before-commit", false},
        Write{"release", "release:before-commit", false}, Write{"prune", "prune:before-commit", false},
        Write{"adopt", "adopt:before-commit", false}}) {
    const std::string failpoint = write.failpoint;
    CAPTURE(failpoint);
    const std::string before = notes_of(store);
    REQUIRE(killed(store.path, write.action, write.failpoint));
    const std::string after = notes_of(store);
    CHECK((after != before) == write.written);
    // The next kill of a marking needs one that is still to be done.
    if (std::string(write.action) == "mark" && !write.written) continue;
    CHECK_FALSE(killed(store.path, write.action, ""));
    CHECK((notes_of(store) == after) == write.written);
  }
  CHECK(notes_of(store) == "1,3,5,6; 6; 1parked,3parked,5ready; 6 4; park,park,adopt; 2; 2; ");
  RelaySide relay(store.path);
  CHECK(relay.read(0).size() == 4);
}
