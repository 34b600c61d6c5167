#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace txbox::store {

/// Wakes when something may have been committed: inotify on the folder of the database (changes of `-wal`).
/// An early, late, doubled or missing wake is always possible; correctness never rests on it. Single-threaded.
class ChangeWatch {
 public:
  explicit ChangeWatch(const std::string& database_path);
  ~ChangeWatch();
  ChangeWatch(const ChangeWatch&) = delete;
  ChangeWatch& operator=(const ChangeWatch&) = delete;

  /// For poll(2) together with other descriptors; -1 where inotify is not to be had (then only timers wake).
  [[nodiscard]] int descriptor() const noexcept;
  /// Reads away what is there; true when the database's files were touched.
  bool drain();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::store
