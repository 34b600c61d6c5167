#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace txbox {

/// A borrowed run of bytes that tells null from empty: Kafka and SQL both do, and txbox keeps them
/// apart all the way. Trivially copyable; valid as long as what it points into.
class BytesView {
 public:
  constexpr BytesView() noexcept = default;
  constexpr BytesView(std::nullptr_t) noexcept {}
  constexpr BytesView(std::string_view text) noexcept : data_(text.data()), size_(text.size()), null_(false) {}
  BytesView(const void* data, std::size_t size) noexcept
      : data_(static_cast<const char*>(data)), size_(size), null_(false) {}

  [[nodiscard]] constexpr bool is_null() const noexcept { return null_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  /// Never a null pointer unless is_null(), so that C interfaces that read "null" from the pointer see an empty value
  /// as empty.
  [[nodiscard]] constexpr const char* data() const noexcept { return null_ ? nullptr : (data_ ? data_ : ""); }
  [[nodiscard]] constexpr std::string_view view() const noexcept {
    return null_ ? std::string_view() : std::string_view(data(), size_);
  }
  friend constexpr bool operator==(BytesView a, BytesView b) noexcept {
    return a.null_ == b.null_ && a.view() == b.view();
  }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  bool null_ = true;
};

/// Owned bytes that may be null. Converts from what applications have at hand: `const char*` (a null
/// pointer is null), `std::string`, `std::string_view` and spans of bytes, so that an Event can be written
/// with designated initialisers. It copies: an Event may outlive what it was made from.
class Bytes {
 public:
  Bytes() noexcept = default;
  Bytes(std::nullptr_t) noexcept {}
  Bytes(const char* text) : value_(text ? text : ""), null_(text == nullptr) {}
  Bytes(std::string text) noexcept : value_(std::move(text)), null_(false) {}
  Bytes(std::string_view text) : value_(text), null_(false) {}
  Bytes(std::span<const std::byte> bytes)
      : value_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), null_(false) {}
  Bytes(std::span<const std::uint8_t> bytes)
      : value_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), null_(false) {}
  explicit Bytes(BytesView view) : value_(view.view()), null_(view.is_null()) {}

  /// Copies into the memory that is there, where it suffices.
  void assign(BytesView view) {
    value_.assign(view.view());
    null_ = view.is_null();
  }

  [[nodiscard]] bool is_null() const noexcept { return null_; }
  [[nodiscard]] std::size_t size() const noexcept { return value_.size(); }
  [[nodiscard]] std::string_view view() const noexcept { return value_; }
  operator BytesView() const noexcept { return null_ ? BytesView() : BytesView(std::string_view(value_)); }
  friend bool operator==(const Bytes&, const Bytes&) = default;

 private:
  std::string value_;
  bool null_ = true;
};

}  // namespace txbox
