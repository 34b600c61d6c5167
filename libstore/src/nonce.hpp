#pragma once

#include <array>
#include <cstdint>

#include <sqlite3.h>

#include <txbox/base/bytes.hpp>
#include <txbox/base/event_id.hpp>
#include <txbox/store/statement.hpp>

namespace txbox::store {

/// What receipts and held rows carry of their row's nonce.
inline constexpr std::size_t kNoncePrefixSize = 8;

/// Eight bytes as a number, big-endian.
[[nodiscard]] inline std::uint64_t prefix_from(const char* bytes) noexcept {
  std::uint64_t prefix = 0;
  for (std::size_t index = 0; index < kNoncePrefixSize; ++index) {
    prefix = prefix << 8U | static_cast<unsigned char>(bytes[index]);
  }
  return prefix;
}

/// The prefix of a row's nonce, read from a column; 0 for anything but a blob of ten bytes, as written by a tool that
/// rebuilt the table without its checks. Every comparison goes through here (in SQL: kDropForeignReceipts), so that
/// such a row can be held and still matches itself.
[[nodiscard]] inline std::uint64_t row_nonce_prefix(const Statement& row, int column) {
  const BytesView nonce = row.column_bytes(column);
  return nonce.size() == kNonceSize && row.column_type(column) == SQLITE_BLOB ? prefix_from(nonce.data()) : 0;
}

/// The same of column `nonce` of a receipt or held row.
[[nodiscard]] inline std::uint64_t note_nonce_prefix(BytesView nonce) noexcept {
  return nonce.size() == kNoncePrefixSize ? prefix_from(nonce.data()) : 0;
}

/// The other way, for binding.
class NonceBytes {
 public:
  explicit NonceBytes(std::uint64_t prefix) noexcept {
    for (std::size_t index = kNoncePrefixSize; index-- > 0; prefix >>= 8U)
      bytes_[index] = static_cast<char>(prefix & 0xffU);
  }
  [[nodiscard]] BytesView view() const noexcept { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, kNoncePrefixSize> bytes_{};
};

}  // namespace txbox::store
