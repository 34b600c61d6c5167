#pragma once

#include <cstdint>

#include "schema/objects.hpp"

struct sqlite3;

namespace txbox::store::schema {

/// How much of a part stands in the main file.
enum class Presence { absent, partial, whole };

/// Counts the part's tables by name, whatever their text: `partial` when only some are there.
[[nodiscard]] Presence presence_of(sqlite3* db, const Part& part);

/// Whether an object of that name and of any type is there, and with what text.
enum class Match { missing, same, different };
[[nodiscard]] Match match_of(sqlite3* db, const Object& object, std::int64_t max_record_bytes);

/// Throws schema_differs naming the first object whose text is not this build's.
void require_same_text(sqlite3* db, const Part& part, std::int64_t max_record_bytes);

/// A value of txbox_meta as an integer; `otherwise` where the name is missing. REQUIRES that the table is there.
[[nodiscard]] std::int64_t meta_integer(sqlite3* db, std::string_view name, std::int64_t otherwise);

/// Throws schema_newer, or schema_differs where txbox_meta names no version that this build can read.
void require_known_version(sqlite3* db);

}  // namespace txbox::store::schema
