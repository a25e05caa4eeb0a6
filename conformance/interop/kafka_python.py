#!/usr/bin/env python3
"""kafka_python.py BOOTSTRAP: transactions with offsets, with kafka-python. Prints what it saw."""

import sys

from kafka import (
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    OffsetAndMetadata,
    TopicPartition,
)
from kafka.admin import NewTopic

TOPIC = "kafka-python-target"
GROUP = "kafka-python-copy"
PARTITION = TopicPartition(TOPIC, 0)
PATIENCE = 30.0  # seconds


def committed(bootstrap):
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=GROUP)
    offset = consumer.committed(PARTITION)
    consumer.close()
    return offset


def transactions(bootstrap):
    """Offsets of the group after a commit, an abort and a commit."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=GROUP)
    producer.init_transactions()
    offsets = []
    for prefix, offset, commits in [("c", 5, True), ("x", 10, False), ("d", 10, True)]:
        producer.begin_transaction()
        for n in range(5):
            producer.send(TOPIC, value=f"{prefix}{n}".encode(), partition=0)
        producer.send_offsets_to_transaction({PARTITION: OffsetAndMetadata(offset, "", -1)}, GROUP)
        if commits:
            producer.commit_transaction()
        else:
            producer.flush()
            producer.abort_transaction()
        offsets.append(committed(bootstrap))
    producer.close()
    return offsets


def read(bootstrap, count, isolation):
    """Values in the order of the log."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=None,
        isolation_level=isolation,
        consumer_timeout_ms=int(PATIENCE * 1000),
    )
    consumer.assign([PARTITION])
    consumer.seek_to_beginning(PARTITION)
    values = []
    for message in consumer:
        values.append(message.value.decode())
        if len(values) == count:
            break
    consumer.close()
    return values


def main(bootstrap):
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(TOPIC, 1, 1)])
    print("offsets:", *transactions(bootstrap))
    print("committed:", *read(bootstrap, 10, "read_committed"))
    print("all:", len(read(bootstrap, 15, "read_uncommitted")))


if __name__ == "__main__":
    main(sys.argv[1])
