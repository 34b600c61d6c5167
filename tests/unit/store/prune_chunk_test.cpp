#include <chrono>

#include <doctest/doctest.h>

#include <txbox/store/prune_chunk.hpp>

using txbox::store::PruneChunk;
using namespace std::chrono_literals;

namespace {

/// What a chunk comes to where one row costs so much.
std::int64_t settled_size(std::int64_t first, std::chrono::microseconds each) {
  PruneChunk chunk(first);
  for (int step = 0; step < 40; ++step) chunk.took(chunk.size(), each * chunk.size());
  return chunk.size();
}

}  // namespace

TEST_CASE("a chunk comes to hold the lock for about as long as it should") {
  for (const auto each : {3us, 10us, 40us, 300us}) {
    CAPTURE(each.count());
    const std::int64_t wanted = PruneChunk::kTarget / each;
    CHECK(settled_size(100, each) == wanted);
    CHECK(settled_size(2'000, each) == wanted);
  }
}

TEST_CASE("rows that cost more make chunks smaller, and one slow step alone does not") {
  PruneChunk chunk(1'000);
  chunk.took(1'000, 2ms);
  chunk.took(chunk.size(), 10ms);
  CHECK(chunk.size() == 1'000);
  for (int step = 0; step < 3; ++step) chunk.took(chunk.size(), chunk.size() * 100us);
  CHECK(chunk.size() == PruneChunk::kTarget / 100us);
  for (int step = 0; step < 3; ++step) chunk.took(chunk.size(), chunk.size() * 1s);
  CHECK(chunk.size() == PruneChunk::kLeast);
}

TEST_CASE("a step that took far too long is followed by a smaller one at once") {
  PruneChunk chunk(1'000);
  chunk.took(1'000, 2ms);
  chunk.took(1'000, 50ms);
  CHECK(chunk.size() == 500);
}

TEST_CASE("what a transaction costs by itself does not hold chunks down to the least") {
  PruneChunk chunk(PruneChunk::kLeast);
  for (int step = 0; step < 40; ++step) chunk.took(chunk.size(), 300us + 5us * chunk.size());
  CHECK(chunk.size() > 200);
}

TEST_CASE("a chunk grows by half at most, and not after a step that found little") {
  PruneChunk chunk(100);
  chunk.took(100, 1us);
  CHECK(chunk.size() == 150);
  chunk.took(10, 1us);
  CHECK(chunk.size() == 150);
  chunk.took(0, 50ms);
  CHECK(chunk.size() == 150);
  CHECK(settled_size(100, 0us) == PruneChunk::kMost);
}
