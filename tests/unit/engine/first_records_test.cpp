#include <doctest/doctest.h>

#include "relay/engine/first_records.hpp"

using namespace std::chrono_literals;
using txbox::Bytes;
using txbox::SteadyTime;
using txbox::relay::FirstRecords;
using txbox::relay::KeptRecord;
using Verdict = txbox::relay::FirstRecords::Verdict;

namespace {

constexpr SteadyTime kStart{1h};

KeptRecord record(const std::string& topic, std::int32_t partition, std::uint64_t tag) {
  return {topic, partition, Bytes("key"), Bytes(nullptr), {{"id", Bytes("")}, {"none", Bytes(nullptr)}}, tag};
}

}  // namespace

TEST_CASE("the first record to a partition goes alone, what follows waits for its acknowledgement in order") {
  FirstRecords firsts;
  CHECK(firsts.judge("orders", 0, 1, kStart) == Verdict::send);
  for (const std::uint64_t tag : {2, 3}) {
    CHECK(firsts.judge("orders", 0, tag, kStart) == Verdict::keep);
    firsts.keep(record("orders", 0, tag));
  }
  CHECK(firsts.judge("orders", 1, 4, kStart) == Verdict::send);
  CHECK(firsts.judge("invoices", 0, 5, kStart) == Verdict::send);
  CHECK(firsts.answered(2).empty());
  const auto kept = firsts.answered(1);
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].tag == 2);
  CHECK(kept[1].tag == 3);
  CHECK(firsts.judge("orders", 0, 6, kStart) == Verdict::send);
  CHECK(firsts.waiting());
  CHECK(firsts.answered(4).empty());
  CHECK(firsts.answered(5).empty());
  CHECK_FALSE(firsts.waiting());
}

TEST_CASE("a kept record is whole: null, empty and bytes stay apart") {
  const KeptRecord kept = record("orders", 0, 1);
  CHECK(kept.payload.is_null());
  const auto headers = kept.header_views();
  REQUIRE(headers.size() == 2);
  CHECK(headers[0].name == "id");
  CHECK_FALSE(headers[0].value.is_null());
  CHECK(headers[1].value.is_null());
}

TEST_CASE("a partition that was quiet for a while begins anew, and so does a new producer") {
  FirstRecords firsts;
  CHECK(firsts.judge("orders", 0, 1, kStart) == Verdict::send);
  CHECK(firsts.answered(1).empty());
  CHECK(firsts.judge("orders", 0, 2, kStart + 59s) == Verdict::send);
  CHECK_FALSE(firsts.waiting());
  CHECK(firsts.judge("orders", 0, 3, kStart + 5min) == Verdict::send);
  CHECK(firsts.judge("orders", 0, 4, kStart + 5min) == Verdict::keep);
  firsts.keep(record("orders", 0, 4));
  firsts.clear();
  CHECK_FALSE(firsts.waiting());
  CHECK(firsts.judge("orders", 0, 5, kStart + 5min) == Verdict::send);
  CHECK(firsts.answered(3).empty());
}
