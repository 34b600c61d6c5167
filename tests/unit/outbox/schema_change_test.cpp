#include <string>

#include <doctest/doctest.h>

#include <txbox/outbox/outbox.hpp>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

// The schema may change under an Outbox that lives on.

using txbox::ErrorCode;
using txbox::outbox::install;
using txbox::outbox::Outbox;
using txbox::test::AppDatabase;
using txbox::test::error_of;
using txbox::test::TempDir;

namespace {
struct Shop {
  TempDir dir;
  AppDatabase app{dir.file("shop.db")};
  AppDatabase other{dir.file("shop.db")};
  Shop() { install(app); }
  void add(Outbox& outbox, const txbox::outbox::Event& event) {
    app.run("BEGIN IMMEDIATE");
    try {
      outbox.add(event);
    } catch (...) {
      app.run("COMMIT");
      throw;
    }
    app.run("COMMIT");
  }
};
}  // namespace

TEST_CASE("another process's init with another limit counts from the next event on") {
  Shop shop;
  Outbox outbox(shop.app);
  shop.add(outbox, {.topic = "t", .payload = "0123456789"});
  install(shop.other, {.max_record_bytes = 5});
  CHECK(error_of([&] { shop.add(outbox, {.topic = "t", .payload = "0123456789"}); })->code() == ErrorCode::refused);
  install(shop.other, {.max_record_bytes = 2'000'000});
  shop.add(outbox, {.topic = "t", .payload = std::string(1'500'000, 'x')});
  CHECK(shop.app.number("SELECT count(*) FROM outbox") == 2);
}

TEST_CASE("business tables come and go without harm") {
  Shop shop;
  Outbox outbox(shop.app);
  for (int round = 0; round < 3; ++round) {
    shop.other.run("CREATE TABLE business(x)");
    shop.add(outbox, {.topic = "t"});
    shop.app.run("DROP TABLE business");
    shop.add(outbox, {.topic = "t"});
  }
  CHECK(shop.app.number("SELECT count(*) FROM outbox") == 6);
}

TEST_CASE("guards that were lost are noticed, and the event is not left behind") {
  Shop shop;
  Outbox outbox(shop.app);
  shop.add(outbox, {.topic = "t"});
  shop.other.run("DROP TRIGGER outbox_guard; DROP TRIGGER outbox_no_delete");
  for (int round = 0; round < 2; ++round) {
    const auto error = error_of([&] { shop.add(outbox, {.topic = "t"}); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::schema_differs);
    CHECK(error->transaction_alive());
    CHECK(shop.app.number("SELECT count(*) FROM outbox") == 1);
  }
  install(shop.other);
  shop.add(outbox, {.topic = "t"});
  CHECK(shop.app.number("SELECT count(*) FROM outbox") == 2);
}

TEST_CASE("where the event cannot be taken out again, the error asks for a rollback") {
  Shop shop;
  Outbox outbox(shop.app);
  shop.add(outbox, {.topic = "t"});
  shop.other.run("DROP TRIGGER outbox_guard");
  shop.app.run("BEGIN IMMEDIATE");
  const auto error = error_of([&] { outbox.add({.topic = "t"}); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::schema_differs);
  CHECK(std::string(error->what()).find("roll this transaction back") != std::string::npos);
  shop.app.run("ROLLBACK");
  CHECK(shop.app.number("SELECT count(*) FROM outbox") == 1);
}

TEST_CASE("tables that were dropped are not installed any more") {
  Shop shop;
  Outbox outbox(shop.app);
  shop.add(outbox, {.topic = "t"});
  shop.other.run("DROP VIEW outbox_status; DROP TABLE outbox");
  const auto error = error_of([&] { shop.add(outbox, {.topic = "t"}); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::not_installed);
  CHECK(error->transaction_alive());
}

TEST_CASE("a newer txbox's file is left alone by a new Outbox") {
  Shop shop;
  shop.app.run("UPDATE txbox_meta SET value = 99 WHERE name = 'schema_version'");
  CHECK(error_of([&] { Outbox{shop.app}; })->code() == ErrorCode::schema_newer);
}
