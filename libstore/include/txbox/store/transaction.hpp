#pragma once

struct sqlite3;

namespace txbox::store {

/// BEGIN IMMEDIATE ... COMMIT on a connection of our own. The destructor rolls back what was not
/// committed, once, and swallows the error since the connection is then in autocommit anyway.
class WriteTransaction {
 public:
  explicit WriteTransaction(sqlite3* db);  ///< Throws busy when the lock was not free within the deadline.
  WriteTransaction(const WriteTransaction&) = delete;
  WriteTransaction& operator=(const WriteTransaction&) = delete;
  ~WriteTransaction();
  /// Throws busy, corrupt (an I/O error) or commit_unknown. After the last two look at the data before doing it again.
  void commit();

 private:
  sqlite3* db_;
  bool open_ = true;
};

/// BEGIN (deferred) ... so that several reads see one snapshot. Ends in the destructor; nothing waits inside it.
class ReadTransaction {
 public:
  explicit ReadTransaction(sqlite3* db);
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;
  ~ReadTransaction();

 private:
  sqlite3* db_;
};

}  // namespace txbox::store
