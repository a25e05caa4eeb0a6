#!/usr/bin/env python3
"""refusals.py BOOTSTRAP TABLE: each kind of refused acknowledgement, with librdkafka's producer. After
each the same producer aborts and commits its next transaction.
"""
import csv
import struct
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

ID = "refused-python"
PATIENCE = 30.0  # seconds


def metadata_of(row):
    """As of a member that this program is not, in the form that librdkafka itself gives."""
    generation = struct.pack("=i", int(row["generation"]))
    member = "" if row["member"] == "-" else row["member"]
    names = f"{row['group']}\0{member}\0".encode()
    no_instance = b"\1"
    return b"CGMDv2:" + generation + names + no_instance


def producer_of(bootstrap, name, **configs):
    own = {"bootstrap.servers": bootstrap, "transactional.id": name, "log_level": 2}
    producer = Producer(own | {name.replace("_", "."): value for name, value in configs.items()})
    producer.init_transactions(PATIENCE)
    return producer


def refused(producer, row, meanwhile=lambda offset: None):
    """What became of the producer."""
    offsets = []
    producer.begin_transaction()
    producer.produce(
        "enriched", value=b"refused", on_delivery=lambda _, message: offsets.append(message.offset())
    )
    producer.flush(PATIENCE)
    meanwhile(offsets[0])
    try:
        times = 2 if row["kind"] == "partition-twice" else 1
        for text in row["text"].split(" "):
            entry = TopicPartition(row["topic"], int(row["partition"]), int(row["offset"]), text)
            producer.send_offsets_to_transaction([entry] * times, metadata_of(row), PATIENCE)
        return "accepted"
    except KafkaException as error:
        if error.args[0].fatal():
            return f"fatal, {error.args[0].name()}"
    producer.abort_transaction(PATIENCE)
    producer.begin_transaction()
    producer.produce("enriched", value=b"good")
    producer.commit_transaction(PATIENCE)
    return "refused, aborted, went on"


def timed_out(bootstrap, row):
    """The broker aborts first: there is a marker behind the record."""
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})

    def marked(offset):
        partition = TopicPartition("enriched", 0)
        while reader.get_watermark_offsets(partition, PATIENCE)[1] < offset + 2:
            time.sleep(0.1)

    timeouts = {"transaction_timeout_ms": 1000, "message_timeout_ms": 1000}
    return refused(producer_of(bootstrap, f"{ID}-timed-out", **timeouts), row, marked)


def fenced(bootstrap, row):
    """Another producer takes the transactional id."""
    name = f"{ID}-fenced"
    producer = producer_of(bootstrap, name)
    return refused(producer, row, lambda _: producer_of(bootstrap, name))


def main():
    bootstrap, table = sys.argv[1:]
    columns = "kind clients counted group topic partition offset text member generation".split()
    producer = producer_of(bootstrap, ID)
    alone = {"timed-out": timed_out, "fenced": fenced}
    csv.field_size_limit(1 << 20)
    with open(table) as lines:
        for row in csv.DictReader(lines, columns, delimiter="\t", quoting=csv.QUOTE_NONE):
            kind = row["kind"]
            found = alone[kind](bootstrap, row) if kind in alone else refused(producer, row)
            print(kind, found, sep=": ", flush=True)


if __name__ == "__main__":
    main()
