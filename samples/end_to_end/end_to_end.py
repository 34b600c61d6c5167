#!/usr/bin/python3
"""The whole way of an order, with every program on it killed again and again; at the end the books are compared.

    order_service -> shop.db -> outbox-relay -> Kafka -> billing_service -> billing.db -> outbox-relay -> Kafka
                     orders                     orders                      accounts                      invoices

Exit code 0: every order was credited once and invoiced once, to the cent. 1: it was not, or a program failed. 2: wrong
command line.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

try:
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
    from confluent_kafka.admin import AdminClient, NewTopic
except ModuleNotFoundError:
    sys.exit("end_to_end: the module confluent_kafka is missing; on Debian: apt install python3-confluent-kafka")

PARTITIONS = 3
PATIENCE = 90  # seconds for one life of a program to get anything done, and for each drain
Total = collections.namedtuple("Total", "orders cents")


class Failure(Exception):
    """A program failed, or the books do not balance."""


class Story:
    def __init__(self):
        self.begin = time.monotonic()

    def tell(self, who, what):
        print(f"{time.monotonic() - self.begin:8.2f} s  {who:<14} {what}", flush=True)


class Kafka:
    """An independent client: nothing of txbox is in it."""

    def __init__(self, brokers):
        self.admin = AdminClient({"bootstrap.servers": brokers})
        self.client = Consumer({"bootstrap.servers": brokers, "group.id": "auditor", "enable.auto.commit": False,
                                "enable.partition.eof": True, "auto.offset.reset": "error"})

    def create(self, topics):
        """The relay never creates a topic. Waits until every partition has its leader."""
        for made in self.admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in topics]).values():
            made.result(30)
        for topic in topics:
            deadline = time.monotonic() + 30
            while self.records(topic) is None:
                if time.monotonic() > deadline:
                    raise Failure(f"topic {topic} has no leaders after 30 s")
                time.sleep(0.05)  # tidy: waits for the brokers, which send no signal

    def delete(self, topics):
        """The end. The client that read them goes first: one of librdkafka 2.0.2 whose topics go away under it may
        wait for itself for ever when it is destroyed."""
        self.client.close()
        for deleted in self.admin.delete_topics(topics).values():
            deleted.result(30)

    def records(self, topic):
        """How many records the topic holds; None while it has no leaders."""
        try:
            places = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
            return sum(self.client.get_watermark_offsets(place, timeout=10)[1] for place in places)
        except KafkaException:
            return None

    def read(self, topic):
        """Every record of the topic, from its beginning to its end, as (event id, payload)."""
        self.client.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        records, ended = [], set()
        deadline = time.monotonic() + PATIENCE
        while len(ended) < PARTITIONS:
            if time.monotonic() > deadline:
                raise Failure(f"topic {topic} was not read to its end in {PATIENCE} s")
            for message in self.client.consume(1000, 0.5):
                if message.error() is None:
                    records.append((dict(message.headers())["id"].decode(), json.loads(message.value())))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
                else:
                    raise Failure(f"reading {topic}: {message.error()}")
        self.client.unassign()
        return records


class Program:
    """One program on the way. It is started, killed once it got something done, and started again, `kills` times."""

    def __init__(self, world, name, command, unit, progress):
        self.world, self.name, self.command, self.unit, self.progress = world, name, command, unit, progress
        self.kills = 0
        self.process = None
        self.log = world.folder / f"{name.replace(' ', '-')}.log"
        self.starts_at = 0

    def start(self):
        self.process = self.world.spawn(self.command, self.log)
        self.born = time.monotonic()
        self.done_before = self.progress() or 0
        self.got_something_done = False
        # One life in five ends at any moment, the start included; the others once something was done in them.
        at_any_moment = self.world.chance.random() < 0.2
        self.dies_at = self.born + self.world.chance.uniform(0, 0.3) if at_any_moment else None

    def tend(self, fewest_kills):
        """Called again and again until every kill is done. No program dies far more often than the others, so that
        all of them die all the way through."""
        now = time.monotonic()
        if self.process is None:
            if now >= self.starts_at:
                self.start()
            return
        self.require_alive()
        if not self.got_something_done and (self.progress() or 0) > self.done_before:
            self.got_something_done = True
        if self.got_something_done and self.dies_at is None and self.kills <= fewest_kills:
            # At once, where the work that was seen is often half done, or a little later.
            self.dies_at = now + self.world.chance.choice([0, self.world.chance.uniform(0, 1)])
        if self.kills < self.world.kills and self.dies_at is not None and now >= self.dies_at:
            self.kill()
        elif not self.got_something_done and now > self.born + PATIENCE:
            raise Failure(f"{self.name} got nothing done in {PATIENCE} s, see {self.log}")

    def in_its_last_life(self):
        return self.kills == self.world.kills and self.process is not None and self.got_something_done

    def kill(self):
        self.process.kill()
        self.process.wait()
        lived = time.monotonic() - self.born
        self.kills += 1
        done = (self.progress() or 0) - self.done_before
        self.world.story.tell(self.name, f"kill {self.kills} of {self.world.kills}: process {self.process.pid} lived "
                                         f"{lived:.2f} s, {done:,} {self.unit}")
        self.process = None
        self.starts_at = time.monotonic() + self.world.chance.uniform(0, 0.3)

    def require_alive(self):
        if self.process.poll() is not None:
            raise Failure(f"{self.name} ended by itself with exit code {self.process.returncode}, see {self.log}")

    def stop(self):
        """SIGTERM, which each of them answers with exit code 0."""
        self.require_alive()
        self.process.terminate()
        self.world.finish(self.process, self.name, "stops on SIGTERM", self.log)


class World:
    def __init__(self, options, folder):
        self.options, self.folder, self.kills = options, folder, options.kills
        self.seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
        self.chance = random.Random(self.seed)
        self.story = Story()
        self.children = []
        self.kafka = Kafka(options.brokers)
        run = f"{int(time.time())}-{os.getpid()}"  # Topics and group of their own, whoever else uses this Kafka.
        self.orders, self.invoices, self.group = f"orders-{run}", f"invoices-{run}", f"billing-{run}"
        self.shop, self.billing = folder / "shop.db", folder / "billing.db"

    def spawn(self, command, log):
        # What a relay remembers beside the file, its witness, belongs to this run as well.
        environment = {**os.environ, "STATE_DIRECTORY": str(self.folder / "state")}
        with open(log, "ab") as output:
            child = subprocess.Popen([str(self.options.bin / command[0]), *map(str, command[1:])], stdout=output,
                                     stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment)
        self.children.append(child)
        return child

    def finish(self, process, name, what, log):
        try:
            code = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure(f"{name} did not end within {PATIENCE} s, see {log}") from None
        if code != 0:
            raise Failure(f"{name} ended with exit code {code}, see {log}")
        self.story.tell(name, f"{what}: exit code 0")

    def run(self, name, what, *command):
        log = self.folder / f"{name.replace(' ', '-')}.log"
        self.finish(self.spawn(command, log), name, what, log)

    def number(self, file, sql):
        # A connection for each look: one that stays open would be a reader that the programs must put up with.
        db = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30)
        try:
            return db.execute(sql).fetchone()[0]
        except sqlite3.OperationalError:
            return None  # The program has not made its tables yet.
        finally:
            db.close()

    def relay(self, file):
        return ["outbox-relay", "run", "--db", file, "--brokers", self.options.brokers]

    def billing_service(self):
        return ["billing_service", "--db", self.billing, "--brokers", self.options.brokers, "--topic", self.orders,
                "--group", self.group, "--invoices", self.invoices,
                # A killed member takes no leave: its partitions are given to its next life after this time.
                "-X", f"session.timeout.ms={self.options.session_timeout_ms}"]

    def programs(self):
        shop = ["order_service", "--db", self.shop, "--topic", self.orders, "--rate", self.options.rate, "--accounts",
                self.options.accounts]
        return [
            Program(self, "order_service", shop, "orders placed",
                    lambda: self.number(self.shop, "SELECT max(rowid) FROM orders")),
            Program(self, "shop relay", self.relay(self.shop), "orders published",
                    lambda: self.kafka.records(self.orders)),
            Program(self, "billing", self.billing_service(), "orders credited",
                    lambda: self.number(self.billing, "SELECT sum(orders) FROM accounts")),
            Program(self, "invoice relay", self.relay(self.billing), "invoices published",
                    lambda: self.kafka.records(self.invoices)),
        ]


def live_through(world):
    """Everything runs at once, and dies again and again."""
    programs = world.programs()
    while not all(program.in_its_last_life() for program in programs):
        fewest_kills = min(program.kills for program in programs)
        for program in programs:
            program.tend(fewest_kills)
        time.sleep(0.02)  # tidy: waits for four processes, which announce nothing
    for program in programs:
        program.stop()
    # What was on its way when they stopped arrives now.
    world.run("shop relay", "publishes what is left", *world.relay(world.shop), "--drain")
    world.run("billing", "credits what is left", *world.billing_service(), "--drain")
    world.run("invoice relay", "publishes what is left", *world.relay(world.billing), "--drain")


def totals_of(orders):
    """{account: Total} of (account, cents)."""
    totals = collections.defaultdict(lambda: Total(0, 0))
    for account, cents in orders:
        before = totals[account]
        totals[account] = Total(before.orders + 1, before.cents + cents)
    return dict(totals)


def once(records):
    """What a topic says when every event id is counted once: {event id: payload}. At least once is Kafka's promise."""
    return dict(records)


