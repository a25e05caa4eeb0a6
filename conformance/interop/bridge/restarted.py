#!/usr/bin/env python3
"""restarted.py BROKER PROGRAM...: acknowledgements of one transaction before and after a restart of the
broker. Records that were only acquired are nobody's then, and what a transaction of version 1 had taken is
not known any more, so the rest is refused; the producer must be able to abort and go on.

BROKER is a command for a broker, PROGRAM that of a producer; it gets BOOTSTRAP and a table of one row with
two texts, and after the first says `waiting` until there is a line. Prints what became of it, and why.
librdkafka 2.16 is not asked: where its coordinator goes away within a transaction, its call does not end
by its own time limit (seen: four minutes for one of 30 seconds).
"""
import shlex
import shutil
import subprocess
import sys
import tempfile

import scene
from crash_copy import Broker

TWO = "acks:accept=0@1 acks:accept=1@1"
ROW = ("restarted", "old", "registration", "transactional", "orders", 0, 1, TWO, "-", -1, "-")


def main():
    directory = tempfile.mkdtemp(prefix="ackord-bridge-")
    broker = Broker(shlex.split(sys.argv[1]), directory)
    program = None
    try:
        servers = {"bootstrap.servers": broker.address}
        scene.prepare(servers)
        holder = scene.member(servers, "transactional", "holder")
        scene.hold(holder)
        with open(f"{directory}/table", "w") as table:
            print(*ROW, sep="\t", file=table)
        program = subprocess.Popen(
            [*sys.argv[2:], broker.address, table.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        line = program.stdout.readline()
        if line != "waiting\n":
            sys.exit(f"the producer has not come to its second acknowledgements: {line}")
        broker.kill()
        broker.start()
        found, _ = program.communicate("\n", scene.PATIENCE)
        with open(f"{directory}/broker.log") as log:
            said = [line.rsplit(" refused: ", 1)[-1] for line in log if " refused: " in line]
            reasons = [line.rsplit(", and ", 1)[-1] for line in said]
        print(found, *reasons, sep="", end="")
    finally:
        if program and program.poll() is None:
            program.kill()
        broker.kill()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
