#include "relay/engine/topic_describer.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <txbox/base/clock.hpp>
#include <txbox/base/error.hpp>
#include <txbox/kafka/errors.hpp>

#include "relay/engine/outcome.hpp"
#include "relay/engine/topic_command.hpp"

namespace txbox::relay {

namespace {
using namespace std::chrono_literals;
// Long for a broker that lives, short enough for a stop to wait for.
constexpr auto kAnswerTimeout = 2000ms;

std::string brokers_of(const kafka::ProducerOptions& options) {
  const auto found = std::find_if(options.properties.begin(), options.properties.end(),
                                  [](const auto& property) { return property.first == "bootstrap.servers"; });
  return found == options.properties.end() ? std::string() : found->second;
}
}  // namespace

struct TopicDescriber::State {
  State(const kafka::ProducerOptions& options, const EventDescriptor& wake_descriptor, Liveness& told,
        std::optional<kafka::TopicShape> shape)
      : client(std::make_unique<kafka::Producer>(options)),
        wake(wake_descriptor),
        liveness(told),
        brokers(brokers_of(options)),
        create(shape) {}

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      liveness.rests(Loop::topic_describer);
      changed.wait(lock, [&] { return stopping || !wanted.empty(); });
      if (stopping) return;
      liveness.turned(Loop::topic_describer, system_clock().steady_now());
      std::vector<std::string> topics;
      topics.swap(wanted);
      const std::optional<kafka::ProducerOptions> changed_options = std::exchange(next_options, std::nullopt);
      lock.unlock();
      TopicAnswer answer = ask(topics, changed_options);
      lock.lock();
      answers.push_back(std::move(answer));
      wake.signal();
    }
  }

  void replace_client(const kafka::ProducerOptions& options) {
    auto next = std::make_unique<kafka::Producer>(options);
    {
      const std::lock_guard lock(mutex);
      client.swap(next);
    }
    // The one before ends here, without the lock: that may take a while.
  }

  TopicAnswer ask(const std::vector<std::string>& topics, const std::optional<kafka::ProducerOptions>& options) {
    TopicAnswer answer;
    try {
      if (options) {
        replace_client(*options);
        brokers = brokers_of(*options);
      }
      bool reached = false;
      for (const kafka::TopicDescription& description : client->describe_topics(topics, kAnswerTimeout)) {
        answer.topics.emplace_back(description.name, facts_of(description));
        TopicFacts& facts = answer.topics.back().second;
        reached = reached || facts.state != TopicFacts::State::unreachable;
        if (facts.state == TopicFacts::State::missing)
          facts.remedy = create_topic_command(description.name, brokers, description.brokers);
      }
      if (create) create_missing(answer);
      // Known from the answers above, so it waits for nobody.
      if (reached) answer.cluster_id = client->cluster_id(kAnswerTimeout);
    } catch (const Error& error) {
      // A client that cannot even ask says no more about a topic than a broker that does not answer.
      TopicFacts facts;
      facts.state = TopicFacts::State::unreachable;
      facts.reason = error.what();
      answer.topics.clear();
      for (const std::string& topic : topics) answer.topics.emplace_back(topic, facts);
    }
    client->poll(0ms, no_reports);  // Serves error events; nothing is ever produced here.
    answer.hint = client->take_client_error();
    return answer;
  }

  /// A topic that was made is asked for again in a moment, when the brokers have heard of it.
  void create_missing(TopicAnswer& answer) {
    std::vector<std::string> missing;
    for (const auto& [topic, facts] : answer.topics) {
      if (facts.state == TopicFacts::State::missing) missing.push_back(topic);
    }
    if (missing.empty()) return;
    for (const kafka::TopicCreation& creation : client->create_topics(missing, *create, kAnswerTimeout)) {
      const auto found = std::find_if(answer.topics.begin(), answer.topics.end(),
                                      [&](const auto& topic) { return topic.first == creation.name; });
      if (found == answer.topics.end()) continue;
      const bool made = creation.error == 0;
      if (made) answer.created.push_back(creation.name);
      if (made || creation.error == kafka_error::kTopicAlreadyExists) {
        found->second.state = TopicFacts::State::unreachable;
      } else {
        found->second.remedy += " (--create-topics could not: " + kafka::describe(creation.error) +
                                (creation.text.empty() ? "" : ", " + creation.text) + ")";
      }
    }
  }

  std::unique_ptr<kafka::Producer> client;  ///< Replaced by the thread alone, under mutex.
  std::vector<kafka::DeliveryReport> no_reports;
  const EventDescriptor& wake;
  Liveness& liveness;
  std::string brokers;                            ///< The describer thread's own, as what follows.
  const std::optional<kafka::TopicShape> create;  ///< A missing topic is made so.
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> wanted;  ///< Guarded by mutex, as all below.
  std::vector<TopicAnswer> answers;
  std::optional<kafka::ProducerOptions> next_options;  ///< Of the client that the next question is to be asked with.
  bool stopping = false;
  std::thread thread;
};

TopicDescriber::TopicDescriber(const kafka::ProducerOptions& options, const EventDescriptor& wake, Liveness& liveness,
                               std::optional<kafka::TopicShape> create)
    : state_(std::make_unique<State>(options, wake, liveness, create)) {
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

TopicDescriber::~TopicDescriber() { stop(); }

void TopicDescriber::describe(const std::vector<std::string>& topics) {
  {
    const std::lock_guard lock(state_->mutex);
    for (const std::string& topic : topics) {
      if (std::find(state_->wanted.begin(), state_->wanted.end(), topic) == state_->wanted.end())
        state_->wanted.push_back(topic);
    }
  }
  state_->changed.notify_one();
}

void TopicDescriber::use(const kafka::ProducerOptions& options) {
  const std::lock_guard lock(state_->mutex);
  state_->next_options = options;
}

kafka::ConnectionTally TopicDescriber::connection_tally() const {
  const std::lock_guard lock(state_->mutex);
  return state_->client->connection_tally();
}

void TopicDescriber::take_answers(std::vector<TopicAnswer>& out) {
  out.clear();
  const std::lock_guard lock(state_->mutex);
  out.swap(state_->answers);
}

void TopicDescriber::stop() noexcept {
  if (!state_->thread.joinable()) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_one();
  state_->thread.join();
}

}  // namespace txbox::relay
