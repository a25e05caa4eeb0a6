#!/usr/bin/env bash
# run.sh: real clients against target/release/ackord, which this script starts and stops.
# run.sh PROGRAM [ARGS...]: the same with another program or more flags.
# run.sh --against HOST:PORT: the same with a broker that runs. Against a new Apache Kafka it
# shows that the checks themselves are right.
# Ends with `N passed, N failed`.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
. "$INTEROP/kafka_tools.sh"
. "$INTEROP/share_tools.sh"
. "$INTEROP/codecs.sh"
. "$INTEROP/java_suite.sh"
. "$INTEROP/clients.sh"

ROOT=$(cd -- "$INTEROP/../.." && pwd)
[ $# -gt 0 ] || set -- "$ROOT/target/release/ackord"
NODE=1
WORK=$(mktemp -d)
BROKER_PID=
cleanup() {
    stop_broker || true
    rm -rf "$WORK"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

fetch_kafka
fetch_confluent
fetch_kafka_python
fetch_kafkajs
build_members
if [ "$1" = --against ]; then
    BROKER=$2
else
    # Short limits let a group ask for a lock of one second.
    start_broker "$@" --set group.share.min.record.lock.duration.ms=1000 \
        --set group.share.min.heartbeat.interval.ms=500 \
        --set group.consumer.min.heartbeat.interval.ms=500 \
        --set group.initial.rebalance.delay.ms=0
fi
check_kafka_tools
check_share_tools
check_clients
check_codecs
check_java_suite
[ "$1" = --against ] || check broker/stops-clean "" stop_broker
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" = 0 ]
