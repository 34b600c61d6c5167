#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace txbox::sim {

/// A promise that does not hold. Ends the run.
struct BrokenPromise : std::runtime_error {
  using std::runtime_error::runtime_error;
};
[[noreturn]] inline void violated(const std::string& what) { throw BrokenPromise(what); }

using Coordinates = std::pair<std::int32_t, std::int64_t>;  ///< Partition and offset.

enum class Claimed : std::uint8_t { no, applied, parked };

/// Everything in the consumers' database, by value: a snapshot is a copy.
struct Database {
  struct Row {
    bool there = false;
    std::int64_t next = 0;
    bool clean = false;
    std::optional<std::int64_t> reset_to;
    std::int64_t assignment = 0;
    int resets_followed = 0;
  };
  struct Tries {
    int started = 0;
    int failed = 0;
    std::int64_t next_try_at_ms = 0;
  };
  std::vector<Row> rows;
  std::vector<Claimed> claims;      ///< By event.
  std::vector<std::uint8_t> ended;  ///< By event: applied or given up, and never forgotten, as claims are.
  std::vector<int> effects;
  std::vector<int> dead;
  std::set<Coordinates> dead_without_id;
  std::map<Coordinates, Tries> tries;
};

/// The file: one writer at a time, commits that are durable or not yet.
class ModelDatabase {
 public:
  ModelDatabase(std::int32_t partitions, bool full_sync) : full_sync_(full_sync) {
    now_.rows.resize(static_cast<std::size_t>(partitions));
    durable_ = now_;
  }

  [[nodiscard]] const Database& now() const { return now_; }
  [[nodiscard]] const Database& durable() const { return full_sync_ ? now_ : durable_; }
  void add_event();

  [[nodiscard]] bool locked() const { return holder_ != kNobody; }
  /// False: somebody else has the lock.
  bool begin(int holder);
  [[nodiscard]] Database& open(int holder);
  void commit(int holder);
  void roll_back(int holder);
  /// Whatever this process had open is gone.
  void crash(int holder) { roll_back(holder); }
  void barrier() { catch_up(); }
  /// Commits since the barrier: the first `kept` of them survive.
  void power_cut(std::uint64_t random);
  void restore(const Database& copy);

  static constexpr int kNobody = -1;
  static constexpr int kApplication = -2;

 private:
  void catch_up();

  bool full_sync_;
  int holder_ = kNobody;
  Database now_;
  Database work_;
  Database durable_;
  std::vector<Database> since_barrier_;
};

}  // namespace txbox::sim
