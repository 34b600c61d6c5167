#pragma once

#include "relay/demo/narrator.hpp"
#include "relay/demo/outcome.hpp"

namespace txbox::relay::demo {

/// The last page of the story: the balance line by line, the verdict, and with `--json` the same as one object on
/// stdout.
void tell_outcome(Narrator& narrator, const Outcome& outcome);

/// The object that `--json` prints.
[[nodiscard]] std::string to_json(const Outcome& outcome);

}  // namespace txbox::relay::demo
