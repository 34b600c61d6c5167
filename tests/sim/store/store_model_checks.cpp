#include <txbox/store/outbox_queries.hpp>
#include <txbox/store/statement.hpp>
#include <txbox/store/transaction.hpp>

#include "sim/store/store_model.hpp"

namespace txbox::test {

using store::Statement;

namespace {

std::string row_text(std::int64_t id) { return "row " + std::to_string(id); }

}  // namespace

StoreModel::Picture StoreModel::picture() {
  Picture now;
  const store::ReadTransaction snapshot(*app_);
  auto& [rows, receipts, held, progress] = *questions_;
  while (rows.step()) now.rows.insert(rows.column_int64(0));
  while (receipts.step()) now.receipts.insert(receipts.column_int64(0));
  while (held.step()) now.held[held.column_int64(0)] = held.column_text(1);
  while (progress.step()) now.settled_through = progress.column_int64(0);
  return now;
}

std::string StoreModel::check() {
  const Picture now = picture();
  std::string broken = check_rows(now);
  if (broken.empty()) broken = check_change(last_, now);
  if (broken.empty()) broken = check_order();
  last_ = now;
  return broken;
}

std::string StoreModel::check_rows(const Picture& now) const {
  const std::set<std::int64_t> arrived(broker_.arrived.begin(), broker_.arrived.end());
  for (const std::int64_t id : now.rows) {
    const bool sent = now.receipts.contains(id);
    const bool held = now.held.contains(id);
    if (!rows_.contains(id)) return row_text(id) + " was rolled back and is there (P1)";
    if (id <= now.settled_through && !sent && !held) return row_text(id) + " is settled without a note (I1)";
    if (sent && held) return row_text(id) + " has a receipt and is held (I3)";
    if (sent && !arrived.contains(id)) return row_text(id) + " has a receipt and never arrived";
  }
  for (const std::int64_t id : now.receipts) {
    if (!now.rows.contains(id)) return "the receipt of " + row_text(id) + " has no row";
  }
  for (const auto& [id, row] : rows_) {
    const bool gone = !now.rows.contains(id);
    if (gone && !arrived.contains(id) && !row.skipped_once) return row_text(id) + " is gone and was never sent (P2)";
  }
  const std::int64_t newest = now.rows.empty() ? 0 : *now.rows.rbegin();
  if (now.settled_through > newest) return "settled_through is above the newest row (I6)";
  return {};
}

std::string StoreModel::check_change(const Picture& before, const Picture& after) const {
  if (after.settled_through < before.settled_through) return "settled_through fell (I5)";
  for (const auto& [id, state] : before.held) {
    if (after.held.contains(id) || after.receipts.contains(id)) continue;
    if (state == "skipped" && !after.rows.contains(id)) continue;
    return row_text(id) + " left outbox_held without a receipt (I2)";
  }
  for (const std::int64_t id : before.receipts) {
    if (!after.receipts.contains(id) && after.rows.contains(id)) return row_text(id) + " lost its receipt";
  }
  return {};
}

std::string StoreModel::check_order() const {
  std::map<store::Lane, std::int64_t> last_of;
  std::set<std::int64_t> seen;
  for (const std::int64_t id : broker_.arrived) {
    const Row& row = rows_.at(id);
    if (!row.lane || row.skipped_once || !seen.insert(id).second) continue;
    std::int64_t& last = last_of[*row.lane];
    if (id < last) return row_text(id) + " arrived first after " + row_text(last) + " of its lane (P4)";
    last = id;
  }
  return {};
}

std::string StoreModel::check_counts() {
  const store::OutboxCounts counts = store::count_outbox(*app_);
  std::map<std::string, std::int64_t> truth;
  Statement states(*app_, "SELECT state, count(*) FROM outbox_status GROUP BY state");
  while (states.step()) truth[std::string(states.column_text(0))] = states.column_int64(1);
  const std::map<std::string, std::int64_t> told{{"ready", counts.ready},     {"scheduled", counts.scheduled},
                                                 {"sent", counts.sent},       {"parked", counts.parked},
                                                 {"blocked", counts.blocked}, {"waiting", counts.waiting},
                                                 {"skipped", counts.skipped}};
  for (const auto& [state, count] : told) {
    if (truth[state] == count) continue;
    return state + ": " + std::to_string(count) + " rows told, " + std::to_string(truth[state]) + " there";
  }
  return {};
}

std::string StoreModel::all_settled() {
  const Picture now = picture();
  for (const auto& [id, row] : rows_) {
    const auto held = now.held.find(id);
    const bool skipped = held != now.held.end() && held->second == "skipped";
    if (now.receipts.contains(id) || !now.rows.contains(id) || skipped) continue;
    return row_text(id) + " is neither sent nor skipped";
  }
  return {};
}

}  // namespace txbox::test
