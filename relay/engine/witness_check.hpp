#pragma once

#include <optional>

#include <txbox/store/file_guard.hpp>
#include <txbox/store/schema.hpp>

namespace txbox::relay {

enum class WitnessVerdict {
  first_run,   ///< No witness: a note, not an error.
  same,        ///< Of this incarnation: the row that was read last must still be in the file.
  adopted,     ///< A person made a new incarnation since: the old anchor no longer counts.
  older_copy,  ///< The witness saw a newer incarnation than the file has: restored.
};
/// Compares at start what was left beside the file with what is in it. Pure.
[[nodiscard]] WitnessVerdict judge_witness(const std::optional<store::Witness>& witness,
                                           const store::StoreIdentity& identity) noexcept;

}  // namespace txbox::relay
