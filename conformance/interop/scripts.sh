#!/usr/bin/env bash
# scripts.sh PROGRAM: every script that may run against any broker, on this one, which is started and
# stopped here.
# scripts.sh --kafka: the same on Apache Kafka. What they say of share groups has to be true there
# too, but for those whose heading says why not. Before them, on one with an authorizer, those about
# what everybody may do. (That one allows what no ACL is about, but fails at topic ids that nobody
# has, so the other scripts are not for it.)
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
    start_kafka authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer \
        allow.everyone.if.no.acl.found=true
    # Their configuration is that of this broker.
    mkdir "$WORK/access"
    for script in "$ROOT"/conformance/scripts/access-everybody-*.txt; do
        sed '/^broker /d' "$script" >"$WORK/access/${script##*/}"
    done
    "$CONFORMANCE" scripts --against "$BROKER" "$WORK/access"
    stop_broker || true
    rm -rf "$WORK/kafka-data"
    start_kafka
else
    # As on the cores: groups are assigned at once, and may ask for short locks.
    start_broker "$@" --set group.initial.rebalance.delay.ms=0 \
        --set group.share.min.record.lock.duration.ms=1000 \
        --set group.consumer.assignment.interval.ms=0 --set group.share.assignment.interval.ms=0
fi
"$CONFORMANCE" scripts --against "$BROKER" "$ROOT/conformance/scripts"
