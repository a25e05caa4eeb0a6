#!/usr/bin/env python3
"""Copies a topic exactly once with confluent-kafka as it is: a share consumer and a
transactional producer. Acknowledgement and output commit together or not at all.

copy_orders.py BOOTSTRAP INPUT OUTPUT GROUP [--transactional-id ID] [--abort PERCENT] [--idle SECONDS]
"""
import argparse
import random
import signal
import sys
import time

from confluent_kafka import (
    AcknowledgeType,
    Consumer,
    KafkaException,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

TOO_LONG = 20  # seconds, for a transaction


def require_transactional_mode(bootstrap, group):
    """On a broker that only knows plain acknowledgement the output could be committed without it."""
    resource = ConfigResource(ResourceType.GROUP, group)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    mode = admin.describe_configs([resource])[resource].result(30).get("share.acknowledgement.mode")
    if mode is None or mode.value != "transactional":
        sys.exit(f"group {group} needs share.acknowledgement.mode=transactional on this broker")


def acknowledgements(messages):
    """One entry for each partition: `acks:accept=0-9@1,12@3`, each offset with its delivery count."""
    spans = {}
    for message in sorted(messages, key=lambda message: message.offset()):
        offset, count = message.offset(), message.delivery_count()
        ranges = spans.setdefault((message.topic(), message.partition()), [])
        if ranges and ranges[-1][1] == offset - 1 and ranges[-1][2] == count:
            ranges[-1][1] = offset
        else:
            ranges.append([offset, offset, count])
    for (topic, partition), ranges in spans.items():
        text = "acks:accept=" + ",".join(f"{first}-{last}@{count}" for first, last, count in ranges)
        # The offset is not used, but librdkafka drops an entry without one and says nothing.
        yield TopicPartition(topic, partition, ranges[-1][1] + 1, text)


def copy(producer, metadata, messages, output, abort):
    """One transaction. Whether its acknowledgements were sent, whatever became of them."""
    producer.begin_transaction()
    sent = False
    try:
        for message in messages:
            producer.produce(output, key=message.key(), value=message.value().upper())
        # All of a transaction's acknowledgements in one call: librdkafka speaks transaction
        # version 1, where the broker takes one.
        sent = True
        producer.send_offsets_to_transaction(list(acknowledgements(messages)), metadata, 30)
        if not abort:
            commit(producer)
            return sent
    except KafkaException as error:
        if not error.args[0].txn_requires_abort():
            raise  # The next start fences this producer, which aborts.
        print(f"aborting: {error}", file=sys.stderr)
    producer.abort_transaction(60)
    return sent


def commit(producer):
    while True:
        try:
            return producer.commit_transaction(60)
        except KafkaException as error:
            if not error.args[0].retriable():
                raise


def main():
    options = argparse.ArgumentParser()
    for name in ("bootstrap", "input", "output", "group"):
        options.add_argument(name)
    options.add_argument("--transactional-id", default="copy-orders")
    options.add_argument("--abort", type=int, default=0, help="percent of transactions")
    options.add_argument("--idle", type=float, help="end after so many seconds without a record")
    options = options.parse_args()
    servers = {"bootstrap.servers": options.bootstrap}
    require_transactional_mode(options.bootstrap, options.group)
    # The share consumer has no group metadata to give, and none is needed: the delivery counts say
    # which deliveries are meant.
    metadata = Consumer(servers | {"group.id": options.group}).consumer_group_metadata()
    producer = Producer(servers | {"transactional.id": options.transactional_id})
    producer.init_transactions(60)
    # Explicit, so that nothing is acknowledged behind the program's back.
    consumer = ShareConsumer(
        servers | {"group.id": options.group, "share.acknowledgement.mode": "explicit"}
    )
    consumer.subscribe([options.input])
    heard = time.monotonic()
    while options.idle is None or time.monotonic() - heard < options.idle:
        messages = [message for message in consumer.poll(timeout=0.5) if not message.error()]
        if not messages:
            continue
        heard = time.monotonic()
        abort = random.randrange(100) < options.abort
        # Where the broker goes away at the wrong moment, librdkafka 2.16 can wait for ever. The alarm
        # ends the program then, and the next start aborts what is open.
        signal.alarm(TOO_LONG)
        sent = copy(producer, metadata, messages, options.output, abort)
        signal.alarm(0)
        # For the client's books only: in this mode a plain acceptance settles nothing. What an abort
        # gave back may be on its way here again, and a release would free that delivery.
        verdict = AcknowledgeType.ACCEPT if sent else AcknowledgeType.RELEASE
        for message in messages:
            consumer.acknowledge(message, verdict)
    consumer.close()


if __name__ == "__main__":
    main()
