#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace txbox::store {

/// Tells which databases may have been committed to, by inotify on their folders: one instance for all of them (a user
/// has 128), one watch a folder. An early, late, doubled or missing wake is always possible; correctness never rests
/// on it. Single-threaded.
class ChangeWatch {
 public:
  using Number = std::uint32_t;  ///< The caller's own for a database.

  ChangeWatch();
  ~ChangeWatch();
  ChangeWatch(const ChangeWatch&) = delete;
  ChangeWatch& operator=(const ChangeWatch&) = delete;

  /// For poll(2) together with other descriptors; -1 where inotify is not to be had (then only timers wake).
  [[nodiscard]] int descriptor() const noexcept;
  /// Watches the database behind this path (a symlink is followed). False where that is not possible.
  bool add(const std::string& database_path, Number number);
  void remove(Number number) noexcept;
  /// Tells Changes::appeared for a new file in this folder. False where that is not possible.
  bool add_folder(const std::string& folder);

  struct Changes {
    std::vector<Number> touched;   ///< The database or its -wal was written to, or more than that happened.
    std::vector<Number> replaced;  ///< The path itself: made, deleted, moved. Also among `touched`.
    bool appeared = false;         ///< A file that is no database's came into a folder of add_folder().
  };
  /// Reads away what is there. Empties `out` first; each number comes once.
  void drain(Changes& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::store
