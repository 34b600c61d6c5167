#include "relay/engine/witness_check.hpp"

namespace txbox::relay {

WitnessVerdict judge_witness(const std::optional<store::Witness>& witness,
                             const store::StoreIdentity& identity) noexcept {
  if (!witness) return WitnessVerdict::first_run;
  if (witness->incarnation > identity.incarnation) return WitnessVerdict::older_copy;
  return witness->incarnation < identity.incarnation ? WitnessVerdict::adopted : WitnessVerdict::same;
}

}  // namespace txbox::relay
