#!/usr/bin/env bash
# scripts.sh PROGRAM: every script that may run against any broker, on this one, which is started and
# stopped here.
# scripts.sh --kafka: the same on Apache Kafka. What they say of share groups has to be true there
# too, but for those whose heading says why not.
# Ends with `N passed, N failed, N skipped`, and fails where none has run.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

ROOT=$(cd -- "$INTEROP/../.." && pwd)
CONFORMANCE=${CONFORMANCE:-$ROOT/target/release/ackord-conformance}
WORK=$(mktemp -d)
BROKER_PID=
cleanup() {
    stop_broker || true
    rm -rf "$WORK"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

if [ "$1" = --kafka ]; then
    fetch_kafka
    start_kafka
else
    # As on the cores: groups are assigned at once, and may ask for short locks.
    start_broker "$@" --set group.initial.rebalance.delay.ms=0 \
        --set group.share.min.record.lock.duration.ms=1000 \
        --set group.consumer.assignment.interval.ms=0 --set group.share.assignment.interval.ms=0
fi
"$CONFORMANCE" scripts --against "$BROKER" "$ROOT/conformance/scripts"
