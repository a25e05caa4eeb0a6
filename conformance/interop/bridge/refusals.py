#!/usr/bin/env python3
"""refusals.py BOOTSTRAP TABLE: each kind of refused acknowledgement, with librdkafka. After each the
same producer aborts and commits its next transaction. Rows that name a member are left out: the
client gives no group metadata but its own.
"""
import csv
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer, ShareConsumer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

PATIENCE = 30.0  # seconds


def configure(admin, group, **configs):
    entries = [
        ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for name, value in configs.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE)


def prepare(bootstrap):
    """A record in `orders`, and groups: transactional, plain, and one of configs alone."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for name, created in admin.create_topics(
        [NewTopic("orders", 1, 1), NewTopic("enriched", 1, 1)]
    ).items():
        created.result(PATIENCE)
    mode = "transactional"
    configure(admin, mode, share_auto_offset_reset="earliest", share_acknowledgement_mode=mode)
    configure(admin, "configs", share_acknowledgement_mode=mode)
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce("orders", value=b"order")
    producer.flush(PATIENCE)


def member_of(bootstrap, group):
    consumer = ShareConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
        }
    )
    consumer.subscribe(["orders"])
    return consumer


def refused(producer, metadata, entry):
    """Whether the broker refused, and the producer could abort and go on."""
    producer.begin_transaction()
    producer.produce("enriched", value=b"refused")
    try:
        producer.send_offsets_to_transaction([entry], metadata, PATIENCE)
        return "accepted"
    except KafkaException as error:
        if not error.args[0].txn_requires_abort():
            return f"fatal: {error}"
    producer.abort_transaction(PATIENCE)
    producer.begin_transaction()
    producer.produce("enriched", value=b"good")
    producer.commit_transaction(PATIENCE)
    return "refused, aborted, went on"


def main():
    bootstrap, table = sys.argv[1:]
    prepare(bootstrap)
    holder, plain = member_of(bootstrap, "transactional"), member_of(bootstrap, "plain")
    until = time.monotonic() + PATIENCE
    while not holder.poll(timeout=0.5) and time.monotonic() < until:
        plain.poll(timeout=0)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "refused-python"})
    producer.init_transactions(PATIENCE)
    with open(table) as rows:
        for kind, group, partition, text, member, generation in csv.reader(rows, delimiter="\t"):
            if kind.startswith("#") or member != "-" or generation != "-1":
                continue
            own = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
            entry = TopicPartition("orders", int(partition), 1, text)
            print(kind, refused(producer, own.consumer_group_metadata(), entry), sep=": ")
    # Transaction version 1 takes one content for each group.
    producer.begin_transaction()
    own = Consumer({"bootstrap.servers": bootstrap, "group.id": "transactional"})
    metadata = own.consumer_group_metadata()
    good = TopicPartition("orders", 0, 1, "acks:accept=0@1")
    producer.send_offsets_to_transaction([good], metadata, PATIENCE)
    try:
        other = TopicPartition("orders", 0, 1, "acks:reject=0@1")
        producer.send_offsets_to_transaction([other], metadata, PATIENCE)
        print("another-content: accepted")
    except KafkaException:
        producer.abort_transaction(PATIENCE)
        producer.begin_transaction()
        producer.produce("enriched", value=b"good")
        producer.commit_transaction(PATIENCE)
        print("another-content: refused, aborted, went on")


if __name__ == "__main__":
    main()
