#pragma once

#include <string>

#include <txbox/store/connection.hpp>
#include <txbox/store/schema.hpp>

namespace txbox::relay {

/// Opens a file for a command that only looks, after the same checks as the relay makes; a file that cannot be read
/// is an Error, never an empty answer. It must have the outbox, whatever else it has.
[[nodiscard]] store::Connection open_for_reading(const std::string& path);
/// The same for a consumer's file, which must have the inbox.
[[nodiscard]] store::Connection open_inbox_for_reading(const std::string& path);

/// The same for commands that tell about whatever is there: one box is enough.
struct ReadableFile {
  store::Connection connection;
  store::Boxes boxes;
};
[[nodiscard]] ReadableFile open_any_for_reading(const std::string& path);

/// The same for a command that changes rows beside a relay that may run.
[[nodiscard]] store::Connection open_for_changes(const std::string& path);

}  // namespace txbox::relay
