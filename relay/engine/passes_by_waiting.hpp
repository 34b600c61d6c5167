#pragma once

#include <txbox/base/error.hpp>

namespace txbox::relay {

/// Another program's lock, or a full disk: the same try may go well later, and nothing is wrong with the file.
[[nodiscard]] inline bool passes_by_waiting(ErrorCode code) noexcept {
  return code == ErrorCode::busy || code == ErrorCode::stale_snapshot || code == ErrorCode::disk_full;
}

}  // namespace txbox::relay
