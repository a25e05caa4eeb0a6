#!/usr/bin/env python3
"""seed.py VECTORS CORPUS: makes a starting corpus for each fuzz target, from the golden vectors
and, for texts of acknowledgements, from their grammar.

VECTORS is the folder with the .tsv.gz tables; CORPUS gets one folder for each target.
"""

import gzip
import hashlib
import struct
import sys
from pathlib import Path

# Longer ones slow the fuzzer down more than they teach it.
LONGEST = 4096

ACKS_TEXTS = (
    "acks:accept=0@1",
    "acks:accept=0-9@1,12@3;reject=10@1;gap=11@1",
    "acks:gap=9223372036854775807@32767\0",
    "acks:reject=5-6@2;accept=0-4@1,7-9@2",
    "acks:accept=0-9@1,5@1",
    "acks:accept=01@1",
    "acks:accept=0@0",
    "acks:accept=",
)


def rows(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as table:
        names = next(table).rstrip("\n").removeprefix("# ").split("\t")
        for line in table:
            yield dict(zip(names, line.rstrip("\n").split("\t")))


def main(vectors, corpus):
    count = 0

    def seed(target, data):
        nonlocal count
        if 0 < len(data) <= LONGEST:
            folder = corpus / target
            folder.mkdir(parents=True, exist_ok=True)
            (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)
            count += 1

    versions = {
        (row["api_key"], row["version"]): (row["request_header"], row["response_header"])
        for row in rows(vectors / "headers.tsv.gz")
    }

    def message(row):
        body = bytes.fromhex(row["hex"])
        request, response = versions.get((row["api_key"], row["version"]), ("2", "1"))
        api = struct.pack(">hh", int(row["api_key"]), int(row["version"]))
        if row["kind"] == "request":
            header = api + struct.pack(">ih", 7, -1) + (b"\0" if request == "2" else b"")
            seed("request", header + body)
        else:
            header = api + struct.pack(">i", 7) + (b"\0" if response == "1" else b"")
            seed("response", header + body)

    for path in sorted((vectors / "messages").glob("*.tsv.gz")):
        for row in rows(path):
            if row["variant"] in ("one", "full", "nulls", "tags1", "random1"):
                message(row)
    for row in rows(vectors / "malformed.tsv.gz"):
        message(row)
    stream = b""
    for row in rows(vectors / "frames.tsv.gz"):
        frame = bytes.fromhex(row["hex"])
        if row["kind"] == "request":
            seed("request", frame[4:])
        seed("frame_buffer", b"\x03\x10" + frame)
        stream += frame
        seed("frame_buffer", b"\x00\xff" + stream)
    for row in rows(vectors / "odd-frames.tsv.gz"):
        seed("request", bytes.fromhex(row["hex"]))
    for table in ("batches", "record-sets", "corrupt-batches"):
        for row in rows(vectors / f"{table}.tsv.gz"):
            batch = bytes.fromhex(row["hex"])
            seed("batch", batch)
            if len(batch) > 61 and table == "batches":
                seed("records", bytes([batch[22] & 7]) + batch[61:])
    topics = {"__consumer_offsets": 5, "__share_group_state": 6, "__transaction_state": 7}
    for row in rows(vectors / "coordinator-records.tsv.gz"):
        key = bytes.fromhex(row["key_hex"])
        if row["value_hex"] != "null" and len(key) < 256:
            value = bytes.fromhex(row["value_hex"])
            seed("records", bytes([topics[row["topic"]], len(key)]) + key + value)
    structures = {
        "ConsumerProtocolSubscription": 8,
        "ConsumerProtocolAssignment": 9,
        "DefaultPrincipalData": 10,
        "AbortedTxn": 11,
    }
    for row in rows(vectors / "embedded.tsv.gz"):
        if row["name"] in structures:
            seed("records", bytes([structures[row["name"]]]) + bytes.fromhex(row["hex"]))
    for text in ACKS_TEXTS:
        seed("acks_text", text.encode())
    print(f"{count} seeds")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
