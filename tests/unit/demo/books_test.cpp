#include "relay/demo/books.hpp"

#include <doctest/doctest.h>

namespace {

using txbox::relay::demo::as_money;
using txbox::relay::demo::balance_of;
using txbox::relay::demo::Books;
using txbox::relay::demo::BooksBalance;

/// Two accounts, three orders, each credited once.
Books even_books() {
  return {.orders = {{"o1", "alice", 1000}, {"o2", "bob", 250}, {"o3", "alice", 5}},
          .credits = {{"o2", "bob", 250}, {"o1", "alice", 1000}, {"o3", "alice", 5}},
          .accounts = {{"bob", 250, 1}, {"alice", 1005, 2}}};
}

}  // namespace

TEST_CASE("books in which every order is credited once hold") {
  const BooksBalance balance = balance_of(even_books());
  CHECK(balance.holds());
  CHECK(balance.orders == 3);
  CHECK(balance.applied == 3);
  CHECK(balance.credits == 3);
  CHECK(balance.accounts == 2);
  CHECK(balance.shop_cents == 1255);
  CHECK(balance.billing_cents == 1255);
}

TEST_CASE("an order without a credit was never applied") {
  Books books = even_books();
  books.credits.erase(books.credits.begin());
  books.accounts.erase(books.accounts.begin());
  const BooksBalance balance = balance_of(books);
  CHECK_FALSE(balance.holds());
  CHECK(balance.never_applied == 1);
  CHECK(balance.accounts_off == 1);
  CHECK(balance.billing_cents == 1005);
}

TEST_CASE("each credit beyond the first of an order was applied twice") {
  Books books = even_books();
  books.credits.push_back({"o2", "bob", 250});
  books.credits.push_back({"o2", "bob", 250});
  const BooksBalance balance = balance_of(books);
  CHECK_FALSE(balance.holds());
  CHECK(balance.applied_twice == 2);
  CHECK(balance.applied == 3);
  CHECK(balance.never_applied == 0);
}

TEST_CASE("a credit of an order that was rolled back was never ordered") {
  Books books = even_books();
  books.credits.push_back({"o4", "bob", 1});
  const BooksBalance balance = balance_of(books);
  CHECK_FALSE(balance.holds());
  CHECK(balance.never_ordered == 1);
  CHECK(balance.applied == 3);
}

TEST_CASE("one order lost and another applied twice do not cancel out") {
  Books books = even_books();
  books.credits[0] = books.credits[1];
  const BooksBalance balance = balance_of(books);
  CHECK_FALSE(balance.holds());
  CHECK(balance.credits == 3);
  CHECK(balance.never_applied == 1);
  CHECK(balance.applied_twice == 1);
}

TEST_CASE("a credit to another account or of another amount is misbilled") {
  Books books = even_books();
  books.credits[0].amount_cents = 249;
  books.credits[1].account = "bob";
  const BooksBalance balance = balance_of(books);
  CHECK_FALSE(balance.holds());
  CHECK(balance.misbilled == 2);
}

TEST_CASE("an account that is off by a cent or by an order is seen") {
  Books books = even_books();
  SUBCASE("a cent short") { books.accounts[0].balance_cents -= 1; }
  SUBCASE("a cent moved to another account") {
    books.accounts[0].balance_cents -= 1;
    books.accounts[1].balance_cents += 1;
  }
  SUBCASE("an order too many") { books.accounts[1].orders += 1; }
  SUBCASE("an account of nobody") { books.accounts.push_back({"carol", 0, 0}); }
  SUBCASE("an account that is missing") { books.accounts.pop_back(); }
  const BooksBalance balance = balance_of(books);
  CHECK_FALSE(balance.holds());
  CHECK(balance.accounts_off >= 1);
}

TEST_CASE("an empty shop and empty accounts balance") { CHECK(balance_of(Books{}).holds()); }

TEST_CASE("cents are written as money") {
  CHECK(as_money(0) == "0.00");
  CHECK(as_money(5) == "0.05");
  CHECK(as_money(1234567) == "12,345.67");
  CHECK(as_money(-150) == "-1.50");
}
