#!/usr/bin/env python3
"""together.py BOOTSTRAP NAME=COMMAND...: consumers of different libraries in one share group.

Each command gets BOOTSTRAP, a topic and a group, joins the group, prints the value of a record once
its acknowledgement has been taken, and stops where its standard input ends. Records are produced
until each has had some. Prints what was found.
"""

import shlex
import subprocess
import sys
import threading
import time
from collections import Counter

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

import confluent

TOPIC = "together"
GROUP = "together"
PARTITIONS = 4
WAVE = 50  # records
SOME = 20  # records that each shall have
PATIENCE = 45.0  # seconds


class Member:
    """A consumer, and the records that it has printed."""

    def __init__(self, name, command, bootstrap):
        self.name = name
        self.values = []
        arguments = [*shlex.split(command), bootstrap, TOPIC, GROUP]
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.values.append(line.rstrip("\n"))

    def stop(self):
        self.process.stdin.close()
        try:
            status = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = "killed"
        self.reader.join()
        return status


def wave(producer, first):
    """Some records into each partition, so that no member can take them all at once."""
    for number in range(first, first + WAVE):
        producer.produce(TOPIC, value=str(number), partition=number % PARTITIONS)
    if producer.flush(PATIENCE):
        sys.exit("not all was produced")
    return first + WAVE


def had(members):
    return sum(len(member.values) for member in members)


def run(bootstrap, members):
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    until = time.monotonic() + PATIENCE
    produced = 0
    while time.monotonic() < until and any(len(member.values) < SOME for member in members):
        if had(members) >= produced - WAVE:
            produced = wave(producer, produced)
        time.sleep(0.05)
    while time.monotonic() < until and had(members) < produced:
        time.sleep(0.05)
    # A moment more: what was accepted must not come again.
    time.sleep(2)
    return produced


def main(bootstrap, commands):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(PATIENCE)
    confluent.read_from_earliest(bootstrap, GROUP)
    members = [Member(*command.split("=", 1), bootstrap) for command in commands]
    try:
        produced = run(bootstrap, members)
    finally:
        statuses = {member.name: member.stop() for member in members}
    for member in members:
        print(f"# {member.name}: {len(member.values)} records", file=sys.stderr)
        few = len(member.values) < SOME
        found = "too few" if few else "some"
        print(f"{member.name}: {found}, stopped: {statuses[member.name]}")
    times = Counter(value for member in members for value in member.values)
    missing = [number for number in range(produced) if str(number) not in times]
    twice = [value for value, count in times.items() if count > 1]
    print(f"missing: {missing[:10]}, twice: {twice[:10]}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
