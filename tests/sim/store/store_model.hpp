#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <txbox/base/random.hpp>
#include <txbox/store/outbox_prune.hpp>
#include <txbox/store/outbox_tools.hpp>
#include <txbox/store/statement.hpp>

#include "sim/store/model_broker.hpp"
#include "sim/store/model_relay.hpp"
#include "support/app_database.hpp"
#include "support/temp_dir.hpp"

namespace txbox::test {

/// One random history of an outbox: an application inserts, up to two relays work and crash at any point, a person
/// parks, retries and skips, retention deletes. All through libstore on a real file. After each step the invariants
/// of the store are checked.
class StoreModel {
 public:
  /// `prepared` is an installed, empty file, copied because installing costs more than a history.
  StoreModel(const std::string& prepared, std::uint64_t seed);

  /// Takes random steps, then lets everything heal and drains. What was broken; empty for nothing.
  std::string run(int steps);

 private:
  struct Row {
    std::optional<store::Lane> lane;  ///< Of rows that promise an order.
    bool skipped_once = false;        ///< By a person: it has no place in the order any more.
  };
  /// What the file says, read anew after each step.
  struct Picture {
    std::set<std::int64_t> rows;
    std::set<std::int64_t> receipts;
    std::map<std::int64_t, std::string> held;
    std::int64_t settled_through = 0;
  };

  /// Prepared once: parsing is most of what a question to a small file costs.
  struct Questions {
    explicit Questions(sqlite3* db)
        : rows(db, "SELECT id FROM outbox"),
          receipts(db, "SELECT id FROM outbox_sent"),
          held(db, "SELECT id, state FROM outbox_held"),
          progress(db, "SELECT settled_through FROM outbox_progress") {}
    store::Statement rows;
    store::Statement receipts;
    store::Statement held;
    store::Statement progress;
  };

  void step();
  void insert();
  void act_as_person();
  void apply(store::ToolAction action, std::int64_t id);
  void prune();
  void start_relay(std::size_t place);
  void change_the_world();
  void relay_step(ModelRelay& relay);
  void drain();

  [[nodiscard]] Picture picture();
  std::string check();
  [[nodiscard]] std::string check_rows(const Picture& now) const;
  [[nodiscard]] std::string check_change(const Picture& before, const Picture& after) const;
  [[nodiscard]] std::string check_order() const;
  std::string check_counts();
  std::string all_settled();

  TempDir dir_;
  std::string path_;
  SeededRandom random_;
  std::unique_ptr<AppDatabase> app_;
  std::unique_ptr<Questions> questions_;
  std::unique_ptr<store::Connection> tool_;
  std::unique_ptr<store::OutboxPruner> pruner_;
  ModelBroker broker_;
  std::unique_ptr<ModelRelay> relays_[2];
  std::map<std::int64_t, Row> rows_;
  std::int64_t now_ms_ = 1'800'000'000'000;
  Picture last_;
};

}  // namespace txbox::test
