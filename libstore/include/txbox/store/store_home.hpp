#pragma once

#include <txbox/store/connection.hpp>
#include <txbox/store/file_guard.hpp>

namespace txbox::store {

enum class HomeVerdict {
  first_run,  ///< No relay has run on this store; it was recorded now.
  same,       ///< At least one of device, inode and machine is as recorded.
  copied,     ///< All three differ: a copy, with the uuid and the unsent rows of its original. Ask for `adopt`.
};

/// Compares where the file lies with what txbox_meta says of its first run, and records it there where nothing is
/// said. A copy carries the record along, which is why it stands in the file and not beside it. Errors: busy,
/// disk_full, corrupt.
[[nodiscard]] HomeVerdict check_home(Connection& connection, const FileIdentity& here);

}  // namespace txbox::store
