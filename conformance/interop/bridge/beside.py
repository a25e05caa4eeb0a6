#!/usr/bin/env python3
"""beside.py BOOTSTRAP MODE COMMAND...: share consumers beside transactional acknowledgements.

MODE is that of the group: `explicit`, where a producer that knows KIP-1289 acknowledges, or
`transactional`, where an unmodified one does. COMMAND is a share consumer as Member.java is; it gets
BOOTSTRAP, group and topic. Prints what each of them got and was told.
"""
import subprocess
import sys
import time

from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from transactions import PATIENCE, Bridge, Frames

LOCK = 60.0  # seconds; what comes again much earlier did not wait for it
AT_ONCE = 5.0  # seconds


class Member:
    """A share consumer."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def poll(self):
        """Begins to wait for records."""
        self.ask(f"poll {PATIENCE:.0f}")

    def gets(self):
        print(f"{self.name} gets {self.process.stdout.readline().strip() or 'nothing'}")

    def acknowledges(self, value, kind):
        print(f"{self.name}: {kind} {value}: {self.ask(f'acknowledge {value} {kind}')}")

    def leaves(self):
        self.process.stdin.close()
        if self.process.wait(PATIENCE):
            sys.exit(f"{self.name} failed")
        print(f"{self.name} leaves")


class Scene:
    """A topic of one partition, and a group with records that are locked for long."""

    def __init__(self, bootstrap, mode):
        self.bootstrap, self.name = bootstrap, f"beside-{mode}"
        self.producer = Producer({"bootstrap.servers": bootstrap})
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(self.name, 1, 1)])[self.name].result(PATIENCE)
        configs = {
            "share.acknowledgement.mode": mode,
            "share.auto.offset.reset": "earliest",
            "share.record.lock.duration.ms": f"{LOCK * 1000:.0f}",
        }
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in configs.items()
        ]
        resource = ConfigResource(ResourceType.GROUP, self.name, incremental_configs=entries)
        admin.incremental_alter_configs([resource])[resource].result(PATIENCE)

    def produce(self, *values):
        for value in values:
            self.producer.produce(self.name, value=value)
        if self.producer.flush(PATIENCE):
            sys.exit("not all was produced")

    def transactions(self, mode):
        kind = Bridge if mode == "transactional" else Frames
        return kind(self.bootstrap, f"{self.name}-id", self.name, self.name)


def play(scene, transactions, member):
    """What must not be delivered is there before a record that is, and has the lower offset."""
    scene.produce("r0", "r1")
    a = member("a")
    a.poll()
    a.gets()
    transactions.stage([("accept", 0, 0, 1), ("reject", 1, 1, 1)])
    print("r0 and r1 are pending")
    a.acknowledges("r0", "ACCEPT")
    a.acknowledges("r1", "RENEW")
    b = member("b")
    scene.produce("r2")
    b.poll()
    b.gets()
    b.acknowledges("r2", "ACCEPT")
    a.leaves()
    scene.produce("r3")
    b.poll()
    b.gets()
    b.acknowledges("r3", "ACCEPT")
    b.poll()
    transactions.end(False)
    aborted = time.monotonic()
    print("aborted")
    b.gets()
    waited = time.monotonic() - aborted
    print("at once" if waited < AT_ONCE else f"after {waited:.1f} s")
    return b


def main():
    bootstrap, mode, *command = sys.argv[1:]
    scene = Scene(bootstrap, mode)
    members = []

    def member(name):
        members.append(Member(name, [*command, bootstrap, scene.name, scene.name]))
        return members[-1]

    try:
        transactions = scene.transactions(mode)
        b = play(scene, transactions, member)
        ranges = [("accept", 0, 1, 2)]
        # In transactional mode a plain acceptance has acknowledged nothing.
        ranges += [("accept", 2, 3, 1)] if mode == "transactional" else []
        transactions.stage(ranges)
        transactions.end(True)
        print("committed")
        b.acknowledges("r0", "ACCEPT")
        b.acknowledges("r1", "ACCEPT")
        scene.produce("r4")
        b.poll()
        b.gets()
        b.leaves()
        c = member("c")
        c.poll()
        c.gets()
        c.leaves()
    finally:
        for left in members:
            if left.process.poll() is None:
                left.process.kill()


if __name__ == "__main__":
    main()
