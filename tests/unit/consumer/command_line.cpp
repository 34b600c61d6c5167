#include "command_line.hpp"

namespace txbox::test {

using namespace inbox::consumer;

namespace {

std::string number(std::int64_t value) { return std::to_string(value); }
std::string name(const Place& place) { return place.topic.text() + number(place.partition); }
std::string at(const Place& place, std::int64_t offset) { return name(place) + "@" + number(offset); }

struct Line {
  WallTime wall;

  std::string operator()(const command::Load& what) const {
    std::string line = "load";
    for (const Place& place : what.places) line += " " + name(place);
    return line;
  }
  std::string operator()(const command::Take& what) const {
    std::string line = "take";
    for (const auto& one : what.places) {
      line += " " + name(one.place);
      if (one.set_next) line += "=" + number(*one.set_next);
      if (one.reset_to) line += " reset " + number(*one.reset_to);
    }
    return line;
  }
  std::string operator()(const command::Assign& what) const {
    std::string line = "assign";
    for (const auto& one : what.places) line += " " + at(one.place, one.offset);
    return line;
  }
  std::string operator()(const command::GiveUp& what) const {
    std::string line = "give up";
    for (const auto& one : what.places) {
      line += " " + at(one.place, one.expected) + "/" + number(one.assignment);
      if (!one.clean) line += " unclean";
      if (one.not_tried) line += " not tried " + number(*one.not_tried);
    }
    return line;
  }
  std::string operator()(const command::Unassign&) const { return "unassign"; }
  std::string operator()(const command::Prepare& what) const { return "prepare " + at(what.place, what.offset); }
  std::string operator()(const command::Begin&) const { return "begin"; }
  std::string operator()(const command::Apply& what) const {
    return "apply " + at(what.place, what.offset) + " #" + number(what.attempt);
  }
  std::string operator()(const command::RecordFailed& what) const {
    return "failed " + at(what.place, what.offset) + (what.was_started ? " started" : "") + " +" +
           number(what.next_try_at_ms - to_ms(wall)) + "ms: " + what.error;
  }
  std::string operator()(const command::RecordStarted& what) const { return "started " + at(what.place, what.offset); }
  std::string operator()(const command::DeadLetter& what) const {
    return "dead " + at(what.place, what.offset) + " #" + number(what.attempts) + ": " + what.reason;
  }
  std::string operator()(const command::Close& what) const {
    std::string line = "close";
    for (const auto& one : what.advance) {
      line += " " + name(one.place) + ":" + number(one.expected) + ">" + number(one.next);
    }
    for (const auto& one : what.forget) line += " forget " + at(one.place, one.offset);
    return line;
  }
  std::string operator()(const command::Forget& what) const { return "forget " + at(what.place, what.offset); }
  std::string operator()(const command::ForgetAll&) const { return "forget all"; }
  std::string operator()(const command::CommitKafka& what) const {
    std::string line = "kafka";
    for (const auto& one : what.places) line += " " + at(one.place, one.offset);
    return line + (what.wait ? " waited" : "");
  }
  std::string operator()(const command::Pause& what) const { return "pause " + name(what.place); }
  std::string operator()(const command::Resume& what) const { return "resume " + name(what.place); }
  std::string operator()(const command::Say& what) const { return "say " + what.text; }
  std::string operator()(const command::Stopped&) const { return "stopped"; }
  std::string operator()(const command::Fail& what) const {
    return "fail " + std::string(to_string(what.code)) + ": " + what.text;
  }
};

}  // namespace

std::string line_of(const Command& command, WallTime wall) { return std::visit(Line{wall}, command); }

}  // namespace txbox::test
