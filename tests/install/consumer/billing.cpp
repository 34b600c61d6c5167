#include <cstdio>
#include <stop_token>
#include <string>

#include <sqlite3.h>

#include <txbox/inbox/consumer.hpp>

// billing FILE: a whole consumer, which makes its file and ends before it ever talks to a broker. Prints the version of
// SQLite that its connection belongs to.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string brokers = "127.0.0.1:1";
  txbox::inbox::Consumer consumer({.database = argv[1], .group = "billing", .kafka = {{"bootstrap.servers", brokers}}});
  consumer.on("orders", [](sqlite3*, const txbox::inbox::Message&) { return txbox::inbox::done; });
  std::stop_source stop;
  stop.request_stop();
  consumer.run(stop.get_token());
  std::puts(sqlite3_db_readonly(consumer.database(), "main") == 0 ? sqlite3_libversion() : "read only");
  return consumer.counts().applied == 0 ? 0 : 1;
}
