// Webhook deliveries, one a line on stdin; each gets one line of answer on stdout, as a web server would give it.
#include <cstdio>

#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include <txbox/base/error.hpp>

#include "books.hpp"
#include "delivery.hpp"

namespace {

constexpr const char* kUsage =
    R"(webhook_inbox --db FILE

Reads payments from stdin, one JSON object a line, credits their accounts, and answers each on stdout:

  200 applied       credited, and on the disk
  200 duplicate     this id was applied before; nothing was done
  400 REASON        malformed; sending it again will not help

Without an answer a delivery may have been applied or not: send it again.

  echo '{"id":"evt_1","account":"alice","amount_cents":1250}' | webhook_inbox --db books.db
)";

std::string answer_to(const std::string& body, Books& books) {
  try {
    const auto claim = books.apply(parse_delivery(body));
    // A duplicate succeeds. Any other answer, 409 for one, makes the sender repeat it until it gives up.
    return claim == txbox::inbox::Claim::first ? "200 applied" : "200 duplicate";
  } catch (const BadDelivery& error) {
    return std::string("400 ") + error.what();
  } catch (const txbox::Error& error) {
    // The inbox takes no id that is empty, too long, or holds a NUL. Anything else is not the delivery's fault.
    if (error.code() == txbox::ErrorCode::refused) return std::string("400 ") + error.what();
    throw;
  }
}

/// Needs no handler for SIGTERM: killed at any moment, even by SIGKILL, it leaves at most one delivery without an
/// answer, and the claim tells at the next delivery whether it was applied.
void serve(const std::string& path) {
  Books books(path);
  for (std::string body; std::getline(std::cin, body);) {
    // Answer after the COMMIT, never before: an answered delivery does not come again. And flush, for a line that is
    // still in a buffer is no answer.
    std::cout << answer_to(body, books) << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (argc != 3 || std::string_view(argv[1]) != "--db") {
    std::fprintf(stderr, "webhook_inbox: --db FILE is missing\n\n%s", kUsage);
    return 2;
  }
  try {
    serve(argv[2]);
    return 0;
  } catch (const std::exception& error) {
    // No answer was given, so the delivery comes again; until then a person or the service manager must act.
    std::fprintf(stderr, "webhook_inbox: %s\n", error.what());
    return 1;
  }
}
