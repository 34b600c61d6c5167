#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace txbox::inbox::consumer {

/// Longest text of a handler that is kept in a header, a column or a log line. It is the application's own and may
/// quote anything, so that it is bounded.
inline constexpr std::size_t kLongestReason = 500;

/// Fit to be kept and shown: valid UTF-8 of one line, at most kLongestReason bytes, cut between characters.
[[nodiscard]] std::string tidy_reason(std::string_view text);

/// What a handler threw, as tidy_reason: what() of a std::exception, or that it was something else. Never throws what
/// it was given.
[[nodiscard]] std::string reason_of(const std::exception_ptr& thrown);

}  // namespace txbox::inbox::consumer
