"""Acknowledgements in transactions: with AddShareAcksToTxn and TxnShareAcknowledge (KIP-1289), as
frames; and over the bridge, with librdkafka's producer."""
import socket
import struct

from confluent_kafka import Consumer, Producer, TopicPartition, TopicCollection
from confluent_kafka.admin import AdminClient

PATIENCE = 30.0  # seconds
INIT_PRODUCER_ID, END_TXN = 22, 26
ADD_SHARE_ACKS_TO_TXN, TXN_SHARE_ACKNOWLEDGE = 12890, 12891
NO_TAGS = b"\0"
TYPES = {"accept": 1, "reject": 3}


def text(string):
    return bytes([len(string) + 1]) + string.encode()


def array(*elements):
    return bytes([len(elements) + 1]) + b"".join(elements)


def topic_id(bootstrap, topic):
    """The sixteen bytes."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(PATIENCE)
    halves = described.topic_id.get_most_significant_bits(), described.topic_id.get_least_significant_bits()
    return struct.pack(">qq", *halves)


class Frames:
    """A producer that speaks KIP-1289."""

    def __init__(self, bootstrap, transactional_id, group, topic):
        host, port = bootstrap.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), PATIENCE)
        self.id, self.group, self.topic = transactional_id, group, topic
        self.topic_id = topic_id(bootstrap, topic)
        request = text(self.id) + struct.pack(">iqh", 60_000, -1, -1) + NO_TAGS
        self.producer = self.ask(INIT_PRODUCER_ID, 5, request)[2:12]

    def ask(self, api, version, body):
        """What follows the throttle time, which has to begin with NONE."""
        head = struct.pack(">hhih", api, version, 1, -1) + NO_TAGS
        self.socket.sendall(struct.pack(">i", len(head + body)) + head + body)
        size = struct.unpack(">i", self.read(4))[0]
        # Correlation id, tags, throttle time.
        answer = self.read(size)[9:]
        code = struct.unpack(">h", answer[:2])[0]
        if code:
            raise RuntimeError(f"error {code} of API {api}")
        return answer

    def read(self, size):
        found = b""
        while len(found) < size:
            more = self.socket.recv(size - len(found))
            if not more:
                raise EOFError("the broker has closed the connection")
            found += more
        return found

    def stage(self, ranges):
        """`(TYPE, FIRST, LAST, DELIVERY-COUNT)...` of partition 0 become pending."""
        partitions = array(struct.pack(">i", 0))
        topic = text(self.topic) + partitions + NO_TAGS
        who = text(self.id) + self.producer
        self.ask(ADD_SHARE_ACKS_TO_TXN, 0, who + text(self.group) + array(topic) + NO_TAGS)
        batches = [struct.pack(">qqb", first, last, TYPES[kind]) + NO_TAGS for kind, first, last, _ in ranges]
        partition = struct.pack(">i", 0) + array(*batches) + NO_TAGS
        topic = self.topic_id + array(partition) + NO_TAGS
        answer = self.ask(TXN_SHARE_ACKNOWLEDGE, 0, text(self.group) + who + array(topic) + NO_TAGS)
        # Topics, topic id, partitions, partition.
        code = struct.unpack(">h", answer[2 + 1 + 16 + 1 + 4 :][:2])[0]
        if code:
            raise RuntimeError(f"error {code}: {answer}")

    def end(self, commit):
        answer = self.ask(END_TXN, 5, text(self.id) + self.producer + bytes([commit]) + NO_TAGS)
        self.producer = answer[2:12]


class Bridge:
    """librdkafka's producer."""

    def __init__(self, bootstrap, transactional_id, group, topic):
        servers = {"bootstrap.servers": bootstrap}
        self.topic = topic
        self.metadata = Consumer(servers | {"group.id": group}).consumer_group_metadata()
        self.producer = Producer(servers | {"transactional.id": transactional_id})
        self.producer.init_transactions(PATIENCE)

    def stage(self, ranges):
        """`(TYPE, FIRST, LAST, DELIVERY-COUNT)...` of partition 0 become pending."""
        kinds = dict.fromkeys(kind for kind, *_ in ranges)
        said = [
            f"{kind}=" + ",".join(f"{first}-{last}@{count}" for own, first, last, count in ranges if own == kind)
            for kind in kinds
        ]
        self.producer.begin_transaction()
        entry = TopicPartition(self.topic, 0, 1, "acks:" + ";".join(said))
        self.producer.send_offsets_to_transaction([entry], self.metadata, PATIENCE)

    def end(self, commit):
        (self.producer.commit_transaction if commit else self.producer.abort_transaction)(PATIENCE)
