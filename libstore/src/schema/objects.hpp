#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace txbox::store::schema {

/// Every name that the persistent format owns stands here, in the order in which the objects are made.
/// docs/schema.md describes them; a change of any text is a new schema version.
enum class Kind { table, index, unique_index, trigger, view };

/// One object of the schema. Its CREATE text is `CREATE <kind> <name><body>`, which is also, character for
/// character, what sqlite_schema keeps, so that verification is a comparison of texts.
struct Object {
  Kind kind;
  std::string_view name;
  std::string_view
      body;  ///< From behind the name to the end, without a semicolon; `{limit}` stands for max_record_bytes.
};

/// Tables that belong together: all of a part are there, or none.
struct Part {
  std::string_view name;
  std::span<const Object> objects;
};

[[nodiscard]] const Part& shared_part() noexcept;  ///< txbox_meta, txbox_audit.
[[nodiscard]] const Part& outbox_part() noexcept;
[[nodiscard]] const Part& inbox_part() noexcept;

/// The word in sqlite_schema.type.
[[nodiscard]] std::string_view type_word(Kind kind) noexcept;
/// What sqlite_schema.sql holds for the object.
[[nodiscard]] std::string stored_text(const Object& object, std::int64_t max_record_bytes);
/// The statement that makes it in the main file, whatever TEMP or ATTACHed objects shadow its name.
[[nodiscard]] std::string create_text(const Object& object, std::int64_t max_record_bytes);

}  // namespace txbox::store::schema
