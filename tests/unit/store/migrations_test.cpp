#include "schema/migrations.hpp"

#include <array>

#include <doctest/doctest.h>

#include <txbox/store/schema.hpp>

#include "support/app_database.hpp"
#include "support/temp_dir.hpp"

using txbox::store::schema::Migration;
using txbox::store::schema::migrations;
using txbox::store::schema::run_migrations;
using txbox::test::AppDatabase;
using txbox::test::TempDir;

TEST_CASE("only the steps above the file's version run, in order, and the version follows") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  txbox::store::install(app, {});
  app.run("CREATE TABLE steps(name)");
  const std::array<Migration, 3> steps{{{1, "INSERT INTO steps VALUES ('one')"},
                                        {2, "INSERT INTO steps VALUES ('two')"},
                                        {3, "INSERT INTO steps VALUES ('three')"}}};
  run_migrations(app, 1, steps);
  CHECK(app.text("SELECT group_concat(name) FROM steps") == "two,three");
  CHECK(app.number("SELECT value FROM txbox_meta WHERE name = 'schema_version'") == 3);
  run_migrations(app, 3, steps);
  CHECK(app.number("SELECT count(*) FROM steps") == 2);
}

TEST_CASE("the steps of this build lead one by one to its version") {
  int version = 1;
  for (const Migration& step : migrations()) CHECK(step.to == ++version);
  CHECK(version == txbox::store::kSchemaVersion);
}
