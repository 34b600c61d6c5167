#include "relay/cli/open_file.hpp"

#include <utility>

#include <txbox/store/file_guard.hpp>

namespace txbox::relay {

namespace {

store::Connection open_unverified(const std::string& path) {
  store::check_file(path);
  store::OpenOptions options;
  options.purpose = store::OpenPurpose::reader;
  // Readers wait only for a file that is held whole; whoever watches wants to hear of that soon.
  options.busy_deadline = std::chrono::seconds(2);
  return store::Connection::open(path, options);
}

}  // namespace

store::Connection open_for_reading(const std::string& path) {
  auto connection = open_unverified(path);
  store::verify_outbox_schema(connection.handle());
  connection.leave_whole();
  return connection;
}

store::Connection open_inbox_for_reading(const std::string& path) {
  auto connection = open_unverified(path);
  store::verify_inbox_schema(connection.handle());
  connection.leave_whole();
  return connection;
}

ReadableFile open_any_for_reading(const std::string& path) {
  auto connection = open_unverified(path);
  const store::Boxes boxes = store::verify_boxes(connection.handle());
  connection.leave_whole();
  return {std::move(connection), boxes};
}

store::Connection open_for_changes(const std::string& path) {
  store::check_file(path);
  auto connection = store::Connection::open(path, {});
  store::verify_outbox_schema(connection.handle());
  connection.leave_whole();
  return connection;
}

}  // namespace txbox::relay
