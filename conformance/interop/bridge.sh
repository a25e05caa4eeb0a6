#!/usr/bin/env bash
# bridge.sh [PROGRAM]: unmodified clients acknowledge in their transactions (examples/clients) on a
# broker, target/release/ackord where no other is named, which is killed meanwhile; and each kind of
# refusal.
# bridge.sh --kafka: on Apache Kafka, which has none of it, all of them fail before any harm is done.
# Ends with `N passed, N failed`.
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

# Records that stay with the member that has them.
LONG_LOCKS="--set group.share.max.record.lock.duration.ms=300000"

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
        "$CLIENTS/java/CopyOrders.java" "$INTEROP"/bridge/*.java
    go build -C "$CLIENTS/go" -o "$WORK/copy_orders" .
    go build -C "$INTEROP/bridge/go" -o "$WORK/refusals" .
    cp "$CLIENTS"/node/* "$WORK/node/"
    ln -s "$KAFKAJS/node_modules" "$WORK/node/node_modules"
}

crash_copy() {
    TMPDIR=$WORK "$VENV/bin/python" "$INTEROP/bridge/crash_copy.py" "$PROGRAM $SHORT" \
        "bash $INTEROP/nothing_pending.sh" -- "$@"
}

java_class() {
    java -Xmx256m -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=error \
        -cp "$WORK/java:$KAFKA_LIBS/*" "$@"
}

# A Java program that is to be killed: no shell between.
JAVA=(java -Xmx256m -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=error)

check_copies() {
    local all
    all=$(printf '%s\n' "1500 records, 0 lost, 0 doubled" \
        "nothing pending: no lag, no open transaction, no record for a Java share consumer")
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

# The rows of the table for a client, with MEMBERS of the scene in them; `fences`: those alone that no
# producer survives.
rows() { # CLIENT [fences]
    grep -v '^#' "$INTEROP/bridge/refusals.tsv" |
        awk -F '\t' -v OFS='\t' -v client="$1" -v only="${2:-}" \
            -v holder="${MEMBERS[0]:-}" -v other="${MEMBERS[1]:-}" -v epoch="${MEMBERS[2]:-}" '
            index("," $2 ",", "," client ",") && (only == "" || $11 != "-") {
                sub(/^HOLDER$/, holder, $9); sub(/^OTHER$/, other, $9)
                sub(/^OTHER-EPOCH$/, epoch, $10)
                print }'
}

# What a client shall print for its rows.
outcomes() { # FILE
    awk -F '\t' '{ print $1 ": " ($11 == "-" ? "refused, aborted, went on" : $11) }' "$1"
}

# How many refusals of each kind the broker shall have counted.
counts() { # FILE
    awk -F '\t' '$3 != "-" { counts[$3]++ } END { for (kind in counts) print kind, counts[kind] }' "$1" |
        LC_ALL=C sort
}

counted() {
    local url
    url=$(sed -n 's|.*metrics are on \(http://[^ ]*\).*|\1|p' "$WORK/broker.log")
    curl -fsS "$url" |
        sed -n 's/^ackord_share_offset_acks_refused_total{reason="\(.*\)"} \(.*\)/\1 \2/p' |
        awk '$2 > 0' | LC_ALL=C sort
}

# Id of the holder, id and epoch of the other, once both have their partition.
members() {
    for _ in {1..20}; do
        mapfile -t MEMBERS < <(tool kafka-share-groups --describe --group transactional --members --verbose |
            awk '$7 != "orders:0" { next } $4 == "holder" { holder = $2 } $4 == "other" { other = $2; epoch = $6 }
                END { if (holder && other) print holder "\n" other "\n" epoch }')
        [ "${#MEMBERS[@]}" != 3 ] || return 0
    done
    return 1
}

refusals() { # CLIENT
    case $1 in
        python) confluent_python "$INTEROP/bridge/refusals.py" "$BROKER" "$WORK/table" ;;
        java) java_class Refusals "$BROKER" "$WORK/table" ;;
        go) "$WORK/refusals" "$BROKER" "$WORK/table" ;;
        old) "$WORK/refusals" -old "$BROKER" "$WORK/table" ;;
    esac
}

scene() { # LINE
    cat "$WORK/scene.log" >&2
    echo "$1"
}

# A broker with the scene, for one client.
check_refusals() { # CLIENT
    local client=$1 line=
    rm -rf "$WORK/data" "$WORK/ready"
    # shellcheck disable=SC2086 # several words
    start_broker "$PROGRAM" $SHORT $LONG_LOCKS --admin 127.0.0.1:0
    coproc SCENE { exec "$VENV/bin/python" "$INTEROP/bridge/scene.py" "$BROKER" 2>"$WORK/scene.log"; }
    local scene=$SCENE_PID
    read -r -t 60 -u "${SCENE[0]}" line || true
    members || line=
    rows "$client" >"$WORK/table"
    check "bridge/scene-$client" ready scene "$line"
    check "bridge/refusals-$client" "$(outcomes "$WORK/table")" refusals "$client"
    check "bridge/counted-$client" "$(counts "$WORK/table")" counted
    kill "$scene"
    wait "$scene" || true
    check broker/stops-clean "" stop_broker
}

check_all_refusals() {
    local client
    for client in python java go old; do
        check_refusals "$client"
    done
    # Below version 5 the broker no longer knows what the transaction has taken; from there on it does,
    # and what was only acquired is nobody's.
    local nobodys="orders-0: the record was never delivered"
    check_restarted old "none of before a restart" "$WORK/refusals" -old
    check_restarted go "$nobodys" "$WORK/refusals"
    check_restarted java "$nobodys" "${JAVA[@]}" -cp "$WORK/java:$KAFKA_LIBS/*" Refusals
}

check_restarted() { # CLIENT REASON PROGRAM...
    local client=$1 reason=$2
    shift 2
    check "bridge/restarted-$client" "$(printf '%s\n' "restarted: refused, aborted, went on" "$reason")" \
        env "TMPDIR=$WORK" "$VENV/bin/python" "$INTEROP/bridge/restarted.py" \
        "$PROGRAM $SHORT $LONG_LOCKS" "$@"
}

# Share consumers beside pending acknowledgements of a group in MODE; the rest is what a plain acceptance
# does there.
beside() { # MODE ACCEPTED
    printf '%s\n' "a gets r0@1 r1@1" "r0 and r1 are pending" \
        "a: ACCEPT r0: INVALID_RECORD_STATE" "a: RENEW r1: INVALID_RECORD_STATE" \
        "b gets r2@1" "b: ACCEPT r2: $2" "a leaves" "b gets r3@1" "b: ACCEPT r3: $2" \
        aborted "b gets r0@2 r1@2" "at once" committed "b: ACCEPT r0: NONE" "b: ACCEPT r1: NONE" \
        "b gets r4@1" "b leaves" "c gets r4@2" "c leaves"
}

check_beside() {
    rm -rf "$WORK/data" "$WORK/ready"
    # shellcheck disable=SC2086 # several words
    start_broker "$PROGRAM" $SHORT
    local mode accepted
    for mode in explicit transactional; do
        accepted=NONE
        [ "$mode" = explicit ] || accepted=INVALID_RECORD_STATE
        check "bridge/beside-$mode" "$(beside "$mode" "$accepted")" \
            confluent_python "$INTEROP/bridge/beside.py" "$BROKER" "$mode" \
            "${JAVA[@]}" -cp "$WORK/java:$KAFKA_LIBS/*" Member
    done
    check broker/stops-clean "" stop_broker
}

# refuses COMMAND...: what it says last, and how it ends.
refuses() {
    local status=0
    "$@" >"$WORK/refusal" 2>&1 || status=$?
    # Without the time that some put before it.
    tail -n 1 "$WORK/refusal" | grep -o -e 'group copiers needs .*' -e 'exactly_once: .*' || cat "$WORK/refusal" >&2
    echo "exit $status"
}

# Kafka knows no transactional mode and no AddShareAcksToTxn: nobody may commit output there.
check_kafka() {
    local topic client example MEMBERS=(- - -)
    local needs="group copiers needs share.acknowledgement.mode=transactional on this broker"
    start_kafka
    for topic in orders enriched; do
        tool kafka-topics --create --topic "$topic" --partitions 1 --replication-factor 1 >/dev/null
    done
    check bridge/java-on-kafka "$(printf '%s\nexit 3' "$needs")" \
        refuses java_class CopyOrders "$BROKER" orders enriched copiers copy-1 0 5
    check bridge/python-on-kafka "$(printf '%s\nexit 1' "$needs")" \
        refuses confluent_python "$CLIENTS/python/copy_orders.py" "$BROKER" orders enriched copiers
    check bridge/go-on-kafka "$(printf '%s\nexit 1' "$needs")" \
        refuses timeout "$TOOL_TIMEOUT" "$WORK/copy_orders" -bootstrap "$BROKER"
    check bridge/node-on-kafka "$(printf '%s\nexit 1' "$needs")" \
        refuses env "PYTHON=$VENV/bin/python" timeout "$TOOL_TIMEOUT" node "$WORK/node/copy_orders.mjs" \
        "$BROKER" orders enriched copiers copy-2 0 5
    for example in exactly_once exactly_once_async_std; do
        check "bridge/$example-on-kafka" "$(printf '%s\n' \
            "exactly_once: the broker does not offer AddShareAcksToTxn; this needs a newer broker" \
            "exit 1")" refuses timeout "$TOOL_TIMEOUT" \
            "${EXAMPLES:-$ROOT/target/release/examples}/$example" --against "$BROKER" --name "$example" --records 100
    done
    for client in python java go old; do
        rows "$client" fences >"$WORK/table"
        check "bridge/fences-$client-on-kafka" "$(outcomes "$WORK/table")" \
            refusals "$client"
    done
    check bridge/no-output-on-kafka 0 outputs_on_kafka
    stop_broker || true
}

# How many records of copiers a read_committed consumer finds: those of the fences are aborted.
outputs_on_kafka() {
    tool kafka-console-consumer --topic enriched --from-beginning --isolation-level read_committed \
        --timeout-ms 5000 2>/dev/null | grep -c -v -x good || true
}

fetch_kafka
fetch_confluent
fetch_kafkajs
build_clients
if [ "$PROGRAM" = --kafka ]; then
    check_kafka
else
    check_beside
    check_copies
    check_all_refusals
fi
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" = 0 ]
