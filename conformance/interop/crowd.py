#!/usr/bin/env python3
"""Many connections on one broker: idle ones, busy ones, and one that asks and never reads.

crowd.py BROKER COPY [--idle N] [--busy N] [--fetches N] [--limit MIB]

BROKER is `ackord` or `ackord-async-std`, COPY an `exactly_once` example, which fills a topic. The
broker has to serve everybody, and its memory to stay below the limit. Ends with
`N passed, N failed`.
"""
import argparse
import asyncio
import resource
import struct
import subprocess
import sys
import time

ROUNDS = 100
PATIENCE = 60


def request(api, version, body):
    """A frame with header version 1: no client id."""
    content = struct.pack(">hhih", api, version, 7, -1) + body
    return struct.pack(">i", len(content)) + content


API_VERSIONS = request(18, 0, b"")


def fetch(topic):
    """Fetch v4: what there is of partition 0 from the beginning."""
    name = topic.encode()
    partition = struct.pack(">iqi", 0, 0, 1 << 20)
    topics = struct.pack(">ih", 1, len(name)) + name + struct.pack(">i", 1) + partition
    return request(1, 4, struct.pack(">iiiib", -1, 0, 1, 50 << 20, 0) + topics)


def resident(process):
    """MiB of memory."""
    with open(f"/proc/{process.pid}/status") as status:
        line = next(line for line in status if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


async def reply(reader):
    size = struct.unpack(">i", await reader.readexactly(4))[0]
    return await reader.readexactly(size)


async def busy(port):
    """A client that asks again and again."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(ROUNDS):
        writer.write(API_VERSIONS)
        await asyncio.wait_for(reply(reader), PATIENCE)
    writer.close()


async def one_answer(reader, writer):
    writer.write(API_VERSIONS)
    return len(await asyncio.wait_for(reply(reader), PATIENCE)) > 0


async def deaf(port, topic, fetches):
    """Pipelines fetches as far as the broker takes them, and reads nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
    writer.write(fetch(topic) * fetches)
    return reader, writer


def check(results, name, holds, detail):
    results.append(bool(holds))
    print(f"# {'ok' if holds else 'FAILED'}: {name}: {detail}")


async def crowd(options, process, port):
    results = []
    empty = resident(process)
    idle = []
    for start in range(0, options.idle, 100):
        count = min(100, options.idle - start)
        opened = [asyncio.open_connection("127.0.0.1", port) for _ in range(count)]
        idle += await asyncio.gather(*opened)
    await one_answer(*idle[-1])
    calm = resident(process)
    detail = f"{empty:.0f} MiB, then {calm:.0f} MiB"
    check(results, f"{options.idle} idle connections", calm - empty < options.limit, detail)
    unread = await deaf(port, "crowd-in", options.fetches)
    await asyncio.gather(*[busy(port) for _ in range(options.busy)])
    peak = resident(process)
    detail = f"{ROUNDS} answers each"
    check(results, f"{options.busy} busy connections", True, detail)
    detail = f"{calm:.0f} MiB, then {peak:.0f} MiB"
    check(results, f"{options.fetches} fetches unread", peak - calm < options.limit, detail)
    answers = await asyncio.gather(*[one_answer(*connection) for connection in idle])
    check(results, "the idle ones afterwards", all(answers), f"{len(answers)} answers")
    unread[1].transport.abort()
    for _, writer in idle:
        writer.close()
    return results


def main():
    options = argparse.ArgumentParser()
    options.add_argument("broker")
    options.add_argument("copy")
    options.add_argument("--idle", type=int, default=5_000)
    options.add_argument("--busy", type=int, default=200)
    options.add_argument("--fetches", type=int, default=10_000)
    options.add_argument("--limit", type=int, default=64, help="MiB more than before")
    options = options.parse_args()
    wanted = options.idle + options.busy + 500
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        sys.exit(f"{wanted} open files are needed, {hard} allowed: raise `ulimit -Hn`, or lower --idle")
    # Inherited by the broker.
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    command = [options.broker, "--listen", "127.0.0.1:0", "--durability", "memory"]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        port = int(process.stdout.readline().rsplit(":", 1)[1])
        against = ["--against", f"127.0.0.1:{port}", "--name", "crowd", "--aborts", "0"]
        subprocess.run([options.copy, *against, "--losses", "0", "--partitions", "1"],
                       check=True, stdout=subprocess.DEVNULL)
        results = asyncio.run(crowd(options, process, port))
    finally:
        process.terminate()
        process.wait()
    print(f"# {options.broker}: {time.monotonic() - began:.0f} s")
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
