#include <csignal>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "mock_kafka.hpp"
#include "relay_process.hpp"
#include "support/kafka_reader.hpp"

namespace txbox::test {

using namespace std::chrono_literals;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a file that is missing, no database or without tables has its own exit code") {
  const TempDir folder;
  const std::string path = folder.file("other.db");
  const std::vector<std::string> run{"run", "--db", path, "--brokers", "127.0.0.1:1", "--drain"};
  for (const auto& command :
       std::vector<std::vector<std::string>>{run, {"status", "--db", path}, {"ls", "--db", path}}) {
    CAPTURE(command[0]);
    CHECK(relay(folder, command).code == 20);
  }
  CHECK_FALSE(std::filesystem::exists(path));
  std::ofstream(path) << "this is a letter and not a database, however long one looks at it";
  CHECK(relay(folder, run).code == 21);
  CHECK(relay(folder, {"status", "--db", path}).code == 21);
  std::filesystem::remove(path);
  AppDatabase(path).run("CREATE TABLE orders(id INTEGER PRIMARY KEY)");
  const CommandResult bare = relay(folder, run);
  CHECK(bare.code == 78);
  CHECK(contains(bare.log, "outbox-relay init"));
  CHECK(contains(bare.log, "txbox::outbox::install"));
  CHECK(AppDatabase(path).number("SELECT count(*) FROM sqlite_schema") == 1);
}

TEST_CASE("an option that is not there is answered with the one that was meant, and no value is repeated") {
  const TempDir folder;
  const auto refused = [&folder](const std::vector<std::string>& command) {
    const CommandResult result = relay(folder, command);
    CHECK(result.code == 2);
    return result.log;
  };
  const std::string run = refused({"run", "--broker", "geheim:9092"});
  CHECK(contains(run, "there is no option --broker; did you mean --brokers?"));
  CHECK(contains(run, "Run outbox-relay run --help for more."));
  CHECK_FALSE(contains(run, "geheim"));
  const std::string inbox = refused({"inbox", "ls", "--db", "a.db", "--limt=geheim"});
  CHECK(contains(inbox, "there is no option --limt; did you mean --limit?"));
  CHECK(contains(inbox, "Run outbox-relay inbox ls --help for more."));
  CHECK_FALSE(contains(inbox, "geheim"));
  for (const auto& command : std::vector<std::vector<std::string>>{{"run", "--db", "a.db", "geheim"},
                                                                   {"run", "--pasword", "-geheim", "--db", "a.db"},
                                                                   {"run", "--db", "a.db", "-pgeheim"},
                                                                   {"demo", "geheim"}}) {
    CHECK_FALSE(contains(refused(command), "geheim"));
  }
  CHECK(contains(refused({}), "Run outbox-relay --help for more."));
}

TEST_CASE("a number that is none, or out of its range, is answered with the range") {
  const TempDir folder;
  const auto refused = [&folder](const std::vector<std::string>& command) {
    const CommandResult result = relay(folder, command);
    CHECK(result.code == 2);
    return result.log;
  };
  CHECK(contains(refused({"demo", "--seed", "-1"}), "--seed: a whole number from 0 to 18446744073709551615 is wanted"));
  CHECK(contains(refused({"demo", "--orders", "x"}), "--orders: a whole number from 1 to 10000000 is wanted"));
  CHECK(contains(refused({"demo", "--orders", "0"}), "--orders: a whole number from 1 to 10000000 is wanted"));
  CHECK(contains(refused({"ls", "--db", "a.db", "--limit", "1.5"}), "--limit: a whole number from 1 to "));
}

TEST_CASE("ls says that there are no rows, and show what an event id is") {
  Shop shop;
  const CommandResult empty = relay(shop.folder, {"ls", "--db", shop.path, "--json"});
  CHECK(empty.code == 0);
  CHECK(empty.output.empty());
  CHECK(contains(empty.log, "no rows"));
  shop.add("orders", "a", "0");
  CHECK(relay(shop.folder, {"ls", "--db", shop.path}).log.empty());
  const CommandResult show = relay(shop.folder, {"show", "--db", shop.path, "1"});
  CHECK(show.code == 1);
  CHECK(contains(show.log, "EVENT_ID is what `ls` shows in the column of that name"));
}

TEST_CASE("a schema newer than this program is left alone") {
  Shop shop;
  shop.app.run("UPDATE txbox_meta SET value = '999' WHERE name = 'schema_version'");
  CHECK(shop.drain().code == 23);
  CHECK(relay(shop.folder, {"status", "--db", shop.path}).code == 23);
}

TEST_CASE("a second relay on a file is refused, and a standby takes over when the first one dies") {
  Shop shop;
  const std::string topic = new_mock_topic();
  KafkaReader reader(mock_kafka().bootstrap_servers());
  RelayProcess first(shop.folder, shop.run_arguments());
  shop.add(topic, "a", "0");
  REQUIRE(reader.await(topic, 1).size() == 1);
  const CommandResult second = shop.drain();
  CHECK(second.code == 24);
  CHECK(contains(second.log, "another relay holds this file, process "));
  CHECK(contains(second.log, "--standby waits for its end"));
  RelayProcess standby(shop.folder, shop.run_arguments({"--standby"}));
  first.signal(SIGKILL);
  CHECK(first.wait() == 128 + SIGKILL);
  shop.add(topic, "a", "1");
  CHECK(reader.await(topic, 2).size() >= 2);
  standby.signal(SIGTERM);
  CHECK(standby.wait() == 0);
  CHECK(contains(standby.log(), "serving 1 file"));
}

