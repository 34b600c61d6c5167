#pragma once

#include <optional>

#include <txbox/base/error.hpp>

namespace txbox::test {

/// The Error that a call throws, or nothing: `REQUIRE(error_of([&] { ... })->code() == ErrorCode::busy)`.
template <typename Call>
[[nodiscard]] std::optional<Error> error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// Only the code; nullopt when nothing was thrown.
template <typename Call>
[[nodiscard]] std::optional<ErrorCode> code_of(Call&& call) {
  const auto error = error_of(call);
  return error ? std::optional(error->code()) : std::nullopt;
}

}  // namespace txbox::test
