#!/usr/bin/env python3
"""Reads what kafka-verifiable-share-consumer prints: which records were seen and acknowledged."""

import json
import sys


def main():
    seen = {"records_consumed": {}, "offsets_acknowledged": {}}
    for line in sys.stdin:
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        if event["name"] not in seen:
            continue
        if not event.get("success", True):
            sys.exit(f"failed: {line}")
        for partition in event["partitions"]:
            place = f"{partition['topic']}-{partition['partition']}"
            seen[event["name"]].setdefault(place, []).extend(partition["offsets"])
    for name, places in seen.items():
        for place, offsets in sorted(places.items()):
            print(f"{name} {place}: {min(offsets)}-{max(offsets)}, {len(offsets)} in all")


if __name__ == "__main__":
    main()
