#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <txbox/store/outbox_tools.hpp>

namespace txbox::relay {

/// How what became of rows is put into words for people and into JSON for programs.

/// parked, retried, skipped.
[[nodiscard]] std::string_view past(store::ToolAction action) noexcept;

/// What became of an event that was named; `id` is empty where there is none of that name.
struct RowAnswer {
  std::string event_id;
  std::optional<std::int64_t> id;
  store::ToolOutcome outcome = store::ToolOutcome::not_found;
};
[[nodiscard]] std::string answer_as_text(store::ToolAction action, const RowAnswer& answer, bool dry_run);
/// `outcome` is a word of ToolOutcome, the same in a dry run.
[[nodiscard]] std::string answer_as_json(store::ToolAction action, const RowAnswer& answer, bool dry_run);

/// What became of a choice by filter, in numbers.
struct ChoiceAnswer {
  store::ToolAction action;
  std::size_t chosen = 0;
  std::size_t changed = 0;
  std::size_t already_sent = 0;
  std::size_t left = 0;  ///< Changed by another since they were chosen.

  void add(store::ToolOutcome outcome) noexcept;
  [[nodiscard]] std::string as_json() const;
};

}  // namespace txbox::relay
