#!/usr/bin/env bash
# run.sh [PROGRAM [ARGS...]]: real clients against a broker that this script starts and stops
# (target/release/ackord). Ends with `N passed, N failed`.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
. "$INTEROP/kafka_tools.sh"
. "$INTEROP/java_suite.sh"

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

check_confluent() {
    check confluent/idempotent "1000 records, in order: True" \
        confluent_python "$INTEROP/confluent.py" "$BROKER" idempotent
    check confluent/transactions \
        "$(printf 'committed: c0 c1 c2 c3 c4 d0 d1 d2 d3 d4\nall: 15')" \
        confluent_python "$INTEROP/confluent.py" "$BROKER" transactions
    check confluent/share "100 records, 110 deliveries, twice: $(twice)" \
        confluent_python "$INTEROP/confluent.py" "$BROKER" share
}

twice() {
    printf '[0%s]' "$(seq -s '' -f ', %g' 10 10 90)"
}

fetch_kafka
fetch_confluent
start_broker "$@"
check_kafka_tools
check_confluent
check_java_suite
check broker/stops-clean "" stop_broker
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" = 0 ]
