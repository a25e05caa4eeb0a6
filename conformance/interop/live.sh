#!/usr/bin/env bash
# live.sh PROGRAM [ARGS...]: transactional and plain work on a broker that is killed with SIGKILL in
# the middle of each and restarted on the same folder and port.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

ROOT=$(cd -- "$INTEROP/../.." && pwd)
LIVE=${LIVE:-$ROOT/target/release/ackord-conformance}
WORK=$(mktemp -d)
BROKER_PID=
WORKER_PID=
cleanup() {
    [ -z "$WORKER_PID" ] || kill "$WORKER_PID" 2>/dev/null || true
    stop_broker || true
    rm -rf "$WORK"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# kill_during MODE RECORDS LINE: kills the broker once the account prints that line.
kill_during() {
    local mode=$1 records=$2 line=$3 said status=0
    mkfifo "$WORK/account"
    "$LIVE" live --against "$BROKER" --mode "$mode" --records "$records" \
        >"$WORK/account" 2>"$WORK/live.log" &
    WORKER_PID=$!
    while read -r said; do
        echo "$said"
        if [[ -n $line && $said == $line ]]; then
            line=
            kill -9 "$BROKER_PID"
            wait "$BROKER_PID" || true
            rm "$WORK/ready"
            LISTEN=$BROKER start_broker "${COMMAND[@]}"
        fi
    done <"$WORK/account"
    wait "$WORKER_PID" || status=$?
    WORKER_PID=
    rm "$WORK/account"
    [ -z "$line" ] || { echo "the broker was never killed" && status=1; }
    [ "$status" = 0 ] || tail -n 30 "$WORK/live.log" "$WORK/broker.log"
    return "$status"
}

# Workers that vanish keep their partitions for a session timeout: a short one.
COMMAND=("$@" --set group.share.min.session.timeout.ms=5000 --set group.share.session.timeout.ms=5000
    --set group.share.min.heartbeat.interval.ms=1000 --set group.share.heartbeat.interval.ms=1000)
start_broker "${COMMAND[@]}"
kill_during transactional 3000 'copied *'
kill_during plain 5000 '# appending, accepted *'
