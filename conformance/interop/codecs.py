#!/usr/bin/env python3
"""codecs.py BOOTSTRAP LIBRARY make|read TOPIC RECORDS: batches of each codec and back.

LIBRARY is confluent (librdkafka) or kafka-python; `wire` instead prints the codecs of the batches
as they lie in the log. `make` appends RECORDS records for each codec, `read` prints all values.
"""

import socket
import struct
import sys
import time

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PATIENCE = 30.0  # seconds


def value(maker, codec, number):
    return f"{maker} {codec} {number} {'-' * 100}"


def confluent_make(bootstrap, topic, records):
    from confluent_kafka import Producer

    failures = []
    for codec in CODECS:
        settings = {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 200}
        producer = Producer(settings)
        for number in range(1, records + 1):
            producer.produce(
                topic,
                key=f"k{number}",
                value=value("confluent", codec, number),
                headers={"codec": codec},
                partition=0,
                on_delivery=lambda error, _: error and failures.append(str(error)),
            )
        if producer.flush(PATIENCE) or failures:
            sys.exit(f"{codec}: {failures[:3]}")


def confluent_read(bootstrap, topic, count):
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    until = time.monotonic() + PATIENCE
    values = []
    while len(values) < count and time.monotonic() < until:
        message = consumer.poll(0.2)
        if message is not None:
            if message.error():
                sys.exit(str(message.error()))
            values.append(message.value().decode())
    consumer.close()
    return values


def python_make(bootstrap, topic, records):
    from kafka import KafkaProducer

    for codec in CODECS:
        producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            linger_ms=200,
        )
        sent = [
            producer.send(
                topic,
                key=f"k{number}".encode(),
                value=value("kafka-python", codec, number).encode(),
                headers=[("codec", codec.encode())],
                partition=0,
            )
            for number in range(1, records + 1)
        ]
        for future in sent:
            future.get(timeout=PATIENCE)
        producer.close()


def python_read(bootstrap, topic, count):
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=None, consumer_timeout_ms=int(PATIENCE * 1000)
    )
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    values = []
    for message in consumer:
        values.append(message.value.decode())
        if len(values) == count:
            break
    consumer.close()
    return values


def text(string):
    return struct.pack(">h", len(string)) + string.encode()


def log_of(bootstrap, topic):
    """The bytes of partition 0: a Fetch v4 without anything that could hide a codec."""
    host, port = bootstrap.rsplit(":", 1)
    at, log = 0, b""
    with socket.create_connection((host, int(port)), PATIENCE) as connection:
        while True:
            body = struct.pack(">iiiib", -1, 100, 1, 1 << 24, 0) + struct.pack(">i", 1)
            body += text(topic) + struct.pack(">iiqi", 1, 0, at, 1 << 24)
            frame = struct.pack(">hhi", 1, 4, 1) + text("codecs") + body
            connection.sendall(struct.pack(">i", len(frame)) + frame)
            (size,) = struct.unpack(">i", exactly(connection, 4))
            answer = exactly(connection, size)
            # Correlation id, throttle time, topics, name, partitions; index, code, two offsets,
            # aborted transactions (none), size of the records.
            place = 4 + 4 + 4 + 2 + len(topic) + 4
            code, _, _, aborted, length = struct.unpack_from(">hqqii", answer, place + 4)
            if code or aborted > 0:
                sys.exit(f"fetch: code {code}, {aborted} aborted")
            if not length:
                return log
            found = answer[-length:]
            log += found
            for base, _, _, last in batches(found):
                at = base + last + 1


def batches(log):
    at = 0
    while at + 61 <= len(log):
        base, length = struct.unpack_from(">qi", log, at)
        attributes, last = struct.unpack_from(">hi", log, at + 21)
        yield base, length, attributes, last
        at += 12 + length


def exactly(connection, size):
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        if not part:
            sys.exit("the broker closed the connection")
        found += part
    return found


def wire(bootstrap, topic):
    names = []
    for _, _, attributes, _ in batches(log_of(bootstrap, topic)):
        name = CODECS[attributes & 7]
        if names[-1:] != [name]:
            names.append(name)
    print(*names)


def main(bootstrap, library, action, topic, records):
    records = int(records)
    if library == "wire":
        return wire(bootstrap, topic)
    make, read = {
        "confluent": (confluent_make, confluent_read),
        "kafka-python": (python_make, python_read),
    }[library]
    if action == "make":
        return make(bootstrap, topic, records)
    print(*read(bootstrap, topic, len(CODECS) * records), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
