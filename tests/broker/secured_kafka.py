#!/usr/bin/python3
"""SASL PLAIN, TLS and mTLS on a real Kafka: the right credentials publish; wrong ones cost no row an attempt, are told
apart from each other and from a broker that is down, and a reload with the right ones goes on without a restart."""

import signal

from support import harness, outbox_file, relay_process
from support.harness import check, require, wait_until
from support.kafka_log import read_topics
from support.oracle import compare, summary
from support.secure_kafka import KEY_PASSWORD, PASSWORD, USER, SecureKafka

PARTITIONS = 3
ROWS = 200
REFUSED, TLS, UNREACHABLE = "Kafka refuses the credentials", "TLS to Kafka fails", "Kafka cannot be reached"


class Shop:
    """One database, its topic, and the configuration file of its relay. Secrets lie in files of their own."""

    def __init__(self, run, kafka, name):
        self.run, self.kafka, self.topic = run, kafka, f"{name}-{run.seed}"
        self.db, self.path = run.path(f"{name}.db"), run.path(f"{name}.toml")
        kafka.cluster.create_topic(self.topic, PARTITIONS)
        relay_process.init(run, self.db)
        self.add(ROWS)

    def add(self, count):
        connection = outbox_file.connect(self.db)
        connection.execute("BEGIN IMMEDIATE")
        for number in range(count):
            connection.execute("INSERT INTO outbox(topic, key, payload) VALUES (?, ?, ?)",
                               (self.topic, f"key-{number % 17}", f"payload-{number}"))
        connection.execute("COMMIT")
        connection.close()

    def configure(self, server, **properties):
        """Property names with underscores for dots; a secret is written to a file of its own."""
        lines = [f'db = "{self.db}"', "[kafka]", f'bootstrap.servers = "{server}"']
        for name, value in properties.items():
            name = name.replace("_", ".")
            if name.endswith("password"):
                self.secret(name).write_text(value + "\n")
                self.secret(name).chmod(0o600)
                name, value = name + "_file", self.secret(name)
            lines.append(f'{name} = "{value}"')
        self.path.write_text("\n".join(lines) + "\n")

    def secret(self, name):
        return self.run.path(f"{self.topic}-{name}")

    def start(self, *more):
        return Relay(self.run, self.path, *more)

    def judge(self, repeats, what):
        events = outbox_file.committed_events(self.db)
        records = read_topics(self.kafka.cluster.bootstrap, {self.topic: PARTITIONS})
        findings = compare(events, records, {self.topic: PARTITIONS}, allow_repeats=repeats)
        check(not findings, f"{what}: {len(events)} rows are in Kafka, in order {summary(findings)}")


class Relay(relay_process.Relay):
    """`outbox-relay run` with everything in a configuration file."""

    def __init__(self, run, path, *more):
        super().__init__(run, None, None, "--config", path, *more)

    def arguments(self, _db, _bootstrap, more):
        return ["run", *more]


def login(**more):
    return dict(security_protocol="sasl_plaintext", sasl_mechanism="PLAIN", sasl_username=USER, **more)


def right_credentials(run, kafka):
    ca, client, key = (kafka.certificates.authority, kafka.certificates.client, kafka.certificates.client_key)
    tls = dict(security_protocol="ssl", ssl_ca_location=ca)
    for name, properties in {
        "sasl": login(sasl_password=PASSWORD),
        "tls": tls,
        "mtls": dict(tls, ssl_certificate_location=client, ssl_key_location=key),
        "sasl_tls": dict(login(sasl_password=PASSWORD), security_protocol="sasl_ssl", ssl_ca_location=ca),
    }.items():
        shop = Shop(run, kafka, f"right-{name}")
        shop.configure(kafka.servers[name], **properties)
        require(shop.start("--drain", "--timeout", "60s").wait(90) == 0, f"a drain over {name} failed")
        shop.judge(False, f"{name} with the right credentials")
    shop = Shop(run, kafka, "locked-key")
    shop.configure(kafka.servers["mtls"], **tls, ssl_certificate_location=client, ssl_key_password=KEY_PASSWORD,
                   ssl_key_location=kafka.certificates.locked_key)
    require(shop.start("--drain", "--timeout", "60s").wait(90) == 0, "a drain with an encrypted key failed")
    shop.judge(False, "mTLS with a key whose password is in a file")
    shop.configure(kafka.servers["mtls"], **tls, ssl_certificate_location=client, ssl_key_password="another",
                   ssl_key_location=kafka.certificates.locked_key)
    check(shop.start().wait(30) == relay_process.CONFIGURATION, "a wrong password of the key stops the start")


