#include "relay/metrics/metric_table.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace txbox::relay {

namespace {

using Seconds = std::chrono::duration<double>;

double truth(bool value) noexcept { return value ? 1 : 0; }

double number(std::int64_t value) noexcept { return static_cast<double>(value); }

WallTime time_of(std::int64_t ms) noexcept { return WallTime(std::chrono::milliseconds(ms)); }

/// A writer's clock may be ahead of ours.
double age(WallTime since, WallTime now) noexcept { return std::max(0.0, Seconds(now - since).count()); }

void build_info(const RelayFigures&, const MetricContext& context, MetricSamples& out) {
  out.push_back(
      {.labels = {{"version", context.version}, {"librdkafka", context.librdkafka}, {"sqlite", context.sqlite}},
       .value = 1});
}

void rows(const RelayFigures& relay, const MetricContext&, MetricSamples& out) {
  for (const FileFigures& file : files_shown(relay)) {
    if (!file.counts) continue;
    const auto add = [&](const char* state, std::int64_t count) {
      out.push_back({.labels = {{"db", file.db}, {"state", state}}, .value = number(count)});
    };
    add("ready", file.counts->ready);
    add("scheduled", file.counts->scheduled);
    add("sent", file.counts->sent);
    add("parked", file.counts->parked);
    add("blocked", file.counts->blocked);
    add("waiting", file.counts->waiting);
    add("skipped", file.counts->skipped);
  }
}

double oldest_ready(const FileFigures& file, const MetricContext& context) {
  if (!file.counts || !file.counts->oldest_ready_created_at_ms) return 0;
  return age(time_of(*file.counts->oldest_ready_created_at_ms), context.now);
}

void published(const RelayFigures& relay, const MetricContext&, MetricSamples& out) {
  for (const FileFigures& file : files_shown(relay)) {
    for (const auto& [topic, count] : file.counted.published)
      out.push_back({.labels = {{"db", file.db}, {"topic", topic}}, .value = number(count)});
  }
}

void files(const RelayFigures& relay, const MetricContext&, MetricSamples& out) {
  constexpr std::array<std::pair<FileFigures::Role, const char*>, 4> kRoles{{{FileFigures::Role::active, "active"},
                                                                             {FileFigures::Role::standby, "standby"},
                                                                             {FileFigures::Role::waiting, "waiting"},
                                                                             {FileFigures::Role::ended, "ended"}}};
  for (const auto& [role, word] : kRoles) {
    const auto count = std::count_if(relay.files.begin(), relay.files.end(),
                                     [role = role](const FileFigures& file) { return file.role == role; });
    out.push_back({.labels = {{"role", word}}, .value = static_cast<double>(count)});
  }
}

void trouble(const RelayFigures& relay, const MetricContext&, MetricSamples& out) {
  for (const BrokerTrouble kind : kBrokerTroubles)
    out.push_back({.labels = {{"kind", std::string(to_string(kind))}},
                   .value = truth(relay.trouble && relay.trouble->kind == kind)});
}

constexpr std::array kMetrics{
    Metric{.name = "txbox_build_info",
           .labels = "version, librdkafka, sqlite",
           .help = "Always 1; the labels tell the versions at work.",
           .samples = build_info},
    Metric{.name = "txbox_outbox_rows",
           .labels = "db, state",
           .help = "Rows by state: ready, scheduled, sent, parked, blocked, waiting, skipped.",
           .samples = rows},
    Metric{.name = "txbox_outbox_oldest_ready_seconds",
           .labels = "db",
           .help = "Age of the oldest row that is ready to be published, by the count a moment ago; 0: there is none.",
           .of_file = oldest_ready},
    Metric{.name = "txbox_relay_published_total",
           .kind = MetricKind::counter,
           .labels = "db, topic",
           .help = "Rows that Kafka acknowledged. Topics after the first 50 of a file are counted as one: (other).",
           .samples = published},
    Metric{.name = "txbox_relay_duplicates_possible_total",
           .kind = MetricKind::counter,
           .labels = "db",
           .help = "Rows handed over again though Kafka may have them already.",
           .of_file = [](const FileFigures& file,
                         const MetricContext&) { return number(file.counted.duplicates_possible); }},
    Metric{.name = "txbox_relay_commit_to_ack_seconds",
           .kind = MetricKind::histogram,
           .help = "From a row's created_at (its deliver_at where it has one) to Kafka's acknowledgement.",
           .samples =
               [](const RelayFigures& relay, const MetricContext&, MetricSamples& out) {
                 out.push_back({.labels = {}, .histogram = &relay.counted.commit_to_ack});
               }},
    Metric{.name = "txbox_relay_blocked_keys",
           .labels = "db",
           .help = "Keys that wait behind a parked row.",
           .of_file = [](const FileFigures& file,
                         const MetricContext&) { return file.counts ? number(file.counts->blocked_keys) : 0; }},
    Metric{.name = "txbox_relay_active",
           .labels = "db",
           .help = "1 while this relay holds the file and serves it.",
           .of_file = [](const FileFigures& file,
                         const MetricContext&) { return truth(file.role == FileFigures::Role::active); }},
    Metric{.name = "txbox_relay_standby",
           .labels = "db",
           .help = "1 while this relay waits because another one holds the file.",
           .of_file = [](const FileFigures& file,
                         const MetricContext&) { return truth(file.role == FileFigures::Role::standby); }},
    Metric{.name = "txbox_relay_files",
           .labels = "role",
           .help = "Files by role: active, standby, waiting, ended. Only the first 1000 have series of their own.",
           .samples = files},
    Metric{.name = "txbox_relay_last_mark_timestamp_seconds",
           .labels = "db",
           .help = "When receipts were last written, since 1970; 0: not since the start.",
           .of_file =
               [](const FileFigures& file, const MetricContext&) {
                 return file.last_mark ? Seconds(file.last_mark->time_since_epoch()).count() : 0;
               }},
    Metric{.name = "txbox_relay_pruned_total",
           .kind = MetricKind::counter,
           .labels = "db",
           .help = "Sent and skipped rows that retention deleted: relay.keep_sent, relay.keep_skipped.",
           .of_file = [](const FileFigures& file, const MetricContext&) { return number(file.pruned); }},
    Metric{.name = "txbox_relay_last_prune_timestamp_seconds",
           .labels = "db",
           .help = "When retention last deleted rows, since 1970; 0: not since the start.",
           .of_file =
               [](const FileFigures& file, const MetricContext&) {
                 return file.last_prune ? Seconds(file.last_prune->time_since_epoch()).count() : 0;
               }},
    Metric{.name = "txbox_relay_producer_rebuilds_total",
           .kind = MetricKind::counter,
           .help = "Producers that were replaced after an error.",
           .of_relay = [](const RelayFigures& relay, const MetricContext&) { return number(relay.producer_rebuilds); }},
    Metric{.name = "txbox_relay_in_flight_rows",
           .help = "Rows handed over and not yet reported.",
           .of_relay = [](const RelayFigures& relay, const MetricContext&) { return number(relay.in_flight_rows); }},
    Metric{.name = "txbox_relay_in_flight_bytes",
           .help = "Bytes handed over and not yet reported; relay.window_bytes is the most.",
           .of_relay = [](const RelayFigures& relay, const MetricContext&) { return number(relay.in_flight_bytes); }},
    Metric{.name = "txbox_relay_oldest_unacknowledged_seconds",
           .help = "Age of the oldest row that was handed over and is not acknowledged; 0: there is none.",
           .of_relay =
               [](const RelayFigures& relay, const MetricContext& context) {
                 return relay.counted.oldest_unacknowledged_ms
                            ? age(time_of(*relay.counted.oldest_unacknowledged_ms), context.now)
                            : 0;
               }},
    Metric{.name = "txbox_relay_outage",
           .help = "1 while Kafka acknowledges nothing of what was handed over, and reading pauses.",
           .of_relay = [](const RelayFigures& relay, const MetricContext&) { return truth(relay.outage); }},
    Metric{.name = "txbox_relay_broker_trouble",
           .labels = "kind",
           .help = "1 for what the newest error of the connection was about (credentials, tls, unreachable, other), "
                   "until Kafka answers again.",
           .samples = trouble},
    Metric{.name = "txbox_relay_topics_paused",
           .help = "Topics whose rows wait: missing, denied, or made anew under the relay.",
           .of_relay = [](const RelayFigures& relay,
                          const MetricContext&) { return static_cast<double>(relay.counted.paused_topics.size()); }},
    Metric{.name = "txbox_relay_loop_still_seconds",
           .help = "How long the loop that is at work for longest has not moved; /livez fails when that is too long.",
           .of_relay = [](const RelayFigures&, const MetricContext& context) { return context.loop_still_seconds; }},
    Metric{.name = "txbox_store_lock_wait_seconds",
           .kind = MetricKind::histogram,
           .help = "How long each write of the relay waited for the database's write lock.",
           .samples = [](const RelayFigures& relay, const MetricContext&,
                         MetricSamples& out) { out.push_back({.labels = {}, .histogram = &relay.lock_wait}); }},
    Metric{.name = "txbox_store_wal_bytes",
           .labels = "db",
           .help = "Size of the write-ahead log.",
           .of_file = [](const FileFigures& file, const MetricContext&) { return number(file.wal_bytes); }},
    Metric{.name = "txbox_store_wal_pinned_seconds",
           .labels = "db",
           .help =
               "Since when a reader with an old snapshot has kept the write-ahead log from shrinking; 0: none does. "
               "The log and `outbox-relay status` name it.",
           .of_file =
               [](const FileFigures& file, const MetricContext& context) {
                 return file.wal_pinned_since ? age(*file.wal_pinned_since, context.now) : 0;
               }},
};

}  // namespace

std::span<const Metric> metrics() noexcept { return kMetrics; }

std::span<const FileFigures> files_shown(const RelayFigures& relay) noexcept {
  return {relay.files.data(), std::min(relay.files.size(), kFilesShown)};
}

}  // namespace txbox::relay
