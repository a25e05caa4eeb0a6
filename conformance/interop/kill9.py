#!/usr/bin/env python3
"""Kills the broker with SIGKILL at random moments while workers copy a topic exactly once.

kill9.py BROKER COPY [--kills N] [--records N] [--workers N] [--batch N] [--consumer COMMAND]
         [--afterwards COMMAND] [--seed S]

BROKER is the `ackord` binary, COPY the `exactly_once` example. The broker is restarted on the same
directory and port each time. COPY prints its own account; with --consumer the output is read once
more by another program, which gets `--bootstrap-server HOST:PORT --topic T --partition P` and
must print one record a line (Kafka's console consumer with its options). With --afterwards another
program looks whether anything is left over: it gets `HOST:PORT GROUP TOPIC PREFIX-OF-IDS`.
"""
import argparse
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter


def start(binary, directory, port):
    """Starts the broker; returns the process and its port once it serves."""
    log = open(f"{directory}.log", "a")
    command = [binary, "--listen", f"127.0.0.1:{port}", "--data-dir", directory, "--durability", "sync"]
    broker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    line = broker.stdout.readline()
    if not line.startswith("ackord ready on "):
        sys.exit(f"the broker did not start: see {log.name}")
    return broker, int(line.rsplit(":", 1)[1])


def read_back(command, address, topic, partitions):
    """Every committed record, as another program sees it."""
    values = Counter()
    for partition in range(partitions):
        arguments = ["--bootstrap-server", address, "--topic", topic, "--partition", str(partition)]
        done = subprocess.run(shlex.split(command) + arguments, capture_output=True, text=True)
        values.update(done.stdout.split())
    return values


def main():
    options = argparse.ArgumentParser()
    options.add_argument("broker")
    options.add_argument("copy")
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--records", type=int, default=10_000)
    options.add_argument("--partitions", type=int, default=4)
    options.add_argument("--batch", type=int, default=10)
    options.add_argument("--workers", type=int, default=8)
    options.add_argument("--zombies", type=int, default=2, help="in a hundred transactions")
    options.add_argument("--consumer")
    options.add_argument("--afterwards")
    options.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = options.parse_args()
    print(f"seed {options.seed}")
    chance = random.Random(options.seed)
    directory = tempfile.mkdtemp(prefix="ackord-kill9-")
    broker, port = start(options.broker, directory, 0)
    address = f"127.0.0.1:{port}"
    limit = 300 + 2 * options.kills
    copy = subprocess.Popen(
        [options.copy, "--against", address, "--records", str(options.records), "--partitions",
         str(options.partitions), "--batch", str(options.batch), "--workers", str(options.workers),
         "--zombies", str(options.zombies), "--limit", str(limit), "--name", "kill9"])
    kills = 0
    try:
        while copy.poll() is None:
            pause = chance.uniform(0.03, 0.3)
            try:
                copy.wait(pause)
                break
            except subprocess.TimeoutExpired:
                pass
            if kills < options.kills:
                broker.send_signal(signal.SIGKILL)
                broker.wait()
                kills += 1
                broker, _ = start(options.broker, directory, port)
        clean = copy.returncode == 0
        print(f"killed {kills} times, the copy ended with {copy.returncode}")
        if kills < options.kills:
            print(f"the copy was over before {options.kills} kills")
            clean = False
        if options.consumer:
            values = read_back(options.consumer, address, "kill9-out", options.partitions)
            lost = sum(f"enriched-{number}" not in values for number in range(options.records))
            doubled = sum(count - 1 for count in values.values())
            print(f"read back from outside: {len(values)}, lost {lost}, doubled {doubled}")
            clean = clean and lost == 0 and doubled == 0
        if options.afterwards:
            arguments = [address, "kill9", "kill9-in", "kill9"]
            left = subprocess.run(shlex.split(options.afterwards) + arguments, timeout=300)
            clean = clean and left.returncode == 0
    finally:
        for process in (copy, broker):
            if process.poll() is None:
                process.kill()
                process.wait()
    if clean:
        shutil.rmtree(directory, ignore_errors=True)
    else:
        print(f"left for inspection: {directory} and {directory}.log")
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
