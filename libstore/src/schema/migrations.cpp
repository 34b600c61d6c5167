#include "schema/migrations.hpp"

#include <txbox/store/statement.hpp>

namespace txbox::store::schema {

std::span<const Migration> migrations() noexcept { return {}; }

void run_migrations(sqlite3* db, std::int64_t from, std::span<const Migration> steps) {
  for (const Migration& step : steps) {
    if (step.to <= from) continue;
    execute(db, step.sql);
    set_meta(db, "schema_version", step.to);
  }
}

void set_meta(sqlite3* db, std::string_view name, std::int64_t value) {
  Statement write(db,
                  "INSERT INTO main.txbox_meta(name, value) VALUES (?1, ?2) ON CONFLICT(name) DO UPDATE SET value = "
                  "excluded.value");
  write.bind(1, name).bind(2, value);
  write.execute();
}

}  // namespace txbox::store::schema
