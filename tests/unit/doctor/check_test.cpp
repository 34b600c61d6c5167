#include "relay/doctor/check.hpp"

#include <doctest/doctest.h>

#include "relay/doctor/file_checks.hpp"
#include "relay/doctor/kafka_checks.hpp"
#include "relay/doctor/version_checks.hpp"

namespace txbox::relay::doctor {

namespace {

Check failure(ExitCode code) {
  return {.subject = {}, .name = "x", .result = Result::failure, .text = {}, .remedy = {}, .code = code};
}

kafka::TopicDescription good_topic() {
  kafka::TopicDescription topic;
  topic.name = "orders";
  topic.partitions = 6;
  topic.limits_known = true;
  topic.replicas = topic.replicas_in_sync = 3;
  topic.min_insync_replicas = 2;
  topic.retention_ms = 604'800'000;
  return topic;
}

}  // namespace

TEST_CASE("the exit code is that of the worst failure, and warnings have none") {
  Check warning = failure(ExitCode::corrupt);
  warning.result = Result::warning;
  CHECK(worst(Checks{warning}) == ExitCode::ok);
  CHECK(worst(Checks{failure(ExitCode::check_failed), warning}) == ExitCode::check_failed);
  CHECK(worst(Checks{failure(ExitCode::try_later), failure(ExitCode::check_failed)}) == ExitCode::try_later);
  CHECK(worst(Checks{failure(ExitCode::configuration), failure(ExitCode::corrupt), failure(ExitCode::try_later)}) ==
        ExitCode::corrupt);
}

TEST_CASE("versions of SQLite with the WAL-reset bug are warned of, and mended branches are not") {
  for (const char* version : {"3.40.1", "3.44.5", "3.45.0", "3.50.6", "3.51.0", "3.51.2"})
    CHECK_MESSAGE(sqlite_version(version).result == Result::warning, version);
  for (const char* version : {"3.44.6", "3.44.9", "3.50.7", "3.51.3", "3.52.0", "4.0.0"})
    CHECK_MESSAGE(sqlite_version(version).result == Result::ok, version);
}

TEST_CASE("SCRAM is warned of below librdkafka 2.6.1") {
  CHECK(librdkafka_version("2.6.0", true).text.find("SCRAM") != std::string::npos);
  CHECK(librdkafka_version("2.6.1", true).result == Result::ok);
  CHECK(librdkafka_version("2.6.0", false).result == Result::ok);
  CHECK(librdkafka_version("2.0.2", false).result == Result::warning);
}

TEST_CASE("a file system, a mode, a full disk and a long WAL are judged") {
  store::FileSurvey survey;
  survey.file_system = {"ext4", true};
  survey.mode = 0640;
  survey.owner_is_us = true;
  survey.free_bytes = std::int64_t{1} << 40;
  for (const Check& check : {file_system(survey), modes(survey), free_disk(survey), wal_size(survey)})
    CHECK_MESSAGE(check.result == Result::ok, check.name);
  survey.file_system = {"nfs", false};
  survey.mode = 0666;
  survey.free_bytes = 1 << 20;
  survey.wal_bytes = 1 << 30;
  CHECK(file_system(survey).code == ExitCode::configuration);
  CHECK(file_system(survey).result == Result::failure);
  CHECK(modes(survey).result == Result::warning);
  CHECK(free_disk(survey).code == ExitCode::try_later);
  CHECK(wal_size(survey).result == Result::warning);
  survey.free_bytes = 100 << 20;
  CHECK(free_disk(survey).result == Result::warning);
}

TEST_CASE("a topic that serves passes every check") {
  const kafka::TopicDescription topic = good_topic();
  CHECK(topic_is_there(topic, "b:9092").result == Result::ok);
  CHECK(topic_takes_records(topic, 1'000'000).result == Result::ok);
  CHECK(topic_replicas(topic).result == Result::ok);
  CHECK(topic_retention(topic).result == Result::ok);
}

TEST_CASE("what a topic lacks is told with what to do") {
  kafka::TopicDescription topic = good_topic();
  CHECK(topic_takes_records(topic, 1'048'588).result == Result::failure);
  topic.min_insync_replicas = 3;
  CHECK(topic_replicas(topic).result == Result::warning);
  topic.replicas_in_sync = 2;
  CHECK(topic_replicas(topic).result == Result::failure);
  topic.min_insync_replicas = 1;
  CHECK(topic_replicas(topic).result == Result::warning);
  topic.retention_ms = 60'000;
  CHECK(topic_retention(topic).result == Result::warning);
  topic.retention_ms = -1;
  CHECK(topic_retention(topic).result == Result::ok);
  topic.compacted = true;
  CHECK(topic_retention(topic).result == Result::warning);
  topic.limits_known = false;
  CHECK(topic_takes_records(topic, 1).result == Result::not_checked);
}

TEST_CASE("without a named broker nothing of Kafka is checked") {
  for (const Check& check : examine_kafka({}, {{"orders", 0}})) CHECK(check.result == Result::not_checked);
}

}  // namespace txbox::relay::doctor
