#pragma once

#include <exception>
#include <optional>
#include <string>

#include <txbox/base/error.hpp>

struct sqlite3;

namespace txbox::inbox::consumer {

/// Whether the same work may go well a little later without anybody's help in the program: a lock, a full disk.
[[nodiscard]] bool passes_by_itself(ErrorCode code) noexcept;

/// The same for a transaction that does no harm when it is done twice: its COMMIT may also have failed without anybody
/// knowing what became of it, as on a full disk.
[[nodiscard]] bool may_be_done_again(ErrorCode code) noexcept;

/// Whether what a handler threw (null: nothing) is the database's trouble and not the message's: then it costs no
/// attempt. Its reason in SQLite's words, never in the handler's. Throws corrupt where the file is damaged.
[[nodiscard]] std::optional<std::string> trouble_of_database(sqlite3* db, const std::exception_ptr& thrown);

/// Whether a foreign key is broken whose check was deferred, so that the open transaction cannot be committed.
[[nodiscard]] bool breaks_a_foreign_key(sqlite3* db) noexcept;

}  // namespace txbox::inbox::consumer
