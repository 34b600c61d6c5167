#include "relay/engine/drain_verdict.hpp"

#include <txbox/store/connection.hpp>
#include <txbox/store/outbox_queries.hpp>

namespace txbox::relay {

ExitCode drain_verdict(std::span<const std::string> databases, const LogSink& log) {
  ExitCode verdict = ExitCode::ok;
  for (const std::string& path : databases) {
    store::OpenOptions how;
    how.purpose = store::OpenPurpose::reader;
    const auto connection = store::Connection::open(path, how);
    const store::OutboxCounts counts = store::count_outbox(connection.handle());
    if (counts.parked == 0 && counts.blocked == 0 && counts.waiting == 0) continue;
    verdict = ExitCode::check_failed;
    if (!log) continue;
    log(LogLevel::warning, path + ": " + std::to_string(counts.parked) + " parked, " + std::to_string(counts.blocked) +
                               " blocked, " + std::to_string(counts.waiting) +
                               " waiting for their topic; see `outbox-relay ls`");
  }
  return verdict;
}

}  // namespace txbox::relay
