#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include <txbox/store/schema.hpp>

#include "sim/store/store_model.hpp"

using txbox::test::AppDatabase;
using txbox::test::StoreModel;
using txbox::test::TempDir;

namespace {

struct Seeds {
  std::uint64_t from = 1;
  std::uint64_t count = 0;
};

/// TXBOX_MODEL_SEEDS=FROM:COUNT runs others, and =SEED the one that failed.
Seeds seeds_wanted(std::uint64_t count) {
  const char* text = std::getenv("TXBOX_MODEL_SEEDS");
  if (text == nullptr) return {.from = 1, .count = count};
  const std::string wish(text);
  const auto colon = wish.find(':');
  return {.from = std::stoull(wish), .count = colon == std::string::npos ? 1 : std::stoull(wish.substr(colon + 1))};
}

}  // namespace

TEST_CASE("no interleaving of application, relays, crashes, people and retention loses or reorders a row") {
  const TempDir dir;
  const std::string prepared = dir.file("prepared.db");
  {
    AppDatabase app(prepared);
    txbox::store::install(app, {});
    app.run("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  const Seeds seeds = seeds_wanted(STORE_MODEL_SEEDS);
  for (std::uint64_t seed = seeds.from; seed < seeds.from + seeds.count; ++seed) {
    CAPTURE(seed);
    StoreModel model(prepared, seed);
    const std::string broken = model.run(60);
    REQUIRE(broken == "");
  }
}
