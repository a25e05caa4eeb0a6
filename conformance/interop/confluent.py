#!/usr/bin/env python3
"""confluent.py BOOTSTRAP CASE: one check with confluent-kafka (librdkafka). Prints what it saw.

confluent.py member BOOTSTRAP TOPIC GROUP: a consumer of a share group until standard input ends.
"""

import sys
import threading
import time
from collections import Counter

from confluent_kafka import (
    OFFSET_BEGINNING,
    AcknowledgeType,
    Consumer,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

PATIENCE = 30.0  # seconds


def fail(text):
    print(text)
    sys.exit(1)


def create(bootstrap, topic):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(PATIENCE)


def read_from_earliest(bootstrap, group):
    """Sets share.auto.offset.reset of a group."""
    entry = ConfigEntry(
        "share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE)


def produce(producer, topic, values):
    failures = []

    def delivered(error, _):
        if error is not None:
            failures.append(str(error))

    for value in values:
        producer.produce(topic, value=value.encode(), partition=0, on_delivery=delivered)
        producer.poll(0)
    left = producer.flush(PATIENCE)
    if failures or left:
        fail(f"{len(failures)} failed, {left} left: {failures[:3]}")


def read(bootstrap, topic, count, isolation="read_committed"):
    """Values in the order of the log, without a group's offsets; then a moment for surplus."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": isolation,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    values = []
    until = time.monotonic() + PATIENCE
    surplus = None
    while time.monotonic() < (surplus or until):
        message = consumer.poll(0.2)
        if message is not None:
            if message.error():
                fail(f"consumer: {message.error()}")
            values.append(message.value().decode())
        if len(values) >= count and surplus is None:
            surplus = time.monotonic() + 0.5
    consumer.close()
    return values


def idempotent(bootstrap):
    create(bootstrap, "idempotent")
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    values = [f"v{n}" for n in range(1000)]
    produce(producer, "idempotent", values)
    found = read(bootstrap, "idempotent", len(values))
    print(f"{len(found)} records, in order: {found == values}")


def transactions(bootstrap):
    create(bootstrap, "transactions")
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "t1"})
    producer.init_transactions(PATIENCE)
    rounds = [("commit", "c"), ("abort", "x"), ("commit", "d")]
    for outcome, prefix in rounds:
        producer.begin_transaction()
        produce(producer, "transactions", [f"{prefix}{n}" for n in range(5)])
        if outcome == "commit":
            producer.commit_transaction(PATIENCE)
        else:
            producer.abort_transaction(PATIENCE)
    print("committed:", *read(bootstrap, "transactions", 10))
    everything = read(bootstrap, "transactions", 15, "read_uncommitted")
    print("all:", len(everything))


def share(bootstrap):
    """Accept most, release each tenth once, reject each tenth plus five: counts of deliveries."""
    create(bootstrap, "share")
    read_from_earliest(bootstrap, "share-confluent")
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    produce(producer, "share", [str(n) for n in range(100)])
    consumer = ShareConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "share-confluent",
            "share.acknowledgement.mode": "explicit",
        }
    )
    consumer.subscribe(["share"])
    deliveries = Counter()
    until = time.monotonic() + PATIENCE
    surplus = None
    while time.monotonic() < (surplus or until):
        for message in consumer.poll(timeout=0.5):
            if message.error():
                fail(f"share consumer: {message.error()}")
            number = int(message.value())
            deliveries[number] += 1
            consumer.acknowledge(message, verdict(number, deliveries[number]))
        # A moment more: what was accepted or rejected must not come again.
        if deliveries.total() >= 110 and surplus is None:
            surplus = time.monotonic() + 2
    consumer.commit_sync()
    consumer.close()
    twice = sorted(number for number, times in deliveries.items() if times == 2)
    print(f"{len(deliveries)} records, {deliveries.total()} deliveries, twice: {twice}")


def verdict(number, delivery):
    if number % 10 == 0 and delivery == 1:
        return AcknowledgeType.RELEASE
    if number % 10 == 5:
        return AcknowledgeType.REJECT
    return AcknowledgeType.ACCEPT


def member(bootstrap, topic, group):
    """Prints a record once the broker has taken its acknowledgement."""
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    consumer = ShareConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
        }
    )
    consumer.subscribe([topic])
    while not ended.is_set():
        messages = list(consumer.poll(timeout=0.5))
        for message in messages:
            if message.error():
                fail(f"share consumer: {message.error()}")
            consumer.acknowledge(message)
        for partition, error in consumer.commit_sync().items():
            if error is not None:
                fail(f"acknowledgement: {partition}: {error}")
        for message in messages:
            print(message.value().decode(), flush=True)
    consumer.close()


CASES = {"idempotent": idempotent, "transactions": transactions, "share": share}

if __name__ == "__main__":
    if sys.argv[1] == "member":
        member(*sys.argv[2:])
    else:
        CASES[sys.argv[2]](sys.argv[1])