def wrong_then_right(run, kafka, name, wrong, words, right):
    """`wrong` and `right` are a server and its properties."""
    shop = Shop(run, kafka, name)
    shop.configure(wrong[0], **wrong[1])
    relay = shop.start()
    wait_until(lambda: words in relay.text(), 30, f"a line with '{words}'")
    others = {REFUSED, TLS, UNREACHABLE} - {words}
    check(not [other for other in others if other in relay.text()], f"{name}: the log says '{words}' and nothing else")
    counts = relay_process.status(run, shop.db)
    attempts = {row["attempts"] for row in relay_process.rows(run, shop.db, "--limit", str(ROWS))}
    check((counts["ready"], counts["sent"], counts["parked"]) == (ROWS, 0, 0) and attempts == {0} and relay.alive(),
          f"{name}: all rows wait, none lost an attempt, the relay lives on")
    shop.configure(right[0], **right[1])
    relay.process.send_signal(signal.SIGHUP)
    relay_process.wait_settled(run, shop.db, 60, relay)
    check("reloaded: new properties for Kafka" in relay.text(), f"{name}: a reload with the right ones goes on")
    require(relay.terminate()[0] == 0, "the relay did not stop")
    shop.judge(False, name)


def wrong_credentials(run, kafka):
    certificates = kafka.certificates
    servers = kafka.servers
    tls = dict(security_protocol="ssl", ssl_ca_location=certificates.authority)
    right = (servers["sasl"], login(sasl_password=PASSWORD))
    wrong_then_right(run, kafka, "wrong-password", (servers["sasl"], login(sasl_password="guessed")), REFUSED, right)
    stranger = dict(tls, ssl_ca_location=certificates.stranger)
    wrong_then_right(run, kafka, "unknown-authority", (servers["tls"], stranger), TLS, (servers["tls"], tls))
    by_number = servers["tls"].replace("localhost", "127.0.0.1")
    wrong_then_right(run, kafka, "wrong-host-name", (by_number, tls), TLS, (servers["tls"], tls))
    pair = dict(tls, ssl_certificate_location=certificates.client, ssl_key_location=certificates.client_key)
    wrong_then_right(run, kafka, "no-client-certificate", (servers["mtls"], tls), TLS, (servers["mtls"], pair))
    wrong_then_right(run, kafka, "broker-down", ("127.0.0.1:1", {}), UNREACHABLE, (kafka.cluster.bootstrap, {}))


def rotated_under_way(run, kafka):
    """The broker comes back with another password while rows are in flight; a new secret's file and SIGHUP mend it."""
    shop = Shop(run, kafka, "rotated")
    shop.configure(kafka.servers["sasl_tls"], **dict(login(sasl_password=PASSWORD), security_protocol="sasl_ssl",
                                                     ssl_ca_location=kafka.certificates.authority))
    relay = shop.start()
    relay_process.wait_settled(run, shop.db, 60, relay)
    kafka.cluster.pause()
    shop.add(ROWS)
    wait_until(lambda: relay_process.status(run, shop.db)["ready"] == ROWS, 20, "rows that the frozen broker lets wait")
    kafka.change_password(PASSWORD, "rotated-secret")
    wait_until(lambda: REFUSED in relay.text(), 60, "a line about the credentials")
    check(TLS not in relay.text(), "a broker that was killed is no trouble of TLS")
    shop.secret("sasl.password").write_text("rotated-secret\n")
    relay.process.send_signal(signal.SIGHUP)
    counts = relay_process.wait_settled(run, shop.db, 60, relay)
    check((counts["sent"], counts["parked"], counts["blocked"]) == (2 * ROWS, 0, 0), "a rotated password goes on")
    require(relay.terminate()[0] == 0, "the relay did not stop")
    shop.judge(True, "rotated under way")


def body(run):
    with SecureKafka(run.path("certificates")) as kafka:
        right_credentials(run, kafka)
        wrong_credentials(run, kafka)
        rotated_under_way(run, kafka)


if __name__ == "__main__":
    harness.main("secured-kafka", body, 300)
