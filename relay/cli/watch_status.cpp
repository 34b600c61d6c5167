#include "relay/cli/watch_status.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include <txbox/base/clock.hpp>
#include <txbox/store/file_guard.hpp>

#include "relay/cli/json_object.hpp"
#include "relay/cli/output.hpp"
#include "relay/cli/status_output.hpp"
#include "relay/cli/version.hpp"

namespace txbox::relay {

namespace {

// Of so many files that stand by, the kernel is asked who holds them.
constexpr std::size_t kHoldersMost = 20;

std::string_view word(FileFigures::Role role) noexcept {
  switch (role) {
    case FileFigures::Role::active: return "active";
    case FileFigures::Role::standby: return "standby";
    case FileFigures::Role::waiting: return "waiting";
    case FileFigures::Role::ended: return "ended";
  }
  return {};
}

double seconds_since(WallTime since, WallTime now) noexcept {
  return std::max(0.0, std::chrono::duration<double>(now - since).count());
}

std::optional<std::string> text_or_nothing(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

JsonObject file_object(const FileFigures& file, WallTime now, std::optional<std::int64_t> holder) {
  JsonObject json;
  json.text("db", file.db).text("role", word(file.role)).text_or_null("reason", text_or_nothing(file.reason));
  if (file.counts) add_counts(json, *file.counts, to_ms(now));
  std::int64_t published = 0;
  for (const auto& [topic, rows] : file.counted.published) published += rows;
  json.number("published", published)
      .number("duplicates_possible", file.counted.duplicates_possible)
      .text_or_null("last_mark", file.last_mark ? std::optional(to_iso_time(to_ms(*file.last_mark))) : std::nullopt)
      .number("wal_bytes", file.wal_bytes)
      .real("wal_pinned_seconds",
            file.wal_pinned_since ? std::optional(seconds_since(*file.wal_pinned_since, now)) : std::nullopt)
      .number("relay_pid", holder);
  return json;
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char byte : printable(text)) {
    switch (byte) {
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '&': safe += "&amp;"; break;
      case '"': safe += "&quot;"; break;
      case '\'': safe += "&#39;"; break;
      default: safe += byte;
    }
  }
  return safe;
}

std::string table_row(const FileFigures& file, WallTime now) {
  std::string html = "<tr><td>" + escaped(file.db) + "<td>" + std::string(word(file.role));
  if (!file.counts) return html + "<td colspan=6>" + escaped(file.reason) + "\n";
  const store::OutboxCounts& counts = *file.counts;
  for (const std::int64_t count :
       {counts.ready, counts.sent, counts.scheduled, counts.waiting, counts.parked, counts.blocked})
    html += "<td>" + std::to_string(count);
  const double age = oldest_ready_seconds(counts, to_ms(now));
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.1f s", age);
  return html + "<td>" + (age < 0 ? "-" : seconds.data()) + "\n";
}

constexpr std::string_view kPageHead = R"(<!doctype html><html lang="en"><meta charset="utf-8">
<meta http-equiv="refresh" content="5"><title>outbox-relay</title>
<style>body{font:15px sans-serif;margin:2em}table{border-collapse:collapse}
td,th{padding:.3em .8em;border:1px solid #bbb;text-align:right}
td:first-child,th:first-child{text-align:left}.bad{color:#b00}</style>
<h1>outbox-relay</h1>
)";

}  // namespace

std::string role_of_all(const RelayFigures& figures) {
  if (figures.files.empty()) return "none";
  const FileFigures::Role first = figures.files.front().role;
  const bool same = std::all_of(figures.files.begin(), figures.files.end(),
                                [first](const FileFigures& file) { return file.role == first; });
  return same ? std::string(word(first)) : "mixed";
}

std::string watch_status_as_json(const RelayFigures& figures, WallTime now) {
  std::vector<JsonObject> files;
  std::size_t asked = 0;
  for (const FileFigures& file : figures.files) {
    std::optional<std::int64_t> holder;
    if (file.role == FileFigures::Role::active) holder = ::getpid();
    if (file.role == FileFigures::Role::standby && asked++ < kHoldersMost) {
      if (const auto found = store::relay_lock_holder(file.db)) holder = found->pid;
    }
    files.push_back(file_object(file, now, holder));
  }
  std::vector<JsonObject> topics;
  for (const PausedTopic& topic : figures.counted.paused_topics)
    topics.push_back(JsonObject().text("topic", topic.topic).text("reason", topic.reason));
  std::vector<JsonObject> troubles;
  if (figures.trouble) {
    troubles.push_back(JsonObject()
                           .text("kind", to_string(figures.trouble->kind))
                           .text("text", figures.trouble->text)
                           .real("seconds", seconds_since(figures.trouble->since, now)));
  }
  const auto oldest = figures.counted.oldest_unacknowledged_ms;
  JsonObject json;
  json.text("version", version_text())
      .number("pid", std::int64_t{::getpid()})
      .text("role", role_of_all(figures))
      .truth("stopping", figures.stopping)
      .truth("connected", figures.connected)
      .truth("outage", figures.outage)
      .number("published", figures.published)
      .number("in_flight_rows", figures.in_flight_rows)
      .number("in_flight_bytes", figures.in_flight_bytes)
      .real("oldest_unacknowledged_seconds",
            oldest ? std::optional(seconds_since(WallTime(std::chrono::milliseconds(*oldest)), now)) : std::nullopt)
      .number("producer_rebuilds", figures.producer_rebuilds)
      .list("broker_trouble", troubles)
      .list("topics_paused", topics)
      .text("taken_at", to_iso_time(to_ms(figures.taken_at)))
      .list("files", files);
  return json.str();
}

std::string watch_status_as_html(const RelayFigures& figures, WallTime now) {
  std::string html(kPageHead);
  html += "<p>" + escaped(version_text()) + ", pid " + std::to_string(::getpid()) + ", " + role_of_all(figures) + ", " +
          std::to_string(figures.in_flight_rows) + " rows in flight</p>\n";
  if (figures.outage) html += "<p class=bad>Kafka does not answer; rows are kept</p>\n";
  if (figures.trouble) html += "<p class=bad>" + escaped(figures.trouble->text) + "</p>\n";
  for (const PausedTopic& topic : figures.counted.paused_topics)
    html += "<p class=bad>topic " + escaped(topic.topic) + " waits: " + escaped(topic.reason) + "</p>\n";
  html += "<table><tr><th>file<th>role<th>ready<th>sent<th>scheduled<th>waiting<th>parked<th>blocked<th>oldest ready\n";
  for (const FileFigures& file : figures.files) html += table_row(file, now);
  return html +
         "</table>\n<p><a href=\"/metrics\">/metrics</a> <a href=\"/livez\">/livez</a> "
         "<a href=\"/readyz\">/readyz</a> <a href=\"/status.json\">/status.json</a></p></html>\n";
}

}  // namespace txbox::relay
