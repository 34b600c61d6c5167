#include <string>

#include <doctest/doctest.h>

#include <txbox/store/schema.hpp>

#include "support/app_database.hpp"
#include "support/killed_child.hpp"
#include "support/temp_dir.hpp"

using txbox::test::AppDatabase;
using txbox::test::TempDir;

namespace {

/// All that a consumer may change, as one text.
std::string state_of(AppDatabase& app) {
  std::string text;
  for (const char* question :
       {"SELECT count(*) FROM inbox_cluster", "SELECT group_concat(event_id || parked) FROM inbox",
        "SELECT group_concat(x) FROM effect", "SELECT next_offset || clean || assignment FROM inbox_offsets",
        "SELECT group_concat(offset || ':' || started) FROM inbox_attempts",
        "SELECT group_concat(offset) FROM inbox_parked"}) {
    text += app.text(question).value_or("-") + "; ";
  }
  return text;
}

}  // namespace

TEST_CASE("a consumer killed in any write leaves all of it or nothing, and its next life goes on from there") {
  const TempDir dir;
  const std::string path = dir.file("billing.db");
  AppDatabase app(path);
  txbox::store::install(app, {});
  app.run("CREATE TABLE effect(x)");
  struct Step {
    const char* action;
    const char* failpoint;  ///< Empty: it ends well.
    const char* after;
  };
  const std::string nothing = "0; -; -; -; -; -; ";
  REQUIRE(state_of(app) == nothing);
  for (const Step& step : {
           Step{"take", "inbox:cluster-before-commit", "0; -; -; -; -; -; "},
           Step{"take", "inbox:take-before-commit", "1; -; -; -; -; -; "},
           Step{"take", "", "1; -; -; 1001; -; -; "},
           Step{"consume", "inbox:claim-message", "1; -; -; 1001; -; -; "},
           Step{"consume", "inbox:claim-message=2", "1; -; -; 1001; -; -; "},
           Step{"consume", "inbox:parked", "1; -; -; 1001; -; -; "},
           Step{"consume", "inbox:started", "1; -; -; 1001; -; -; "},
           Step{"consume", "inbox:before-commit", "1; -; -; 1001; -; -; "},
           Step{"consume", "inbox:after-commit", "1; applied0,parked1; applied; 1201; 12:1; 11; "},
           Step{"give up", "inbox:give-up-before-commit", "1; applied0,parked1; applied; 1201; 12:1; 11; "},
           Step{"give up", "", "1; applied0,parked1; applied; 1211; -; 11; "},
       }) {
    CAPTURE(step.action);
    CAPTURE(step.failpoint);
    const bool killed =
        txbox::test::killed_at({.program = STORE_CRASH_CHILD, .file = path, .action = step.action}, step.failpoint);
    CHECK(killed == (*step.failpoint != '\0'));
    CHECK(state_of(app) == step.after);
  }
}
