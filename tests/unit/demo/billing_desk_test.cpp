#include "relay/demo/billing_desk.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include <txbox/base/error.hpp>
#include <txbox/store/connection.hpp>

#include "relay/demo/books.hpp"
#include "relay/demo/books_file.hpp"
#include "support/temp_dir.hpp"

namespace {

using txbox::relay::demo::balance_of;
using txbox::relay::demo::BillingDesk;
using txbox::relay::demo::BillingProgress;
using txbox::relay::demo::Books;
using txbox::relay::demo::BooksBalance;
using txbox::relay::demo::make_billing_file;
using txbox::relay::demo::read_books;
using txbox::store::Connection;
using txbox::store::OpenPurpose;

/// A shop of two accounts and three orders, and a billing that has not begun.
struct Files {
  Files() {
    const Connection orders = Connection::open(shop, {.purpose = OpenPurpose::create});
    txbox::store::execute(orders.handle(),
                          "CREATE TABLE orders(id TEXT PRIMARY KEY, account TEXT NOT NULL, amount_cents INTEGER NOT "
                          "NULL); INSERT INTO orders VALUES ('o1', 'a', 100), ('o2', 'b', 20), ('o3', 'a', 3)");
    make_billing_file(billing);
  }
  /// Applies all three, o1 as the first of its partition.
  void apply_all() const {
    const Connection books = Connection::open(billing, {});
    BillingDesk desk(books.handle());
    desk.apply(std::string_view(R"({"order_id":"o1","account":"a","amount_cents":100})"), true);
    desk.apply(std::string_view(R"({"order_id":"o2","account":"b","amount_cents":20})"), false);
    desk.apply(std::string_view(R"({"order_id":"o3","account":"a","amount_cents":3})"), false);
  }
  [[nodiscard]] BooksBalance balance() const { return balance_of(read_books(shop, billing)); }

  txbox::test::TempDir folder;
  std::string shop = folder.file("shop.db");
  std::string billing = folder.file("billing.db");
};

#ifdef TXBOX_FAILPOINTS
/// An environment variable for one scope.
struct Fault {
  explicit Fault(const char* fault) { setenv("TXBOX_DEMO_FAULT", fault, 1); }
  ~Fault() { unsetenv("TXBOX_DEMO_FAULT"); }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
};
#endif

}  // namespace

TEST_CASE("orders that the billing applied balance with the shop") {
  const Files files;
  BillingProgress progress(files.billing);
  CHECK(progress.applied() == 0);
  CHECK(files.balance().never_applied == 3);
  files.apply_all();
  CHECK(progress.applied() == 3);
  const BooksBalance balance = files.balance();
  CHECK(balance.holds());
  CHECK(balance.accounts == 2);
  CHECK(balance.billing_cents == 123);
}

TEST_CASE("the billing alone forbids no second application of an order") {
  const Files files;
  files.apply_all();
  files.apply_all();
  CHECK(files.balance().applied_twice == 3);
  CHECK(files.balance().billing_cents == 246);
}

TEST_CASE("what is no order is refused without a word of it") {
  const Files files;
  const Connection books = Connection::open(files.billing, {});
  BillingDesk desk(books.handle());
  for (const txbox::BytesView payload :
       {txbox::BytesView(), txbox::BytesView(std::string_view("secret")),
        txbox::BytesView(std::string_view(R"({"order_id":"secret","account":3,"amount_cents":1})"))}) {
    try {
      desk.apply(payload, false);
      FAIL("nothing was thrown");
    } catch (const txbox::Error& error) {
      CHECK(error.code() == txbox::ErrorCode::invalid_argument);
      CHECK(std::string(error.what()).find("secret") == std::string::npos);
    }
  }
}

#ifdef TXBOX_FAILPOINTS
TEST_CASE("a fault that a test asks for hits the first order of a partition, and the balance sees it") {
  const Files files;
  SUBCASE("double") {
    const Fault fault("double");
    files.apply_all();
    CHECK(files.balance().applied_twice == 1);
    CHECK(files.balance().billing_cents == 223);
  }
  SUBCASE("skip") {
    const Fault fault("skip");
    files.apply_all();
    CHECK(files.balance().never_applied == 1);
  }
  SUBCASE("short") {
    const Fault fault("short");
    files.apply_all();
    CHECK(files.balance().accounts_off == 1);
    CHECK(files.balance().billing_cents == 122);
  }
  CHECK_FALSE(files.balance().holds());
}
#endif
