#include "free_pages.hpp"

#include <algorithm>
#include <string>

#include "outbox_sql.hpp"

namespace txbox::store {

namespace {

constexpr std::int64_t kIncremental = 2;  // The value of PRAGMA auto_vacuum.
// A file that is written to would take the last free pages right away, and growing again costs more than keeping them.
constexpr std::int64_t kLeftAtLeast = 64;
constexpr std::int64_t kLeftPart = 20;

std::int64_t number(Statement& pragma) {
  const ResetGuard guard(pragma);
  return pragma.step() ? pragma.column_int64(0) : 0;
}

}  // namespace

bool FreePages::given_back(sqlite3* db) {
  Statement mode(db, sql::kAutoVacuum);
  return number(mode) == kIncremental;
}

FreePages::FreePages(sqlite3* db)
    : db_(db), may_shrink_(given_back(db)), free_(db, sql::kFreePages), all_(db, sql::kAllPages) {}

std::int64_t FreePages::to_give_back() {
  if (!may_shrink_) return 0;
  const std::int64_t left = std::max(kLeftAtLeast, number(all_) / kLeftPart);
  return std::max<std::int64_t>(0, number(free_) - left);
}

void FreePages::give_back(std::int64_t pages) {
  // Its argument cannot be bound. One step of it gives back one page.
  Statement vacuum(db_, std::string(sql::kIncrementalVacuum) + "(" + std::to_string(pages) + ")");
  while (vacuum.step()) {
  }
}

}  // namespace txbox::store
