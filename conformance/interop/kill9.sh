#!/usr/bin/env bash
# kill9.sh tokio|async-std [KILLS]: kills the broker at random moments (20 times) under a
# transactional copy of eight workers that abort, vanish and go on beside their successors, broker and
# client on that runtime and every answer synced to disk; then asks Java consumers for the copy and
# for what is left over. The seed that it prints names the run.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

ROOT=$(cd -- "$INTEROP/../.." && pwd)
kills=${2:-20}
case ${1:-tokio} in
    tokio) broker=ackord copy=exactly_once ;;
    async-std) broker=ackord-async-std copy=exactly_once_async_std ;;
    *) echo "no runtime named $1" >&2 && exit 2 ;;
esac
fetch_kafka
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Workers that vanish on purpose keep their partitions for a session timeout: a short one.
cat >"$work/broker" <<BROKER
#!/bin/sh
exec "$ROOT/target/release/$broker" "\$@" \
    --set group.share.min.session.timeout.ms=5000 --set group.share.session.timeout.ms=5000 \
    --set group.share.min.heartbeat.interval.ms=1000 --set group.share.heartbeat.interval.ms=1000
BROKER
chmod 755 "$work/broker"

consumer="java -Xmx256m -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=off
    -cp $KAFKA_LIBS/* org.apache.kafka.tools.consumer.ConsoleConsumer
    --offset earliest --isolation-level read_committed --timeout-ms 5000"
# Interrupted rather than killed, so that it ends what it started.
if ! TMPDIR=$work timeout -s INT -k 30 $((600 + 4 * kills)) python3 "$INTEROP/kill9.py" \
    "$work/broker" "$ROOT/target/release/examples/$copy" \
    --kills "$kills" --records $((kills * 1000)) --consumer "$consumer" \
    --afterwards "bash $INTEROP/nothing_pending.sh"; then
    tail -n 50 "$work"/*.log
    exit 1
fi
echo "1 passed, 0 failed"
