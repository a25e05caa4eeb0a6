#!/usr/bin/env bash
# kafka_scripts.sh: the scripts on Apache Kafka itself. What they say of share groups has to be true
# there too, but for those whose heading says why not.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

ROOT=$(cd -- "$INTEROP/../.." && pwd)
WORK=$(mktemp -d)
KAFKA_PID=
cleanup() {
    [ -z "$KAFKA_PID" ] || { kill "$KAFKA_PID" && wait "$KAFKA_PID"; } 2>/dev/null || true
    rm -rf "$WORK"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

kafka() { # CLASS ARGS...
    exec java -Xms512m -Xmx512m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
        -cp "$KAFKA_LIBS/*" "$@"
}

# Two ports that are free now: Kafka names its own in its configuration.
free_ports() {
    python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(own.getsockname()[1] for own in held))'
}

fetch_kafka
read -r port controller < <(free_ports)
# One node, and limits that let a group ask for short locks.
cat >"$WORK/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$WORK/data
group.initial.rebalance.delay.ms=0
group.share.min.record.lock.duration.ms=1000
offsets.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.replication.factor=1
PROPERTIES
(kafka kafka.tools.StorageTool format -t AckordConformanceKafkA -c "$WORK/server.properties") \
    >"$WORK/kafka.log" 2>&1 || { cat "$WORK/kafka.log" && exit 1; }
kafka kafka.Kafka "$WORK/server.properties" >>"$WORK/kafka.log" 2>&1 </dev/null &
KAFKA_PID=$!
for _ in $(seq 300); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
    kill -0 "$KAFKA_PID" 2>/dev/null || { tail -n 30 "$WORK/kafka.log" && exit 1; }
    sleep 0.2
done

"$ROOT/target/release/ackord-conformance" scripts --against "127.0.0.1:$port" \
    "$ROOT/conformance/scripts"
