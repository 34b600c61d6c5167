#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace txbox::relay {

/// How many rows of one database were published, by topic's number, in the order in which the topics were first seen.
/// Only the first few have a count of their own, so that whoever writes to ever new topics fills nobody's memory; which
/// they are does not change, since a count that is shown must never fall. Single-threaded.
class PublishedTopics {
 public:
  static constexpr std::size_t kMost = 50;

  void add(std::uint32_t topic) {
    // Rows of one topic come in runs.
    if (last_ >= counts_.size() || counts_[last_].first != topic) {
      const auto found =
          std::find_if(counts_.begin(), counts_.end(), [topic](const auto& count) { return count.first == topic; });
      if (found == counts_.end() && counts_.size() == kMost) {
        ++others_;
        return;
      }
      last_ = static_cast<std::size_t>(found - counts_.begin());
      if (found == counts_.end()) counts_.emplace_back(topic, 0);
    }
    ++counts_[last_].second;
  }

  [[nodiscard]] const std::vector<std::pair<std::uint32_t, std::int64_t>>& counts() const noexcept { return counts_; }
  [[nodiscard]] std::int64_t others() const noexcept { return others_; }

 private:
  std::vector<std::pair<std::uint32_t, std::int64_t>> counts_;
  std::size_t last_ = 0;
  std::int64_t others_ = 0;
};

}  // namespace txbox::relay
