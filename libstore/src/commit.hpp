#pragma once

struct sqlite3;

namespace txbox::store {

/// COMMIT. Throws busy (the transaction is still open), corrupt (an I/O error) or commit_unknown: after the last two it
/// may have happened.
void commit_transaction(sqlite3* db);

}  // namespace txbox::store
