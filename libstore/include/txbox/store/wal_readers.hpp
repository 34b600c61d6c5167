#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <txbox/store/connection.hpp>

namespace txbox::store {

/// A process that reads an old snapshot: as long as it does, no checkpoint copies what was committed after it, and the
/// WAL grows.
struct WalReader {
  std::int64_t pid = 0;
  std::string program;  ///< As the kernel names it; empty where it does not say.
  bool is_us = false;   ///< A statement of this very process.
  std::int64_t pinned_bytes = 0;

  bool operator==(const WalReader&) const = default;
};

/// Less is everyday life: a transaction of some milliseconds beside a fast writer.
inline constexpr std::int64_t kPinnedBytesWorthTelling = 1 << 20;

/// The processes that pin at least so much of the WAL now, the worst first. The kernel names the holders of SQLite's
/// read locks; what they read is in the wal-index, which SQLite has mapped (https://sqlite.org/walformat.html). Nothing
/// is opened, locked or written. Processes of other containers cannot be seen.
/// REQUIRES: the connection has read from its file. Errors: none; what cannot be found out is not there.
[[nodiscard]] std::vector<WalReader> wal_readers(const Connection& connection,
                                                 std::int64_t least_bytes = kPinnedBytesWorthTelling);

/// Those that still read the same a moment later, where there are any at first.
[[nodiscard]] std::vector<WalReader> lasting_wal_readers(const Connection& connection);

/// For people: "python3 (pid 4711) keeps a transaction open".
[[nodiscard]] std::string text_of(const WalReader& reader);

}  // namespace txbox::store
