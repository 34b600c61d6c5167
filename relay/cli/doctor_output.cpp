#include "relay/cli/doctor_output.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "relay/cli/json_object.hpp"
#include "relay/cli/output.hpp"

namespace txbox::relay {

namespace {

using doctor::Result;

constexpr std::size_t kWordWidth = 13;

std::string_view word_of(Result result) noexcept {
  switch (result) {
    case Result::ok: return "ok";
    case Result::warning: return "warning";
    case Result::failure: return "FAILURE";
    case Result::not_checked: return "not checked";
  }
  return "FAILURE";
}

std::string_view colour_of(Result result) noexcept {
  switch (result) {
    case Result::ok: return "\x1b[32m";
    case Result::warning: return "\x1b[33m";
    case Result::failure: return "\x1b[1;31m";
    case Result::not_checked: return "\x1b[2m";
  }
  return {};
}

std::string painted(Result result, bool colours) {
  const std::string word = padded(std::string(word_of(result)), kWordWidth);
  return colours ? std::string(colour_of(result)) + word + "\x1b[0m" : word;
}

std::optional<std::string> or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

std::string totals(std::span<const doctor::Check> checks) {
  std::string text;
  for (const Result result : {Result::ok, Result::warning, Result::failure, Result::not_checked}) {
    const auto count =
        std::count_if(checks.begin(), checks.end(), [result](const doctor::Check& c) { return c.result == result; });
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(word_of(result));
  }
  return text + "\n";
}

}  // namespace

std::string checks_as_text(std::span<const doctor::Check> checks, bool colours) {
  std::size_t width = 0;
  for (const doctor::Check& check : checks) width = std::max(width, check.name.size());
  std::string text;
  std::string subject;
  for (const doctor::Check& check : checks) {
    if (check.subject != subject) text += "\n" + printable(check.subject.empty() ? "Kafka" : check.subject) + "\n";
    subject = check.subject;
    text += painted(check.result, colours) + padded(check.name, width + 2) + printable(check.text) + "\n";
    if (!check.remedy.empty()) text += std::string(kWordWidth, ' ') + "-> " + printable(check.remedy) + "\n";
  }
  return text + "\n" + totals(checks);
}

std::string checks_as_json(std::span<const doctor::Check> checks) {
  std::vector<JsonObject> objects;
  for (const doctor::Check& check : checks) {
    JsonObject object;
    object.text_or_null("subject", or_null(check.subject)).text("name", check.name);
    object.text("result", doctor::to_string(check.result)).text("text", check.text);
    object.text_or_null("remedy", or_null(check.remedy));
    objects.push_back(std::move(object));
  }
  JsonObject whole;
  whole.number("exit_code", std::int64_t{static_cast<int>(doctor::worst(checks))}).list("checks", objects);
  return whole.str() + "\n";
}

}  // namespace txbox::relay
