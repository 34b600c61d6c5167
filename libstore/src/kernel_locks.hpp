#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

namespace txbox::store {

/// A lock as proc_locks(5) tells of it. Asking this way opens nothing: closing a descriptor of a database's file would
/// drop SQLite's own locks.
struct KernelLock {
  enum class Kind : std::uint8_t { flock, posix };
  Kind kind = Kind::posix;
  bool exclusive = false;
  std::int64_t pid = 0;
  std::int64_t first_byte = 0;
  std::int64_t last_byte = 0;  ///< The largest number there is where the lock has no end.
};

/// Who holds what on that file. A process of another container is not among them: the kernel leaves out whom this
/// process could not name.
[[nodiscard]] std::vector<KernelLock> kernel_locks_on(const struct stat& file);

}  // namespace txbox::store
