#include "relay/engine/witness_check.hpp"

#include <doctest/doctest.h>

namespace txbox::relay {

namespace {
WitnessVerdict verdict(std::int64_t witnessed, std::int64_t found) {
  store::Witness witness;
  witness.incarnation = witnessed;
  store::StoreIdentity identity;
  identity.incarnation = found;
  return judge_witness(witness, identity);
}
}  // namespace

TEST_CASE("a first run has nothing to compare") { CHECK(judge_witness(std::nullopt, {}) == WitnessVerdict::first_run); }

TEST_CASE("an incarnation that went back is an older copy, and one that rose was adopted") {
  CHECK(verdict(3, 3) == WitnessVerdict::same);
  CHECK(verdict(3, 2) == WitnessVerdict::older_copy);
  CHECK(verdict(3, 4) == WitnessVerdict::adopted);
}

}  // namespace txbox::relay
