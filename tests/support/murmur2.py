"""Where Java's producer puts a key: Kafka's murmur2 and its partition formula, written from the algorithm alone.

It shares nothing with librdkafka or the relay, so that it can judge them. GOLDEN holds what Java answered
(org.apache.kafka.clients.producer, version 4.3.1); those that are text were sent through the console producer as well.
"""

SEED = 0x9747B28C
MULTIPLIER = 0x5BD1E995
MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The hash as an unsigned 32-bit number."""
    h = SEED ^ len(data)
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little")
        k = k * MULTIPLIER & MASK
        k = (k ^ k >> 24) * MULTIPLIER & MASK
        h = (h * MULTIPLIER & MASK) ^ k
    tail = data[whole:]
    if tail:
        h = (h ^ int.from_bytes(tail, "little")) * MULTIPLIER & MASK
    h = (h ^ h >> 13) * MULTIPLIER & MASK
    return h ^ h >> 15


def partition_of(key: bytes, partitions: int) -> int:
    """Java clears the sign bit before it divides."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


# (key in hex, partition of 3, of 12, of 97, of 2147483647)
GOLDEN = [
    ("", 0, 9, 35, 275646681),
    ("00", 2, 8, 22, 375494588),
    ("0000", 0, 6, 35, 595382058),
    ("ff", 0, 3, 60, 1836015963),
    ("fffe", 0, 3, 10, 1717632651),
    ("80818283", 2, 2, 94, 1420557722),
    ("6f726465722d31", 1, 10, 79, 1221710326),
    ("757365723432", 1, 4, 36, 1993314340),
    ("4131", 0, 3, 45, 1095694779),
    ("6b6579", 1, 1, 74, 1067546281),
    ("c3a9c3a8", 0, 0, 17, 622422924),
    ("00ff00ff00", 0, 6, 69, 1212176574),
    ("f09f9880", 0, 9, 29, 131881617),
    ("61", 1, 4, 49, 584102524),
    ("6162", 2, 2, 36, 316155434),
    ("616263", 0, 3, 77, 479470107),
    ("61626364", 2, 8, 5, 823834100),
    ("6162636465", 1, 1, 67, 461995741),
    ("3432", 1, 4, 57, 417700972),
    ("312e35", 0, 9, 46, 894126549),
    ("deadbeefcafebabe00", 2, 5, 89, 1649446289),
    ("20", 0, 9, 86, 1160251521),
    ("0a0d09", 0, 3, 67, 1569714207),
]
GOLDEN_PARTITION_COUNTS = (3, 12, 97, 2147483647)
