"""An independent client: reads whole topics with Confluent's Python client."""

import ctypes
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.harness import Failure, require
from support.oracle import Record


# The controller answers a creation before every broker knows the topic and every partition has its leader.
NOT_YET_KNOWN = {
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
}


def create_topic(bootstrap, name, partitions, replicas=1, **settings):
    """Waits until every partition answers."""
    topic = NewTopic(name, partitions, replicas, config={k.replace("_", "."): str(v) for k, v in settings.items()})
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([topic])[name].result(30)
    reader = TopicReader(bootstrap, {name: partitions})
    try:
        reader.ends()
    finally:
        reader.close()


class TopicReader:
    """Reads and asks for end offsets; one consumer for a whole test. Single-threaded."""

    def __init__(self, bootstrap, partitions):
        """`partitions`: {topic: count}."""
        self.partitions = dict(partitions)
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "txbox-test-reader",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 20,
            }
        )

    def ends(self):
        """{(topic, partition): end offset}; raises KafkaException where the broker does not answer."""
        return {(topic, p): self._end(topic, p) for topic, count in self.partitions.items() for p in range(count)}

    def _end(self, topic, partition, seconds=10):
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=seconds)[1]
            except KafkaException as refusal:
                if refusal.args[0].code() not in NOT_YET_KNOWN or time.monotonic() > deadline:
                    raise
            time.sleep(0.02)  # tidy: waits for the brokers, which send no signal

    def end_sum(self):
        return sum(self.ends().values())

    def read_all(self, seconds=120):
        """Every record of every partition up to the ends of now, in offset order per partition."""
        ends = self.ends()
        left = {place for place, end in ends.items() if end > 0}
        self.consumer.assign([TopicPartition(topic, p, 0) for topic, p in left])
        records = []
        deadline = time.monotonic() + seconds
        while left:
            require(time.monotonic() < deadline, f"reading {len(left)} partitions took more than {seconds} s")
            for message in self.consumer.consume(num_messages=1000, timeout=0.5):
                place = (message.topic(), message.partition())
                error = message.error()
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise Failure(f"reading {place}: {error}")
                if error is None:
                    records.append(record_of(message))
                if message.offset() + (error is None) >= ends[place]:
                    left.discard(place)
        self.consumer.unassign()
        return records

    def close(self):
        self.consumer.close()


def record_of(message):
    headers = tuple(message.headers() or ())
    for _name, value in headers:
        if value is None:
            # confluent_kafka 1.7 (Debian 12) gives a null header's None away without owning it.
            # Without this some thousands of them end the process.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(None))
    return Record(
        message.topic(),
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        headers,
        message.timestamp()[1],
    )


def read_topics(bootstrap, partitions, seconds=120):
    reader = TopicReader(bootstrap, partitions)
    try:
        return reader.read_all(seconds)
    finally:
        reader.close()
