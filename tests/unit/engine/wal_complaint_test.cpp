#include "relay/engine/wal_complaint.hpp"

#include <doctest/doctest.h>

namespace txbox::relay {

using namespace std::chrono_literals;
using Outcome = store::WalCheckpoint::Outcome;

namespace {
constexpr std::int64_t kLarge = store::WalCheckpoint::kWalBytesWanted + 1;
constexpr SteadyTime kStart{1h};
const store::WalReader kReport{.pid = 4711, .program = "report", .is_us = false, .pinned_bytes = 2'000'000};

bool contains(const std::optional<std::string>& text, const std::string& part) {
  return text && text->find(part) != std::string::npos;
}
}  // namespace

TEST_CASE("a reader that pins the WAL is named after ten seconds, and once a minute from then on") {
  WalComplaint complaint;
  complaint.tried({Outcome::pinned, kLarge}, kStart);
  CHECK_FALSE(complaint.look({kReport}, kStart + 1s));
  CHECK(complaint.pinned_since() == kStart + 1s);
  CHECK_FALSE(complaint.look({kReport}, kStart + 9s));
  // Between two checkpoints, too.
  complaint.tried({Outcome::not_due, kLarge + 5}, kStart + 11s);
  const auto words = complaint.look({kReport}, kStart + 11s);
  CHECK(contains(words, "report (pid 4711) keeps a transaction open, for 10 s or longer, and pins 2000000 bytes"));
  CHECK(contains(words, std::to_string(kLarge + 5)));
  CHECK_FALSE(complaint.look({kReport}, kStart + 70s));
  CHECK(complaint.look({kReport}, kStart + 71s));
}

TEST_CASE("a reader of the relay itself, and one that cannot be seen, are said to be that") {
  WalComplaint complaint;
  complaint.tried({Outcome::pinned, kLarge}, kStart);
  store::WalReader own = kReport;
  own.is_us = true;
  CHECK(contains(complaint.look({own}, kStart + 10s), "of this relay itself (pid 4711)"));
  WalComplaint unseen;
  unseen.tried({Outcome::pinned, kLarge}, kStart);
  CHECK(contains(unseen.look({}, kStart + 10s), "cannot be seen from here"));
  CHECK(unseen.pinned_since() == kStart);
}

TEST_CASE("readers that take turns are each as old as their own snapshot") {
  WalComplaint complaint;
  complaint.tried({Outcome::pinned, kLarge}, kStart);
  CHECK_FALSE(complaint.look({kReport}, kStart));
  store::WalReader other = kReport;
  other.pid = 4712;
  CHECK(contains(complaint.look({other}, kStart + 12s), "(pid 4712) keeps a transaction open, for 0 s"));
  CHECK(complaint.pinned_since() == kStart + 12s);
}

TEST_CASE("a WAL that writers keep busy is not blamed on a reader") {
  WalComplaint complaint;
  complaint.tried({Outcome::busy, kLarge}, kStart);
  const auto words = complaint.look({}, kStart + 30s);
  REQUIRE(words);
  CHECK_FALSE(contains(words, "reader"));
  CHECK_FALSE(complaint.pinned_since());
}

TEST_CASE("a WAL that shrank, by whomever, begins anew, and waiting for the first try says nothing") {
  WalComplaint complaint;
  complaint.tried({Outcome::not_due, kLarge}, kStart);
  CHECK_FALSE(complaint.look({kReport}, kStart + 40s));
  complaint.tried({Outcome::pinned, kLarge}, kStart + 40s);
  complaint.tried({Outcome::not_due, 0}, kStart + 41s);
  CHECK_FALSE(complaint.look({}, kStart + 60s));
  CHECK_FALSE(complaint.pinned_since());
  complaint.tried({Outcome::pinned, kLarge}, kStart + 62s);
  complaint.tried({Outcome::done, kLarge}, kStart + 70s);
  CHECK_FALSE(complaint.look({}, kStart + 80s));
}

}  // namespace txbox::relay
