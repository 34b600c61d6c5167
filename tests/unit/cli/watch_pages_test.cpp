#include "relay/cli/watch_pages.hpp"

#include <unistd.h>

#include <memory>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "relay/cli/watch_status.hpp"

namespace txbox::relay {

namespace {

using Role = FileFigures::Role;
using namespace std::chrono_literals;

FileFigures file(const std::string& db, Role role, bool by_pattern = false) {
  FileFigures figures;
  figures.db = db;
  figures.role = role;
  figures.by_pattern = by_pattern;
  if (role != Role::active) figures.reason = db + ": because";
  return figures;
}

RelayFigures figures_of(std::vector<FileFigures> files, bool connected = true) {
  RelayFigures figures;
  figures.files = std::move(files);
  figures.connected = connected;
  return figures;
}

std::string why_not(const RelayFigures& figures) { return why_not_ready(&figures); }

struct Fixture {
  std::shared_ptr<FigureBoard> board = std::make_shared<FigureBoard>();
  std::shared_ptr<Liveness> liveness = std::make_shared<Liveness>();
  HttpPages pages = watch_pages(board, liveness);
  void put(RelayFigures figures) const { board->put(std::make_shared<const RelayFigures>(std::move(figures))); }
  [[nodiscard]] HttpAnswer ask(const std::string& path) const { return pages.at(path)(); }
};

}  // namespace

TEST_CASE("a relay is ready when it serves a file, waits for none that was named, and a broker has answered") {
  CHECK(why_not_ready(nullptr) == "starting");
  CHECK(why_not(figures_of({})) == "no file is served");
  CHECK(why_not(figures_of({file("a", Role::active)}, false)) == "no broker has answered yet");
  CHECK(why_not(figures_of({file("a", Role::active)})).empty());
  CHECK(why_not(figures_of({file("a", Role::active), file("b", Role::standby)})) == "b: because");
  CHECK(why_not(figures_of({file("a", Role::active), file("b", Role::waiting)})) == "b: because");
}

TEST_CASE("a file that is still being made, or is in doubt, keeps nobody from the others") {
  CHECK(why_not(figures_of({file("a", Role::active), file("b", Role::waiting, true)})).empty());
  CHECK(why_not(figures_of({file("a", Role::active), file("b", Role::ended)})).empty());
  CHECK(why_not(figures_of({file("b", Role::ended)})) == "no file is served");
  CHECK(why_not(figures_of({file("a", Role::active), file("b", Role::standby, true)})) == "b: because");
}

TEST_CASE("a relay that stops is not ready") {
  RelayFigures figures = figures_of({file("a", Role::active)});
  figures.stopping = true;
  CHECK(why_not(figures) == "stopping");
}

TEST_CASE("what is ready answers 200, what is not 503 with the reason") {
  const Fixture fixture;
  CHECK(fixture.ask("/readyz").status == 503);
  CHECK(fixture.ask("/readyz").body == "starting\n");
  fixture.put(figures_of({file("a", Role::active)}));
  CHECK(fixture.ask("/readyz").status == 200);
}

TEST_CASE("a relay lives as long as each of its loops moves, whatever Kafka does") {
  const Fixture fixture;
  const SteadyTime now = system_clock().steady_now();
  fixture.liveness->turned(Loop::runner, now);
  fixture.liveness->turned(Loop::store_worker, now);
  CHECK(fixture.ask("/livez").status == 200);
  fixture.liveness->turned(Loop::store_worker, now - kHungAfter - 1s);
  CHECK(fixture.ask("/livez").status == 503);
  CHECK(fixture.ask("/livez").body.find("has not moved for 31 s") != std::string::npos);
  fixture.liveness->rests(Loop::store_worker);
  CHECK(fixture.ask("/livez").status == 200);
}

TEST_CASE("every page can be asked for before anything is known") {
  const Fixture fixture;
  for (const auto& [path, page] : fixture.pages) {
    CAPTURE(path);
    CHECK_FALSE(page().body.empty());
  }
  CHECK(nlohmann::json::parse(fixture.ask("/status.json").body)["role"] == "none");
}

TEST_CASE("the status has the process and its files, with counts under the names of `status --json`") {
  RelayFigures figures = figures_of({file("a.db", Role::active), file("b.db", Role::standby)});
  figures.files[0].counts = store::OutboxCounts{.ready = 2, .sent = 7, .oldest_ready_created_at_ms = 500};
  figures.files[0].counted.published = {{"orders", 3}, {"bills", 4}};
  figures.trouble = TroubleFigures{BrokerTrouble::auth_failed, "Kafka refuses the credentials", {}};
  figures.counted.paused_topics.push_back({"gone", "Unknown topic"});
  const auto json = nlohmann::json::parse(watch_status_as_json(figures, WallTime(2s)));
  CHECK(json["pid"] == ::getpid());
  CHECK(json["role"] == "mixed");
  CHECK(json["broker_trouble"][0]["kind"] == "credentials");
  CHECK(json["topics_paused"][0]["topic"] == "gone");
  CHECK(json["oldest_unacknowledged_seconds"].is_null());
  REQUIRE(json["files"].size() == 2);
  CHECK(json["files"][0]["ready"] == 2);
  CHECK(json["files"][0]["oldest_ready_seconds"] == 1.5);
  CHECK(json["files"][0]["published"] == 7);
  CHECK(json["files"][1]["reason"] == "b.db: because");
  CHECK_FALSE(json["files"][1].contains("ready"));
}

TEST_CASE("no path can put anything into the page for people") {
  RelayFigures figures = figures_of({file("<script>\x1b'\"&.db", Role::standby)});
  const std::string html = watch_status_as_html(figures, {});
  CHECK(html.find("<script>") == std::string::npos);
  CHECK(html.find("&lt;script&gt;\\x1b&#39;&quot;&amp;.db") != std::string::npos);
}

}  // namespace txbox::relay
