#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include <txbox/store/statement.hpp>

#include "inbox_query_sql.hpp"

namespace txbox::store {

/// Kafka's names of the numbers under which the inbox keeps clusters. A file has one or two; what is remembered is
/// bounded all the same.
class ClusterNames {
 public:
  explicit ClusterNames(sqlite3* db) : name_(db, sql::kNameOfCluster) {}

  std::optional<std::string> of(std::optional<std::int64_t> number) {
    if (!number) return std::nullopt;
    if (const auto known = known_.find(*number); known != known_.end()) return known->second;
    if (known_.size() >= kRemembered) known_.clear();
    const ResetGuard guard(name_);
    name_.bind(1, *number);
    std::optional<std::string> name;
    if (name_.step()) name.emplace(name_.column_text(0));
    return known_.emplace(*number, std::move(name)).first->second;
  }

 private:
  static constexpr std::size_t kRemembered = 100;
  Statement name_;
  std::unordered_map<std::int64_t, std::optional<std::string>> known_;
};

}  // namespace txbox::store
