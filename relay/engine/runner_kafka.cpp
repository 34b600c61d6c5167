// The part of the loop that hears from the brokers: reports, topics, clients' errors.

#include "relay/engine/runner_state.hpp"

#include <txbox/base/failpoint.hpp>

namespace txbox::relay {

void Runner::State::serve_changes() {
  auto changes = options.take_changes ? options.take_changes() : std::nullopt;
  if (!changes) return;
  if (changes->on_refusal) step(event::RefusalPolicy{*changes->on_refusal});
  if (changes->keep) step(event::RetentionPolicy{*changes->keep});
  if (!changes->kafka) return;
  options.kafka = std::move(*changes->kafka);
  kafka.use(options.kafka, now());
  describer.use(producer_options(options));
  trouble = {};
}

void Runner::State::serve_reports() {
  more_reports = !kafka.gather(reports);
  ready.clear();
  kafka.advance(now(), ready);
  if (!reports.empty()) {
    TXBOX_FAILPOINT("relay:after_report");
    serving.swap(reports);
    step(event::Reports{serving});
    serving.clear();
  }
  for (const event::ProducerReady& producer : ready) step(producer);
  for (const event::ConnectionEnded& end : kafka.take_connection_ends()) step(end);
}

void Runner::State::use_cluster(const std::string& id) {
  if (id.empty() || id == cluster_id) return;
  if (!cluster_id.empty())
    say(LogLevel::warning, "the brokers now answer as another cluster: receipts name it from here on");
  cluster_id = id;
  for (std::size_t index = 0; index < files.size(); ++index) {
    if (is_served(static_cast<DatabaseIndex>(index)))
      worker.submit(static_cast<DatabaseIndex>(index), UseCluster{cluster_id});
  }
}

void Runner::State::serve_topics() {
  describer.take_answers(topic_answers);
  for (TopicAnswer& answer : topic_answers) {
    use_cluster(answer.cluster_id);
    for (const std::string& topic : answer.created) say(LogLevel::info, "topic " + topic + " created");
    if (answer.hint) {
      hint(*answer.hint);
    } else if (!answer.cluster_id.empty()) {
      answered_at = now();
    }
    for (auto& [topic, facts] : answer.topics) {
      // A receipt must name its cluster, so a topic is of no use before the cluster's id is known.
      if (cluster_id.empty() && facts.state == TopicFacts::State::usable) {
        facts.state = TopicFacts::State::unreachable;
        facts.reason = "the cluster's id is not known yet";
      }
      kafka.know_topic(topic, facts);
      held_back.push_back({std::move(topic), std::move(facts)});
    }
  }
  if (held_back.empty() || !kafka.fit()) return;
  std::vector<event::TopicDescribed> described;
  described.swap(held_back);
  for (const event::TopicDescribed& topic : described) {
    step(topic);
    if (topic.facts.state != TopicFacts::State::unreachable) topics_to_hear_of.erase(topic.topic);
  }
  settled_moved = true;
}

void Runner::State::hint(const kafka::ClientError& error) {
  note_trouble(error);
  if (const auto text = trouble.words(error, now())) say(LogLevel::warning, *text);
}

}  // namespace txbox::relay
