#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <txbox/kafka/settings.hpp>
#include <txbox/store/version.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/doctor_output.hpp"
#include "relay/cli/help_examples.hpp"
#include "relay/cli/option_flags.hpp"
#include "relay/cli/terminal.hpp"
#include "relay/config/configuration.hpp"
#include "relay/config/environment.hpp"
#include "relay/doctor/file_checks.hpp"
#include "relay/doctor/kafka_checks.hpp"
#include "relay/doctor/version_checks.hpp"
#include "relay/engine/file_finder.hpp"

namespace txbox::relay {

namespace {

constexpr char kExamples[] = R"(Examples:
  outbox-relay doctor --db shop.db
  outbox-relay doctor --db shop.db --brokers localhost:9092 --topic orders
  outbox-relay doctor --config relay.toml --json

Checks what can be checked before it hurts: versions and their known bugs, file system, modes, schema, free disk, WAL,
broker, credentials, and each topic that rows name. Nothing is written, neither to the file nor to Kafka. The exit
code is that of the worst failure; warnings leave it at 0.)";

struct DoctorFlags {
  std::unique_ptr<OptionFlags> options;
  std::vector<std::string> topics;
  bool json = false;
};

bool uses_scram(const kafka::Properties& properties) {
  return std::any_of(properties.begin(), properties.end(), [](const auto& property) {
    return property.first.starts_with("sasl.mechanism") && property.second.starts_with("SCRAM");
  });
}

doctor::Check no_file(bool named) {
  return {.subject = "database",
          .name = "file",
          .result = named ? doctor::Result::warning : doctor::Result::not_checked,
          .text = named ? "no file fits the pattern now" : "no file is named",
          .remedy = named ? "run takes files up when they appear" : "give --db FILE"};
}

ExitCode examine(const DoctorFlags& flags) {
  const Configuration configuration(flags.options->settings(), process_environment());
  doctor::Checks checks{
      doctor::sqlite_version(store::library_version()),
      doctor::librdkafka_version(kafka::library_version(), uses_scram(configuration.kafka())),
  };
  doctor::TopicLimits topics;
  for (const std::string& topic : flags.topics) topics[topic];
  doctor::Checks file_checks;
  const std::vector<FoundFile> files = FileFinder(configuration.list("db")).scan();
  if (files.empty()) file_checks.push_back(no_file(!configuration.list("db").empty()));
  for (const FoundFile& file : files) {
    const doctor::FileExamination found = doctor::examine_file(file.path);
    file_checks.insert(file_checks.end(), found.checks.begin(), found.checks.end());
    for (const std::string& topic : found.topics) topics[topic];
    for (auto& [topic, limit] : topics) {
      // A topic of the command line is for the rows of every file.
      const bool named = std::find(found.topics.begin(), found.topics.end(), topic) != found.topics.end() ||
                         std::find(flags.topics.begin(), flags.topics.end(), topic) != flags.topics.end();
      if (named) limit = std::max(limit, found.max_record_bytes);
    }
  }
  const doctor::Checks kafka_checks = doctor::examine_kafka(configuration.kafka(), topics);
  checks.insert(checks.end(), kafka_checks.begin(), kafka_checks.end());
  // What concerns everything first, then topics, then files.
  std::stable_partition(checks.begin(), checks.end(), [](const doctor::Check& c) { return c.subject.empty(); });
  checks.insert(checks.end(), file_checks.begin(), file_checks.end());
  const std::string text = flags.json ? checks_as_json(checks) : checks_as_text(checks, wants_colours(stdout));
  std::fputs(text.c_str(), stdout);
  return doctor::worst(checks);
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<DoctorFlags>();
  CLI::App* command = app.add_subcommand("doctor", "Check file, libraries, broker and topics before it hurts");
  show_examples(*command, kExamples);
  flags->options =
      std::make_unique<OptionFlags>(*command, OptionFlags::Names{"db", "kafka.bootstrap.servers", "config"});
  command->add_option("--topic", flags->topics, "A topic to look at beside those that rows name; may be repeated")
      ->allow_extra_args(false);
  command->add_flag("--json", flags->json, "One JSON object");
  command->callback([flags, &chosen] { chosen = [flags] { return examine(*flags); }; });
}

}  // namespace txbox::relay