TEST_CASE("a standby that is told to stop ends well") {
  Shop shop;
  const std::string topic = new_mock_topic();
  RelayProcess first(shop.folder, shop.run_arguments());
  shop.add(topic, "a", "0");
  REQUIRE(KafkaReader(mock_kafka().bootstrap_servers()).await(topic, 1).size() == 1);
  RelayProcess standby(shop.folder, shop.run_arguments({"--standby"}));
  CHECK(standby.wait(200ms) == -1);
  standby.signal(SIGTERM);
  CHECK(standby.wait(3s) == 0);
}

TEST_CASE("a restored older copy is not published from until a person adopts it") {
  Shop shop;
  const std::string topic = new_mock_topic();
  const std::string path = shop.folder.file("restored.db");
  const std::vector<std::string> drain{"run",     "--db",      path, "--brokers", mock_kafka().bootstrap_servers(),
                                       "--drain", "--timeout", "15s"};
  const auto commit = [&](const std::string& payload) {
    AppDatabase(path).run("INSERT INTO outbox(topic, key, payload) VALUES ('" + topic + "', 'a', '" + payload + "')");
  };
  shop.app.run("VACUUM INTO '" + path + "'");
  REQUIRE(relay(shop.folder, {"init", "--db", path}).code == 0);
  commit("1");
  CHECK(relay(shop.folder, drain).code == 0);
  AppDatabase(path).run("VACUUM INTO '" + shop.folder.file("backup.db") + "'");
  commit("2");
  CHECK(relay(shop.folder, drain).code == 0);
  // Over the live file, as restores are done: the inode stays.
  for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(path + suffix);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << std::ifstream(shop.folder.file("backup.db")).rdbuf();
  commit("after the restore");

  const CommandResult refused = relay(shop.folder, drain);
  CHECK(refused.code == 22);
  CHECK(contains(refused.log, "adopt"));
  CHECK(KafkaReader(mock_kafka().bootstrap_servers()).read_all(topic).size() == 2);
  CHECK(relay(shop.folder, {"adopt", "--db", path, "--reason", "restored on purpose"}).code == 0);
  CHECK(AppDatabase(path).number("SELECT count(*) FROM txbox_audit") == 1);
  CHECK(relay(shop.folder, drain).code == 0);
  CHECK(KafkaReader(mock_kafka().bootstrap_servers()).read_all(topic).back().payload == Bytes("after the restore"));
}

TEST_CASE("a configuration that breaks a promise stops the start with its reason") {
  Shop shop;
  for (const char* property :
       {"enable.idempotence=false", "acks=1", "message.timeout.ms=30000", "partitioner=random"}) {
    CAPTURE(property);
    const CommandResult result = shop.drain({"-X", property});
    CHECK(result.code == 78);
    CHECK(contains(result.log, std::string(property).substr(0, std::string(property).find('='))));
  }
  const CommandResult typo = shop.drain({"-X", "linger.msec=5"});
  CHECK(typo.code == 78);
  CHECK(contains(typo.log, "linger.ms"));
  const CommandResult secret = shop.drain({"-X", "sasl.password=hunter2"});
  CHECK(secret.code == 78);
  CHECK(contains(secret.log, "sasl.password_file"));
  CHECK_FALSE(contains(secret.log, "hunter2"));
  const CommandResult variable = shop.drain({}, {"OUTBOX_RELAY_LOG_LEVLE=debug"});
  CHECK(variable.code == 78);
  CHECK(contains(variable.log, "OUTBOX_RELAY_LOG_LEVEL"));
  CHECK(relay(shop.folder, {"run", "--db", shop.path}).code == 78);
}

TEST_CASE("a file that is given twice, or by a symlink as well, is served once") {
  Shop shop;
  const std::string link = shop.folder.file("link.db");
  std::filesystem::create_symlink(shop.path, link);
  for (const std::string& again : {shop.path, shop.folder.file("./shop.db"), link}) {
    const CommandResult twice = shop.drain({"--db", again});
    CHECK(twice.code == 0);
    CHECK(contains(twice.log, "is served once") == (again != shop.path));
  }
}

TEST_CASE("a broken file ends alone, and the drain of the others says so") {
  Shop shop;
  shop.add(new_mock_topic(), "a", "1");
  std::ofstream(shop.folder.file("broken.db")) << "this is no database, however long one looks at it";
  const CommandResult drained = shop.drain({"--db", shop.folder.file("broken.db"), "--db", shop.folder.file("no.db")});
  CHECK(drained.code == 21);
  CHECK(contains(drained.log, "broken.db: not an SQLite database"));
  CHECK(contains(drained.log, "no.db: no such file"));
  CHECK(shop.count_in_state("sent") == 1);
}

