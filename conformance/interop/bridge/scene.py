#!/usr/bin/env python3
"""scene.py BOOTSTRAP: what refusals.tsv speaks of, until it is ended. Prints `ready`.

Groups: `transactional`, whose member `holder` holds offsets 1, 4 and 5 of `orders` with count 1, while
`other` holds none; `plain`; `configs`, which has no more than that; `readers`, of consumers. Offsets 0
and 2 are accepted, 3 is pending in a transaction of the id `scene`.
"""
import sys
import time

from confluent_kafka import Consumer, Producer, ShareConsumer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

PATIENCE = 30.0  # seconds
RECORDS = 6
MODE = {"share.acknowledgement.mode": "transactional"}
GROUPS = {
    "transactional": MODE
    | {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": "300000"},
    "configs": MODE,
}


def configure(admin, group, configs):
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in configs.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE)


def prepare(servers):
    admin = AdminClient(servers)
    for created in admin.create_topics(
        [NewTopic("orders", 1, 1), NewTopic("enriched", 1, 1)]
    ).values():
        created.result(PATIENCE)
    for group, configs in GROUPS.items():
        configure(admin, group, configs)
    producer = Producer(servers | {"linger.ms": 100})
    for number in range(RECORDS):
        producer.produce("orders", value=str(number))
    if producer.flush(PATIENCE):
        sys.exit("not all was produced")
    reader = Consumer(servers | {"group.id": "readers", "enable.auto.commit": False})
    reader.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
    reader.close()


def member(servers, group, name):
    own = {"group.id": group, "client.id": name, "share.acknowledgement.mode": "explicit"}
    consumer = ShareConsumer(servers | own)
    consumer.subscribe(["orders"])
    return consumer


def hold(consumer):
    """Takes all records; they come in one batch."""
    until, held = time.monotonic() + PATIENCE, []
    while not held and time.monotonic() < until:
        held = consumer.poll(timeout=0.5)
    if len(held) != RECORDS:
        sys.exit(f"the holder got {len(held)} records")


def acknowledge(producer, metadata, text):
    producer.begin_transaction()
    entry = TopicPartition("orders", 0, 1, text)
    producer.send_offsets_to_transaction([entry], metadata, PATIENCE)


def main():
    servers = {"bootstrap.servers": sys.argv[1]}
    prepare(servers)
    holder = member(servers, "transactional", "holder")
    hold(holder)
    metadata = Consumer(servers | {"group.id": "transactional"}).consumer_group_metadata()
    producer = Producer(servers | {"transactional.id": "scene", "transaction.timeout.ms": 300_000})
    producer.init_transactions(PATIENCE)
    acknowledge(producer, metadata, "acks:accept=0@1,2@1")
    producer.commit_transaction(PATIENCE)
    acknowledge(producer, metadata, "acks:accept=3@1")
    others = [member(servers, "transactional", "other"), member(servers, "plain", "plain")]
    print("ready", flush=True)
    while True:
        # Who has something need not ask again.
        others = [other for other in others if not other.poll(timeout=0.2)]


if __name__ == "__main__":
    main()
