#pragma once

#include <string>

namespace txbox::relay::demo {

struct BillingOptions {
  std::string db;
  std::string brokers;
  std::string topic;
  std::string group;
  std::string tally;  ///< The file of the HandlerTally.
};

/// The billing of the demo, the whole program of a child process: a consumer that credits each order once, until
/// SIGTERM or SIGINT. Logs to stderr. Throws Error. One a process: it blocks these signals for good.
void run_billing(const BillingOptions& options);

}  // namespace txbox::relay::demo
