#pragma once

#include <memory>
#include <string>
#include <vector>

#include <txbox/store/outbox_marker.hpp>
#include <txbox/store/outbox_reader.hpp>
#include <txbox/store/schema.hpp>

#include "support/app_database.hpp"
#include "support/temp_dir.hpp"

namespace txbox::test {

/// A relay's two connections to a file, with what it reads and writes through.
struct RelaySide {
  explicit RelaySide(const std::string& path)
      : reading(store::Connection::open(path, {.purpose = store::OpenPurpose::relay})),
        writing(store::Connection::open(path, {.purpose = store::OpenPurpose::relay})),
        reader(reading),
        marker(writing) {}

  store::Connection reading;
  store::Connection writing;
  store::OutboxReader reader;
  store::OutboxMarker marker;
  store::RowBatch batch;

  /// All rows above `after`, at most `limit`.
  const std::vector<store::OutboxRow>& read(std::int64_t after, std::int64_t limit = 1000) {
    reader.read_after(after, {.rows = limit}, batch);
    return batch.rows();
  }
  const std::vector<store::OutboxRow>& read_ready(std::int64_t scanned_through, std::int64_t after = 0) {
    reader.read_ready(after, scanned_through, {}, batch);
    return batch.rows();
  }
};

/// A fresh file with both boxes, an application's connection and a relay's side.
struct RelayStore {
  RelayStore() : path(dir.file("shop.db")), app(path) {
    store::install(app, {});
    relay = std::make_unique<RelaySide>(path);
  }

  void add(const std::string& topic = "orders", const std::string& key = "k", int count = 1) {
    for (int index = 0; index < count; ++index) {
      app.run("INSERT INTO outbox(topic, key, payload) VALUES ('" + topic + "', '" + key + "', 'p')");
    }
  }
  /// What the relay would write for rows that it has read.
  store::Receipt receipt(std::int64_t id) {
    const store::OutboxRow row = row_of(id);
    return {.id = id,
            .nonce_prefix = row.nonce_prefix,
            .partition = 1,
            .offset = 100 + id,
            .sent_at_ms = 1'700'000'000'000};
  }
  store::Hold hold(std::int64_t id, store::HeldState state) {
    const store::OutboxRow row = row_of(id);
    store::Hold wish;
    wish.id = id;
    wish.nonce_prefix = row.nonce_prefix;
    wish.state = state;
    if (!row.key.is_null() && !row.deliver_at_ms) wish.lane = store::lane_of(row.topic, row.partition, row.key.view());
    return wish;
  }
  store::MarkResult mark(const std::vector<store::Receipt>& receipts, const std::vector<store::Hold>& holds = {},
                         std::int64_t settled_through = 0, const std::vector<store::Lane>& lanes = {}) {
    return relay->marker.mark(
        {.receipts = receipts, .holds = holds, .settled_through = settled_through, .lanes = lanes});
  }
  std::string state_of(std::int64_t id) {
    return app.text("SELECT state FROM outbox_status WHERE id = " + std::to_string(id)).value_or("none");
  }

  TempDir dir;
  std::string path;
  AppDatabase app;
  std::unique_ptr<RelaySide> relay;

 private:
  store::OutboxRow row_of(std::int64_t id) { return relay->read(id - 1, 1).at(0); }
};

}  // namespace txbox::test