def differences(shop, credited, ordered, invoiced):
    """Sentences, one for each thing that is wrong. `shop`: {order id: (account, cents)}; `credited`: {account: Total};
    `ordered` and `invoiced`: the events of the two topics, each once."""
    expected = totals_of(shop.values())
    for account in sorted(expected.keys() | credited.keys()):
        want, have = expected.get(account, Total(0, 0)), credited.get(account, Total(0, 0))
        if want != have:
            yield (f"{account}: {want.orders} orders over {want.cents} cents were placed, "
                   f"{have.orders} over {have.cents} credited")
    for what, events in (("ordered", ordered), ("invoiced", invoiced)):
        seen = collections.Counter(event["order_id"] for event in events)
        yield from (f"{order} was {what} {count} times" for order, count in seen.items() if count > 1)
        yield from (f"{order} was never {what}" for order in shop.keys() - seen.keys())
        yield from (f"{event['order_id']} was {what}, and the shop has no such order"
                    for event in events if event["order_id"] not in shop)
        yield from (f"{event['order_id']} was {what} with another account or amount" for event in events
                    if shop.get(event["order_id"], event_sum(event)) != event_sum(event))


def event_sum(event):
    return event["account"], event["amount_cents"]


def audit(world):
    def rows(file, sql):
        db = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    shop = {order: (account, cents) for order, account, cents in
            rows(world.shop, "SELECT id, account, amount_cents FROM orders")}
    credited = {account: Total(orders, cents) for account, cents, orders in
                rows(world.billing, "SELECT account, balance_cents, orders FROM accounts")}
    order_records, invoice_records = world.kafka.read(world.orders), world.kafka.read(world.invoices)
    ordered, invoiced = once(order_records), once(invoice_records)

    def line(where, what, orders, cents, more=""):
        print(f"  {where:<11} {what:<28} {orders:>9,} {cents:>16,}   {more}".rstrip())

    def topic(what, records, events):
        line("Kafka", what, len(events), sum(event["amount_cents"] for event in events.values()),
             f"{len(records):,} records, {len(records) - len(events):,} of them repeats")

    print("\nThe books                                     orders            cents")
    line("shop.db", "orders placed", len(shop), sum(cents for _, cents in shop.values()))
    topic("orders, each id once", order_records, ordered)
    line("billing.db", f"credited to {len(credited)} accounts", sum(total.orders for total in credited.values()),
         sum(total.cents for total in credited.values()))
    topic("invoices, each id once", invoice_records, invoiced)
    print()
    return list(differences(shop, credited, list(ordered.values()), list(invoiced.values())))


