#pragma once

namespace txbox::base {
/// Prints the broken invariant to stderr and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;
}  // namespace txbox::base

/// For invariants of our own, on in release too: going on with a broken one could lose events. Never for input.
#define TXBOX_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::txbox::base::check_failed(#condition, __FILE__, __LINE__))
