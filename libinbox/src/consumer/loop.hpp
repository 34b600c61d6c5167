#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <txbox/inbox/consumer_options.hpp>

#include "libinbox/src/consumer/core.hpp"
#include "libinbox/src/consumer/database_side.hpp"
#include "libinbox/src/consumer/kafka_side.hpp"
#include "libinbox/src/consumer/message_store.hpp"

namespace txbox::inbox::consumer {

struct Subscription {
  Handler handler;
  Prepare prepare;
};
using Subscriptions = std::map<std::string, Subscription>;

/// One run of a consumer: drives the core with what Kafka and the database say, and carries out what it decides. Made
/// for one run; one thread.
class Loop {
 public:
  /// Borrows all of them. `publish` is told the counts whenever a batch has ended. Throws configuration.
  Loop(const ConsumerOptions& options, const Subscriptions& subscriptions, DatabaseSide& database,
       const CoreOptions& core, std::function<void(const CoreStatus&)> publish);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run(const std::stop_token& stop);

 private:
  [[nodiscard]] bool join(const std::stop_token& stop);
  void poll_once();
  void arrive();
  void step(Event event);
  /// Of a topic that was subscribed to: no record of another one comes.
  [[nodiscard]] const Subscription& subscription_of(InternedName topic);

  void carry_out(command::Load& load);
  void carry_out(command::Take& take) { answers_.push_back(database_.take(take)); }
  void carry_out(command::Assign& assign) { kafka_.assign(assign); }
  void carry_out(command::GiveUp& give_up);
  void carry_out(command::Unassign&) { kafka_.unassign(); }
  void carry_out(command::Prepare& prepare);
  void carry_out(command::Begin&) { answers_.push_back(database_.begin()); }
  void carry_out(command::Apply& apply);
  void carry_out(command::RecordFailed& failed) { database_.record_failed(failed); }
  void carry_out(command::RecordStarted& started) { database_.record_started(started); }
  void carry_out(command::DeadLetter& letter);
  void carry_out(command::Close& close);
  void carry_out(command::Forget& forget) { messages_.forget(forget.place, forget.offset); }
  void carry_out(command::ForgetAll&) { messages_.forget_all(); }
  void carry_out(command::CommitKafka& commit);
  void carry_out(command::Pause& pause) { kafka_.pause(pause.place); }
  void carry_out(command::Resume& resume) { kafka_.resume(resume.place); }
  void carry_out(command::Say& words) { say(words.level, words.text); }
  void carry_out(command::Stopped&) { ended_ = true; }
  void carry_out(command::Fail& fail);
  void say(LogLevel level, const std::string& text) const {
    if (options_.log) options_.log(level, text);
  }

  const ConsumerOptions& options_;
  const Subscriptions& subscriptions_;
  DatabaseSide& database_;
  KafkaSide kafka_;
  Core core_;
  std::function<void(const CoreStatus&)> publish_;

  std::string cluster_id_;
  InternedName newest_topic_;            ///< Of the last record: the next one is mostly of the same.
  InternedName found_topic_;             ///< Whose subscription was looked for last ...
  const Subscription* found_ = nullptr;  ///< ... and it.
  MessageStore messages_;
  std::vector<Event> events_;  ///< Of the step that is under way; with its commands kept for their memory.
  Commands commands_;
  std::vector<Event> answers_;  ///< What the last commands were answered with.
  bool ended_ = false;
  std::optional<Error> failure_;
};

}  // namespace txbox::inbox::consumer
