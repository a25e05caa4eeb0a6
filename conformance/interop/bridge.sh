#!/usr/bin/env bash
# bridge.sh [PROGRAM]: unmodified clients acknowledge in their transactions (examples/clients) on a
# broker, target/release/ackord where no other is named, which is killed meanwhile; each kind of
# refusal; and the Java copier on Apache Kafka, where KAFKA_PEER names a folder with start.sh and
# stop.sh for one. Ends with `N passed, N failed`.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

ROOT=$(cd -- "$INTEROP/../.." && pwd)
CLIENTS=$ROOT/examples/clients
PROGRAM=${1:-$ROOT/target/release/ackord}
KAFKAJS=$CACHE/kafkajs-2.2.4
export GOFLAGS=-mod=mod GOCACHE=$CACHE/go-build
WORK=$(mktemp -d)
BROKER_PID=
cleanup() {
    stop_broker || true
    rm -rf "$WORK"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# Members that vanish keep their partitions for a session timeout: a short one.
SHORT="--set group.share.min.session.timeout.ms=3000 --set group.share.session.timeout.ms=3000
    --set group.share.min.heartbeat.interval.ms=500 --set group.share.heartbeat.interval.ms=500
    --set group.share.min.record.lock.duration.ms=1000"

fetch_kafkajs() {
    [ -d "$KAFKAJS/node_modules/kafkajs" ] && return
    mkdir -p "$KAFKAJS"
    cp "$CLIENTS/node/package.json" "$KAFKAJS/"
    npm install --silent --no-audit --no-fund --prefix "$KAFKAJS" >&2
}

# The programs as their folders have them, with what they need.
build_clients() {
    mkdir "$WORK/java" "$WORK/node"
    javac -d "$WORK/java" -cp "$KAFKA_LIBS/*" \
        "$CLIENTS/java/CopyOrders.java" "$INTEROP/bridge/Refusals.java"
    go build -C "$CLIENTS/go" -o "$WORK/copy_orders" .
    go build -C "$INTEROP/bridge/go" -o "$WORK/refusals" .
    cp "$CLIENTS"/node/* "$WORK/node/"
    ln -s "$KAFKAJS/node_modules" "$WORK/node/node_modules"
}

crash_copy() {
    TMPDIR=$WORK "$VENV/bin/python" "$INTEROP/bridge/crash_copy.py" "$PROGRAM $SHORT" -- "$@"
}

java_class() {
    java -Xmx256m -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=error \
        -cp "$WORK/java:$KAFKA_LIBS/*" "$@"
}

# A Java program that is to be killed: no shell between.
JAVA=(java -Xmx256m -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=error)

check_copies() {
    local all="1500 records, 0 lost, 0 doubled"
    check bridge/python "$all" crash_copy "$VENV/bin/python" "$CLIENTS/python/copy_orders.py" \
        "{bootstrap}" "{input}" "{output}" "{group}" --transactional-id "{id}" \
        --abort "{abort}" --idle "{idle}"
    check bridge/java "$all" crash_copy "${JAVA[@]}" -cp "$WORK/java:$KAFKA_LIBS/*" CopyOrders \
        "{bootstrap}" "{input}" "{output}" "{group}" "{id}" "{abort}" "{idle}"
    check bridge/go "$all" crash_copy "$WORK/copy_orders" -bootstrap "{bootstrap}" \
        -input "{input}" -output "{output}" -group "{group}" -transactional-id "{id}" \
        -abort "{abort}" -idle "{idle}s"
    check bridge/node "$all" crash_copy env "PYTHON=$VENV/bin/python" node \
        "$WORK/node/copy_orders.mjs" "{bootstrap}" "{input}" "{output}" "{group}" "{id}" \
        "{abort}" "{idle}"
}

# What a program prints for the rows of the table that it can say, and for what it adds.
went_on() { # EXPRESSION KIND...
    local filter=$1
    shift
    { grep -v '^#' "$INTEROP/bridge/refusals.tsv" | awk -F '\t' "$filter { print \$1 }"
      printf '%s\n' "$@"; } | sed '/^$/d; s/$/: refused, aborted, went on/'
}

check_refusals() {
    local table=$INTEROP/bridge/refusals.tsv
    # shellcheck disable=SC2086 # several words
    start_broker "$PROGRAM" $SHORT
    check bridge/refusals-python "$(went_on '$5 == "-" && $6 == -1' another-content)" \
        confluent_python "$INTEROP/bridge/refusals.py" "$BROKER" "$table"
    check bridge/refusals-java "$(went_on '$1 != "half-a-member"' timed-out)" java_class Refusals "$BROKER" "$table"
    check bridge/refusals-go "$(went_on 1)" "$WORK/refusals" "$BROKER" "$table"
    check broker/stops-clean "" stop_broker
}

# Kafka knows no transactional mode: the copier must not commit output there.
refuses_kafka() {
    local status=0
    java_class CopyOrders "$BROKER" orders enriched copiers copy-1 0 5 || status=$?
    echo "exit $status"
}

check_kafka() {
    local port=19392
    local data=$WORK/kafka
    bash "$KAFKA_PEER/start.sh" "$port" "$data" >&2
    BROKER=127.0.0.1:$port
    check bridge/java-on-kafka "exit 3" refuses_kafka
    bash "$KAFKA_PEER/stop.sh" "$data" >&2
}

fetch_kafka
fetch_confluent
fetch_kafkajs
build_clients
check_copies
check_refusals
[ -z "${KAFKA_PEER:-}" ] || check_kafka
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" = 0 ]