TEST_CASE("where no file is left to serve the worst reason counts") {
  Shop shop;
  std::filesystem::rename(shop.path, shop.folder.file("away"));
  std::ofstream(shop.folder.file("broken.db")) << "this is no database, however long one looks at it";
  const CommandResult run = relay(shop.folder, shop.run_arguments({"--db", shop.folder.file("broken.db")}));
  CHECK(run.code == 21);
  CHECK(contains(run.log, "shop.db: no such file"));
  CHECK(contains(run.log, "no file is left to serve"));
}

TEST_CASE("a wrong command line is answered with what was meant") {
  const TempDir folder;
  CHECK(relay(folder, {}).code == 2);
  CHECK(relay(folder, {"run"}).code == 2);
  CHECK(relay(folder, {"status", "--db", "x.db", "--max-age", "soon"}).code == 2);
  CHECK(relay(folder, {"run", "--db", "x.db", "--brokers", "b:1", "--drain", "--timeout", "5"}).code == 2);
  CHECK(relay(folder, {"run", "--db", "x.db", "--brokers", "b:1", "--id-header", "txbox-created-at"}).code == 2);
  const CommandResult no_rows = relay(folder, {"ls", "--db", "x.db", "--limit", "0"});
  CHECK(no_rows.code == 2);
  CHECK(contains(no_rows.log, "--limit: a whole number from 1 to 9223372036854775807 is wanted"));
  const CommandResult typo = relay(folder, {"statsu"});
  CHECK(typo.code == 2);
  CHECK(contains(typo.log, "status?"));
  CHECK(typo.output.empty());
  const CommandResult help = relay(folder, {"--help"});
  CHECK(help.code == 0);
  CHECK(help.output.find("Examples:") < help.output.find("Subcommands:"));
  const CommandResult version = relay(folder, {"--version"});
  CHECK(version.code == 0);
  CHECK(contains(version.output, "librdkafka 2."));
  CHECK(contains(version.output, "SQLite 3."));
}

TEST_CASE("status counts by state and exits 3 past a limit") {
  Shop shop;
  shop.app.run("INSERT INTO outbox(topic, created_at) VALUES ('orders', 1600000000000)");
  shop.add_many("orders", 6, 2);
  const CommandResult counts = relay(shop.folder, {"status", "--db", shop.path, "--json"});
  CHECK(counts.code == 0);
  CHECK(counts.output.starts_with(R"({"ready":7,"scheduled":0,"sent":0,"parked":0,)"));
  CHECK(relay(shop.folder, {"status", "--db", shop.path, "--max-age", "36500d", "--max-parked", "0"}).code == 0);
  CHECK(relay(shop.folder, {"status", "--db", shop.path, "--max-age", "1h"}).code == 3);
  CHECK(relay(shop.folder, {"status", "--db", shop.path, "--max-age", "3600"}).code == 3);
}

TEST_CASE("rows are listed and shown whatever bytes they hold") {
  Shop shop;
  shop.app.run("INSERT INTO outbox(topic, key, payload, event_id) VALUES ('orders', x'ff00', x'fe', 'first')");
  shop.add("orders", "A1", "secret text");
  const CommandResult list = relay(shop.folder, {"ls", "--db", shop.path, "--json"});
  CHECK(list.code == 0);
  CHECK(contains(list.output, R"("event_id":"first","topic":"orders","key":{"base64":"/wA="},"state":"ready")"));
  CHECK(contains(list.output, R"("key":"A1")"));
  CHECK_FALSE(contains(list.output, "secret text"));
  CHECK(contains(relay(shop.folder, {"ls", "--db", shop.path, "--key", "A1"}).output, "A1"));
  const CommandResult whole = relay(shop.folder, {"ls", "--db", shop.path, "--json", "--payload"});
  CHECK(contains(whole.output, R"("payload":{"base64":"/g=="})"));
  CHECK(contains(whole.output, R"("payload":"secret text")"));
  CHECK(relay(shop.folder, {"ls", "--db", shop.path, "--payload"}).code == 2);
  const CommandResult shown = relay(shop.folder, {"show", "--db", shop.path, "first"});
  CHECK(shown.code == 0);
  CHECK_FALSE(contains(shown.output, "payload"));
  CHECK(contains(relay(shop.folder, {"show", "--db", shop.path, "first", "--payload"}).output, "\\xfe"));
  CHECK(relay(shop.folder, {"show", "--db", shop.path, "second"}).code == 1);
}

TEST_CASE("a locked file is an error and never an empty answer") {
  Shop shop;
  shop.add("orders", "A1", "1");
  shop.app.run("PRAGMA locking_mode=EXCLUSIVE");
  shop.app.run("BEGIN EXCLUSIVE");
  for (const char* command : {"status", "ls"}) {
    CAPTURE(command);
    const CommandResult result = relay(shop.folder, {command, "--db", shop.path, "--json"});
    CHECK(result.code == 75);
    CHECK(result.output.empty());
    CHECK_FALSE(result.log.empty());
  }
}

}  // namespace txbox::test
