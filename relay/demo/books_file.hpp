#pragma once

#include <cstdint>
#include <string>

#include <txbox/store/connection.hpp>
#include <txbox/store/statement.hpp>

#include "relay/demo/books.hpp"

namespace txbox::relay::demo {

/// Makes the billing's file with its own tables: `accounts`, and `credits`, which lists each application of an order
/// and forbids no second one: a mistake shall show.
void make_billing_file(const std::string& path);

/// Reads both files to the end of what is committed, with plain SQL.
[[nodiscard]] Books read_books(const std::string& shop_path, const std::string& billing_path);

/// How far the billing is, asked again and again while it works. One thread.
class BillingProgress {
 public:
  explicit BillingProgress(const std::string& path);
  /// Orders that were applied and committed; a second application counts again.
  [[nodiscard]] std::int64_t applied();

 private:
  store::Connection billing_;
  store::Statement applied_;
};

}  // namespace txbox::relay::demo
