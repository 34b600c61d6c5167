#include "relay/engine/wal_complaint.hpp"

#include <doctest/doctest.h>

namespace txbox::relay {

using namespace std::chrono_literals;
using Outcome = store::WalCheckpoint::Outcome;

namespace {
constexpr std::int64_t kLarge = store::WalCheckpoint::kWalBytesWanted + 1;
constexpr SteadyTime kStart{1h};
}  // namespace

TEST_CASE("a reader that pins the WAL is named after half a minute, and once a half minute from then on") {
  WalComplaint complaint;
  CHECK_FALSE(complaint.after({Outcome::pinned, kLarge}, kStart));
  CHECK_FALSE(complaint.after({Outcome::pinned, kLarge}, kStart + 29s));
  const auto words = complaint.after({Outcome::pinned, kLarge}, kStart + 31s);
  REQUIRE(words);
  CHECK(words->find("a reader keeps a transaction open") != std::string::npos);
  CHECK(words->find(std::to_string(kLarge)) != std::string::npos);
  CHECK_FALSE(complaint.after({Outcome::pinned, kLarge}, kStart + 60s));
  CHECK(complaint.after({Outcome::pinned, kLarge}, kStart + 61s));
}

TEST_CASE("a WAL that writers keep busy is not blamed on a reader") {
  WalComplaint complaint;
  CHECK_FALSE(complaint.after({Outcome::busy, kLarge}, kStart));
  const auto words = complaint.after({Outcome::busy, kLarge}, kStart + 30s);
  REQUIRE(words);
  CHECK(words->find("reader") == std::string::npos);
}

TEST_CASE("a WAL that shrank, by whomever, begins anew, and waiting for the next try says nothing") {
  WalComplaint complaint;
  CHECK_FALSE(complaint.after({Outcome::pinned, kLarge}, kStart));
  CHECK_FALSE(complaint.after({Outcome::not_due, kLarge}, kStart + 40s));
  CHECK_FALSE(complaint.after({Outcome::not_due, 0}, kStart + 41s));
  CHECK_FALSE(complaint.after({Outcome::pinned, kLarge}, kStart + 42s));
  CHECK_FALSE(complaint.after({Outcome::done, kLarge}, kStart + 70s));
  CHECK_FALSE(complaint.after({Outcome::busy, kLarge}, kStart + 80s));
}

}  // namespace txbox::relay
