#include "relay/doctor/version_checks.hpp"

#include <array>
#include <charconv>
#include <string>

namespace txbox::relay::doctor {

namespace {

using Version = std::array<int, 3>;

/// What stands behind the third number is left out: "2.0.2-RC1" is 2.0.2. Nothing readable: zeros, so the oldest.
Version parsed(std::string_view text) {
  Version version{};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int& part : version) {
    const auto [rest, error] = std::from_chars(at, end, part);
    if (error != std::errc() || rest == end || *rest != '.') break;
    at = rest + 1;
  }
  return version;
}

/// https://sqlite.org/wal.html, "The WAL-Reset Bug": mended in 3.51.3, and in 3.50.7 and 3.44.6 of older branches.
bool has_wal_reset_bug(const Version& version) {
  if (version >= Version{3, 51, 3}) return false;
  if (version >= Version{3, 50, 7} && version < Version{3, 51, 0}) return false;
  return version < Version{3, 44, 6} || version >= Version{3, 45, 0};
}

}  // namespace

Check sqlite_version(std::string_view text) {
  Check check{.subject = {}, .name = "SQLite version", .result = Result::ok, .text = std::string(text), .remedy = {}};
  if (!has_wal_reset_bug(parsed(text))) return check;
  check.result = Result::warning;
  check.text += ": may corrupt a file when one connection writes while another one resets the WAL";
  check.remedy =
      "the relay keeps out of the way by itself; for the application's connections upgrade SQLite to 3.51.3, 3.50.7 or "
      "3.44.6, or let only one connection at a time write and checkpoint";
  return check;
}

Check librdkafka_version(std::string_view text, bool scram) {
  const Version version = parsed(text);
  Check check{
      .subject = {}, .name = "librdkafka version", .result = Result::ok, .text = std::string(text), .remedy = {}};
  if (scram && version < Version{2, 6, 1}) {
    check.result = Result::warning;
    check.text += ": SCRAM fails with Kafka 4, however right the credentials are";
    check.remedy = "upgrade librdkafka to 2.6.1 or newer, or use PLAIN over TLS, or client certificates";
  } else if (version < Version{2, 3, 0}) {
    check.result = Result::warning;
    check.text += ": an ambiguous error of a broker can end its producer, which the relay then makes anew";
    check.remedy = "nothing is lost by it; librdkafka 2.3.0 and newer go on without";
  }
  return check;
}

}  // namespace txbox::relay::doctor
