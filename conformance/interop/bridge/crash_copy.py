#!/usr/bin/env python3
"""One client copies a topic through the bridge while it and the broker are killed.

crash_copy.py BROKER AFTERWARDS PROGRAM... [--records N] [--abort PERCENT]

BROKER is a command for a broker, PROGRAM that of a copier, with {bootstrap}, {input}, {output},
{group}, {id}, {abort} and {idle} (seconds) for their values. Records come in for a while; the copier
is killed once and started again, as it is whenever it fails; the broker is killed once and started
again on its data. Then everything that came in must have been copied, nothing twice; and AFTERWARDS, a
command that is given the address, the group, the input and the prefix of the transactional ids, must
find nothing that waits.
"""
import argparse
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

PARTITIONS = 2
PATIENCE = 60.0  # seconds
GROUP_CONFIGS = {
    "share.acknowledgement.mode": "transactional",
    "share.auto.offset.reset": "earliest",
    # Shorter than a copier waits for more.
    "share.record.lock.duration.ms": "5000",
}


class Broker:
    """A broker that can be killed and comes back on its port and data."""

    def __init__(self, command, directory):
        self.command, self.directory, self.port = command, directory, 0
        self.process = None
        self.start()

    def start(self):
        log = open(f"{self.directory}/broker.log", "a")
        where = ["--listen", f"127.0.0.1:{self.port}", "--data-dir", f"{self.directory}/data"]
        self.process = subprocess.Popen(
            self.command + where, stdout=subprocess.PIPE, stderr=log, text=True
        )
        line = self.process.stdout.readline()
        if not line.startswith("ackord ready on "):
            sys.exit(f"the broker did not start: {log.name}")
        self.port = int(line.rsplit(":", 1)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"


def prepare(address):
    admin = AdminClient({"bootstrap.servers": address})
    topics = [NewTopic(name, PARTITIONS, 1) for name in ("orders", "enriched")]
    for created in admin.create_topics(topics).values():
        created.result(PATIENCE)
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in GROUP_CONFIGS.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, "copiers", incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE)


def feed(address, records, seconds):
    """Sends the inputs little by little, so that there are many transactions."""
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 20})
    for number in range(records):
        producer.produce("orders", value=f"order-{number}".encode(), partition=number % PARTITIONS)
        producer.poll(0)
        time.sleep(seconds / records)
    producer.flush(PATIENCE)


def start(program, values):
    """In a process group of its own, so that helpers of the program are killed with it."""
    command = [word.format(**values) for word in program]
    return subprocess.Popen(command, stdout=sys.stderr, start_new_session=True)


def kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # It has just ended by itself.
    process.wait()


def copied(address):
    """What a read_committed consumer sees."""
    config = {
        "bootstrap.servers": address,
        "group.id": "unused",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
    }
    consumer = Consumer(config)
    consumer.assign([TopicPartition("enriched", n, OFFSET_BEGINNING) for n in range(PARTITIONS)])
    values, ends = Counter(), set()
    while len(ends) < PARTITIONS:
        message = consumer.poll(PATIENCE)
        if message is None:
            sys.exit("the output cannot be read")
        if message.error():
            ends.add(message.partition())
        else:
            values[message.value().decode()] += 1
    consumer.close()
    return values


def main():
    options = argparse.ArgumentParser()
    options.add_argument("broker")
    options.add_argument("afterwards")
    options.add_argument("--records", type=int, default=1500)
    options.add_argument("--abort", type=int, default=20)
    options.add_argument("program", nargs="+")
    options = options.parse_args()
    directory = tempfile.mkdtemp(prefix="ackord-bridge-")
    broker = Broker(shlex.split(options.broker), directory)
    address = broker.address
    prepare(address)
    feeder = threading.Thread(target=feed, args=(address, options.records, 12), daemon=True)
    feeder.start()
    values = {
        "bootstrap": address,
        "input": "orders",
        "output": "enriched",
        "group": "copiers",
        "id": "copy-1",
        "abort": options.abort,
        "idle": 15,
    }
    copier, starts = start(options.program, values), 1
    kills = [("copier", 5.0), ("broker", 10.0)]
    began = time.monotonic()
    try:
        while copier.poll() != 0 or kills:
            if time.monotonic() - began > 240 or starts > 20:
                sys.exit(f"the copy does not end: {starts} starts")
            if kills and time.monotonic() - began > kills[0][1]:
                if kills.pop(0)[0] == "copier":
                    kill(copier)
                else:
                    broker.kill()
                    time.sleep(random.uniform(0, 1))
                    broker.start()
            if copier.poll() not in (None, 0) or (copier.poll() == 0 and kills):
                time.sleep(1)
                copier, starts = start(options.program, values), starts + 1
            time.sleep(0.1)
        feeder.join()
        found = copied(address)
        wanted = {f"ORDER-{number}" for number in range(options.records)}
        lost = len(wanted - found.keys())
        doubled = sum(found.values()) - len(found)
        print(f"{starts} starts, {time.monotonic() - began:.0f} s", file=sys.stderr)
        print(f"{options.records} records, {lost} lost, {doubled} doubled")
        asked = [*shlex.split(options.afterwards), address, "copiers", "orders", values["id"]]
        left = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=False)
        print(left.stdout, end="")
        if lost or doubled or left.returncode:
            print(*open(f"{directory}/broker.log"), sep="", file=sys.stderr)
    finally:
        if copier.poll() is None:
            kill(copier)
        broker.kill()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