def parse_arguments():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brokers", required=True, metavar="LIST", help="a Kafka to play with, host:port,...")
    parser.add_argument("--kills", type=int, default=3, metavar="N", help="of each program (default 3)")
    parser.add_argument("--rate", type=float, default=200, metavar="R", help="orders a second (default 200)")
    parser.add_argument("--accounts", type=int, default=50, metavar="A", help="that order (default 50)")
    parser.add_argument("--seed", type=int, metavar="S", help="of the random moments")
    parser.add_argument("--session-timeout-ms", type=int, default=6000, metavar="MS",
                        help="how long the group waits for a member that was killed; fewer than the default 6000 only "
                             "where the broker's group.min.session.timeout.ms allows it")
    parser.add_argument("--bin", type=pathlib.Path, default=here, metavar="DIR",
                        help="where the programs are (default: beside this one)")
    return parser.parse_args()


def play(world):
    """Returns what is wrong."""
    world.story.tell("end_to_end", f"every program is killed {world.kills} times; --seed {world.seed}")
    world.kafka.create([world.orders, world.invoices])
    # The relays refuse a file without tables. Otherwise they would have to be started after the two services.
    for file in (world.shop, world.billing):
        world.run("init", f"makes {file}", "outbox-relay", "init", "--db", file)
    live_through(world)
    return audit(world)


def main():
    options = parse_arguments()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="txbox-end-to-end-"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So that the children do not stay.
    world = World(options, folder)
    try:
        wrong = play(world)
        if wrong:
            raise Failure("\n  ".join(["the books do not balance:", *wrong[:20]]) +
                          (f"\n  and {len(wrong) - 20} more" if len(wrong) > 20 else ""))
        world.kafka.delete([world.orders, world.invoices])
        shutil.rmtree(folder)
        print(f"The books balance to the cent: {world.kills * 4} kills, nothing lost, nothing twice.")
        return 0
    except (Failure, KafkaException) as failure:
        print(f"end_to_end: {failure}\nFiles and logs are in {folder}.", file=sys.stderr)
        return 1
    finally:
        for child in world.children:
            if child.poll() is None:
                child.kill()
                child.wait()


if __name__ == "__main__":
    sys.exit(main())
