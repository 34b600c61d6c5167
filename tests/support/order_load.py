"""An independent producer of orders: each comes one to three times, same `id` header, anywhere in the topic.

It remembers what it sent, so that it can say what every account must hold in the end.
"""

import collections
import json
import random
import threading
import time
import uuid

from confluent_kafka import KafkaError, KafkaException, Producer

from support.harness import note, require

MOST_WAITING = 1000
WAVE_SECONDS = 0.3  # orders come in waves, so that a consumer has a backlog now and then, however fast it is
ODD_HEADERS = (
    [("type", b"OrderPlaced")],
    [("none", None), ("empty", b""), ("type", b"OrderPlaced")],
    [("again", b"1"), ("again", None), ("again", b"1"), ("raw", bytes(range(256)))],
)


class Orders:
    """Makes orders and sends copies of them. Accounts and ids carry `mark`, which no log line may hold.

    One thread at a time: start() hands the sending to a thread of its own until stop().
    """

    def __init__(self, run, bootstrap, topic, partitions, accounts=20):
        self.random = random.Random(f"orders {run.seed}")  # not the numbers of the rest of the test
        self.topic = topic
        self.partitions = partitions
        self.accounts = accounts
        self.mark = f"mark{run.seed:x}"
        self.expected = collections.Counter()  # account: cents
        self.orders = collections.Counter()  # account: orders
        self.sent = 0
        self.waiting = []  # copies that come later
        self.failures = []
        self.stopping = threading.Event()
        self.thread = None
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 0,
                "linger.ms": 5,
                "message.max.bytes": 2_000_000,
                "socket.timeout.ms": 10_000,
                "topic.metadata.refresh.interval.ms": 500,
                "log_level": 2,
            }
        )
        run.at_end(self.stopping.set)

    @property
    def count(self):
        return sum(self.orders.values())

    def order(self, account=None, amount_cents=None):
        """A new order as (key, payload, headers), counted as one that must be applied."""
        chance = self.random
        account = account or f"{self.mark}-account-{chance.randrange(self.accounts)}"
        amount_cents = chance.randrange(1, 20_000) if amount_cents is None else amount_cents
        event_id = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        self.expected[account] += amount_cents
        self.orders[account] += 1
        payload = {"order_id": f"{self.mark}-{self.count}", "account": account, "amount_cents": amount_cents}
        headers = [("id", event_id.encode()), *chance.choice(ODD_HEADERS)]
        return account.encode(), json.dumps(payload).encode(), headers

    def send(self, record, partition=None, landed=None):
        """One copy, to the partition of its key (as librdkafka chooses) or to the one given. `landed` is called with
        (topic, partition, offset) once Kafka has it."""
        key, payload, headers = record
        self.sent += 1
        where = {} if partition is None else {"partition": partition}

        def report(error, message):
            if error is not None:
                self.failures.append(str(error))
            elif landed is not None:
                landed((message.topic(), message.partition(), message.offset()))

        deadline = time.monotonic() + 20
        while True:
            try:
                self.producer.produce(
                    self.topic, key=key, value=payload, headers=list(headers), on_delivery=report, **where
                )
                break
            except KafkaException as refusal:  # a partition that was just added
                if refusal.args[0].code() != KafkaError._UNKNOWN_PARTITION or time.monotonic() > deadline:
                    raise
            self.producer.poll(0.05)
        self.producer.poll(0)

    def send_some(self, number, copies=(1, 3)):
        """`number` new orders, and about as many copies of older ones: some close to the first, some long after it."""
        chance = self.random
        for _ in range(number):
            record = self.order()
            self.send(record, chance.choice([None, chance.randrange(self.partitions)]))
            self.waiting += [record] * (chance.randint(*copies) - 1)
            if self.waiting and chance.random() < 0.9:
                self._send_waiting()
            while len(self.waiting) > MOST_WAITING:
                self._send_waiting()

    def _send_waiting(self):
        """A copy of an order of some time ago, to any partition: not only where the first one went."""
        newest = self.random.random() < 0.5
        chosen = self.random.randrange(max(0, len(self.waiting) - 20) if newest else 0, len(self.waiting))
        self.waiting[chosen], self.waiting[-1] = self.waiting[-1], self.waiting[chosen]
        self.send(self.waiting.pop(), self.random.randrange(self.partitions))

    def flush(self, seconds=120):
        """Sends all copies that are still to come; returns when Kafka has everything."""
        while self.waiting:
            self._send_waiting()
        require(self.producer.flush(seconds) == 0, f"Kafka did not take all orders within {seconds} s")
        require(not self.failures, f"orders were not taken: {self.failures[:3]}")

    def start(self, per_second):
        """Sends about so many new orders a second, in waves, until stop()."""
        self.thread = threading.Thread(target=self._send_on, args=(per_second,), daemon=True)
        self.thread.start()

    def _send_on(self, per_second):
        began = time.monotonic()
        made = 0
        while not self.stopping.wait(WAVE_SECONDS):
            due = int((time.monotonic() - began) * per_second) - made
            if due > 0:
                self.send_some(min(due, per_second))  # what a slow moment kept back beyond a second's worth is let go
                made += due
        self.flush()

    def stop(self):
        self.stopping.set()
        self.thread.join(150)
        require(not self.thread.is_alive() and not self.failures, f"the producer failed: {self.failures[:3]}")
        note(f"{self.count} orders of {len(self.expected)} accounts, {self.sent} records")
