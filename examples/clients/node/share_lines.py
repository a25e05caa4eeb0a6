#!/usr/bin/env python3
"""A share consumer for programs whose client has none: one JSON line for each batch of records.

share_lines.py BOOTSTRAP TOPIC GROUP

It holds the acquisition locks of a batch until a line on standard input says what became of it,
`accept` or `release`. It ends at SIGTERM, or with the program that started it.
"""
import json
import os
import signal
import sys

from confluent_kafka import AcknowledgeType, ShareConsumer
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

VERDICTS = {"accept": AcknowledgeType.ACCEPT, "release": AcknowledgeType.RELEASE}


def require_transactional_mode(bootstrap, group):
    """On a broker that only knows plain acknowledgement the output could be committed without it."""
    resource = ConfigResource(ResourceType.GROUP, group)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    mode = admin.describe_configs([resource])[resource].result(30).get("share.acknowledgement.mode")
    if mode is None or mode.value != "transactional":
        sys.exit(f"group {group} needs share.acknowledgement.mode=transactional on this broker")


def line_of(message):
    return {
        "partition": message.partition(),
        "offset": str(message.offset()),
        "count": message.delivery_count(),
        "key": message.key() and message.key().decode(),
        "value": message.value() and message.value().decode(),
    }


def main():
    bootstrap, topic, group = sys.argv[1:]
    require_transactional_mode(bootstrap, group)
    consumer = ShareConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
        }
    )
    consumer.subscribe([topic])
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    # Whoever started this may be killed while there is nothing to say.
    parent = os.getppid()
    while not ended and os.getppid() == parent:
        messages = [message for message in consumer.poll(timeout=0.5) if not message.error()]
        if not messages:
            continue
        print(json.dumps([line_of(message) for message in messages]), flush=True)
        verdict = VERDICTS.get(sys.stdin.readline().strip())
        if verdict is None:
            break
        for message in messages:
            consumer.acknowledge(message, verdict)
    consumer.close()


if __name__ == "__main__":
    main()
