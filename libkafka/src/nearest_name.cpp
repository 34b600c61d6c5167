#include "nearest_name.hpp"

#include <algorithm>
#include <cstddef>

namespace txbox::kafka {
namespace {

/// Levenshtein's distance with one row of the table kept.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t column = 0; column <= right.size(); ++column) row[column] = column;
  for (std::size_t line = 1; line <= left.size(); ++line) {
    std::size_t diagonal = row[0];
    row[0] = line;
    for (std::size_t column = 1; column <= right.size(); ++column) {
      const std::size_t above = row[column];
      const std::size_t replaced = diagonal + (left[line - 1] == right[column - 1] ? 0 : 1);
      row[column] = std::min({above + 1, row[column - 1] + 1, replaced});
      diagonal = above;
    }
  }
  return row[right.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string* nearest = nullptr;
  // More than half of the letters wrong is another word, not a slip.
  std::size_t nearest_distance = name.size() / 2 + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < nearest_distance) {
      nearest = &candidate;
      nearest_distance = distance;
    }
  }
  return nearest != nullptr ? *nearest : std::string();
}

}  // namespace txbox::kafka
