"""What a consumer group committed, read from Kafka's own log of it: every commit, in order, with its metadata."""

import dataclasses
import struct
import threading
import time
from typing import Optional

from confluent_kafka import Consumer, KafkaError, TopicPartition

from support.harness import require

LOG = "__consumer_offsets"


@dataclasses.dataclass(frozen=True)
class Commit:
    """`offset` is None where the group's offset was deleted."""

    group: str
    topic: str
    partition: int
    offset: Optional[int]
    metadata: str = ""

    @property
    def place(self):
        return (self.topic, self.partition)


class Reader:
    """Takes fields off the front of a record of the log (org.apache.kafka.coordinator.group.generated)."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, form):
        value = struct.unpack_from(form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def text(self, length):
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(">B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value


def commit_of(key, value):
    """The commit that a record stands for; None for those that speak of members."""
    fields = Reader(key)
    if fields.take(">h") not in (0, 1):
        return None
    group, topic = fields.text(fields.take(">h")), fields.text(fields.take(">h"))
    partition = fields.take(">i")
    if value is None:
        return Commit(group, topic, partition, None)
    fields = Reader(value)
    version = fields.take(">h")
    offset = fields.take(">q")
    if version >= 3:
        fields.take(">i")  # the leader's epoch
    length = fields.varint() - 1 if version >= 4 else fields.take(">h")  # from version 4 on the format is "flexible"
    return Commit(group, topic, partition, offset, fields.text(length))


class GroupLog:
    """Follows the log from its end of now in a thread of its own and hands each commit of `groups` to `each(commit)`.

    `each` runs in that thread. What it throws ends the thread and is thrown again by check() and catch_up().
    """

    def __init__(self, run, bootstrap, groups, each):
        self.bootstrap = bootstrap
        self.groups = set(groups)
        self.each = each
        self.commits = 0
        self.failure = None
        self.stopping = threading.Event()
        self.asking = self._consumer()
        places = self._places()
        self.positions = {p: self._end(p) for p in places}
        self.thread = threading.Thread(target=self._follow, args=(dict(self.positions),), daemon=True)
        self.thread.start()
        run.at_end(self.stop)

    def _consumer(self):
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "txbox-test-group-log",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 20,
                "log_level": 2,
            }
        )

    def _places(self):
        """The log is made by the first group that asks for its coordinator: asking is enough."""
        deadline = time.monotonic() + 30
        while True:
            try:
                self.asking.committed([TopicPartition(LOG, 0)], timeout=5)
            except Exception:  # the coordinator is not there yet; the deadline below ends it
                pass
            topic = self.asking.list_topics(LOG, timeout=10).topics[LOG]
            if topic.error is None and topic.partitions:
                return sorted(topic.partitions)
            require(time.monotonic() < deadline, f"{LOG} was not made within 30 s: {topic.error}")
            time.sleep(0.1)  # tidy: waits for the broker, which sends no signal

    def _end(self, partition):
        return self.asking.get_watermark_offsets(TopicPartition(LOG, partition), timeout=10)[1]

    def _follow(self, positions):
        consumer = self._consumer()
        try:
            consumer.assign([TopicPartition(LOG, p, offset) for p, offset in positions.items()])
            while not self.stopping.is_set():
                for message in consumer.consume(num_messages=500, timeout=0.05):
                    self._one(message)
        except BaseException as failure:  # handed over to the thread that asks
            self.failure = failure
        finally:
            consumer.close()

    def _one(self, message):
        if message.error() is None:
            commit = commit_of(message.key(), message.value())
            if commit is not None and commit.group in self.groups:
                self.commits += 1
                self.each(commit)
            self.positions[message.partition()] = message.offset() + 1
        elif message.error().code() == KafkaError._PARTITION_EOF:
            self.positions[message.partition()] = message.offset()

    def check(self):
        if self.failure is not None:
            raise self.failure

    def catch_up(self, seconds=30):
        """Returns when each() has seen everything that stood in the log when this was called."""
        ends = {p: self._end(p) for p in self.positions}
        deadline = time.monotonic() + seconds
        while any(self.positions[p] < end for p, end in ends.items()):
            self.check()
            require(time.monotonic() < deadline, f"{LOG} was not read to its end within {seconds} s")
            time.sleep(0.002)  # tidy: waits for the thread that follows the log
        self.check()

    def stop(self):
        self.stopping.set()
        self.thread.join(20)
        self.asking.close()
