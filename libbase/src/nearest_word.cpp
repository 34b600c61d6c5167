#include <txbox/base/nearest_word.hpp>

#include <algorithm>
#include <vector>

namespace txbox::base {

namespace {
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}
}  // namespace

std::string nearest_word(std::string_view typed, std::span<const std::string> known) {
  std::string best;
  std::size_t best_distance = 0;
  for (const std::string& word : known) {
    const std::size_t distance = edit_distance(typed, word);
    if (2 * distance > std::max(word.size(), typed.size())) continue;
    if (best.empty() || distance < best_distance) {
      best = word;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace txbox::base
