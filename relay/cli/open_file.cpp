#include "relay/cli/open_file.hpp"

#include <txbox/store/file_guard.hpp>
#include <txbox/store/schema.hpp>

namespace txbox::relay {

store::Connection open_for_reading(const std::string& path) {
  store::check_file(path);
  store::OpenOptions options;
  options.purpose = store::OpenPurpose::reader;
  // Readers wait only for a file that is held whole; whoever watches wants to hear of that soon.
  options.busy_deadline = std::chrono::seconds(2);
  auto connection = store::Connection::open(path, options);
  store::verify_outbox_schema(connection.handle());
  connection.leave_whole();
  return connection;
}

store::Connection open_for_changes(const std::string& path) {
  store::check_file(path);
  auto connection = store::Connection::open(path, {});
  store::verify_outbox_schema(connection.handle());
  connection.leave_whole();
  return connection;
}

}  // namespace txbox::relay
