#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <txbox/base/bytes.hpp>

namespace txbox {

struct Header {
  std::string name;
  Bytes value;
  friend bool operator==(const Header&, const Header&) = default;
};

/// Kafka's record headers (KIP-82): an ordered list, names may repeat and may be empty, a value may be
/// null. Not synchronised.
class Headers {
 public:
  using const_iterator = std::vector<Header>::const_iterator;

  Headers() = default;
  Headers(std::initializer_list<Header> headers) : headers_(headers) {}

  void reserve(std::size_t headers) { headers_.reserve(headers); }
  void add(std::string name, Bytes value) { headers_.push_back({std::move(name), std::move(value)}); }
  /// For a list that is filled again and again: the headers that stay keep their memory, and are written anew with
  /// operator[].
  void resize(std::size_t headers) { headers_.resize(headers); }
  [[nodiscard]] Header& operator[](std::size_t at) noexcept { return headers_[at]; }
  [[nodiscard]] bool empty() const noexcept { return headers_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return headers_.size(); }
  [[nodiscard]] const_iterator begin() const noexcept { return headers_.begin(); }
  [[nodiscard]] const_iterator end() const noexcept { return headers_.end(); }
  /// The last header of that name, as Kafka's own lastHeader(), or null.
  [[nodiscard]] const Header* last(std::string_view name) const noexcept;
  friend bool operator==(const Headers&, const Headers&) = default;

 private:
  std::vector<Header> headers_;
};

}  // namespace txbox
