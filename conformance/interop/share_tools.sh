# Sourced by run.sh: Kafka's tools that run share consumers and show share groups. What is expected
# is what they print against Apache Kafka, with what is chance or time taken out.

PERF_HEAD='start.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, data.consumed.in.nMsg, fetch.time.ms'

check_share_tools() {
    check share-tools/topic "Created topic tools." \
        tool kafka-topics --create --topic tools --partitions 1 --replication-factor 1
    check share-tools/from-the-start "Completed updating config for group tools." \
        tool kafka-configs --alter --entity-type groups --entity-name tools \
        --add-config share.auto.offset.reset=earliest
    produce tools v 1 100
    check share-tools/perf-test "$(printf '%s\n%s' "$PERF_HEAD" 'T, T, N, N, N, 100, N')" perf_test 100
    produce tools v 101 200
    check share-tools/verifiable-consumer "$(verified 100 199)" verifiable 100
    check_live_share_group
    check share-tools/state-when-empty "$(printf '%s\n' \
        'GROUP COORDINATOR (ID) STATE #MEMBERS' 'tools BROKER (1) Empty 0')" group_state
    check share-tools/reset-dry-run "$(printf 'GROUP TOPIC PARTITION NEW-OFFSET\ntools tools 0 0')" \
        share_groups --reset-offsets --group tools --topic tools --to-earliest --dry-run
    check share-tools/reset-to-time "$(printf 'GROUP TOPIC PARTITION NEW-OFFSET\ntools tools 0 0')" \
        share_groups --reset-offsets --group tools --topic tools \
        --to-datetime 2020-01-01T00:00:00.000 --execute
    check share-tools/delete "Deletion of requested share groups ('tools') was successful." \
        share_groups --delete --group tools
    check share-tools/describe-unknown "$(printf '%s %s' \
        'Error: Executing share group command failed due to' \
        'org.apache.kafka.common.errors.GroupIdNotFoundException: Group tools not found.')" \
        first_line --describe --group tools
    tool kafka-consumer-groups --reset-offsets --group readers --topic tools --to-earliest \
        --execute >/dev/null
    check share-tools/describe-another-type "$(printf '%s %s' \
        'Error: Executing share group command failed due to' \
        'org.apache.kafka.common.errors.GroupIdNotFoundException: Group readers is not a share group.')" \
        first_line --describe --group readers
    tool kafka-consumer-groups --delete --group readers >/dev/null
    check share-tools/delete-unknown "$(printf '%s\n%s %s' \
        'Error: Deletion of some share groups failed:' \
        "* Group 'tools' could not be deleted due to:" \
        "org.apache.kafka.common.errors.GroupIdNotFoundException: Group 'tools' is not a share group.")" \
        share_groups --delete --group tools
    check_message_copier
}

# A member that reads what comes until it is ended.
check_live_share_group() {
    tool kafka-console-share-consumer --group tools --topic tools >"$WORK/member" 2>/dev/null &
    local member=$!
    check share-tools/members "$(printf '%s\n%s' \
        'GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS MEMBER-EPOCH ASSIGNMENT' \
        'tools ID /127.0.0.1 console-share-consumer 1 N tools:0')" members
    check share-tools/state "$(printf '%s\n%s' \
        'GROUP COORDINATOR (ID) STATE GROUP-EPOCH ASSIGNMENT-EPOCH #MEMBERS' \
        'tools BROKER (1) Stable N N 1')" group_state --verbose
    check share-tools/reset-of-a-live-group "Share group 'tools' is not empty." \
        share_groups_refuse --reset-offsets --group tools --topic tools --to-earliest --execute
    check share-tools/delete-of-a-live-group "$(printf '%s\n%s' \
        'Error: Deletion of some share groups failed:' "* Group 'tools' could not be deleted due to: REASON")" \
        delete_live
    # The child is `timeout`, which hands it on; the tool then leaves the group.
    kill $(<"/proc/$member/task/$member/children")
    wait "$member" || true
    check share-tools/delete-offsets "$(printf 'TOPIC STATUS\ntools Successful')" \
        share_groups --delete-offsets --group tools --topic tools
}

perf_test() { # COUNT
    tool kafka-share-consumer-perf-test --topic tools --group tools --num-records "$1" \
        --timeout 30000 | sed -E '2,$s/^[0-9: -]+, [0-9: -]+, [0-9.]+, [0-9.]+, [0-9.]+, ([0-9]+), [0-9]+$/T, T, N, N, N, \1, N/'
}

# How many records it saw and had acknowledged, and from where to where.
verifiable() { # COUNT
    tool kafka-verifiable-share-consumer --topic tools --group-id tools --max-messages "$1" \
        --acknowledgement-mode sync | python3 "$INTEROP/verifiable.py"
}

verified() { # FIRST LAST
    local event
    for event in records_consumed offsets_acknowledged; do
        echo "$event tools-0: $1-$2, $(($2 - $1 + 1)) in all"
    done
}

# Until the member has its partition.
members() {
    local found
    for _ in {1..10}; do
        found=$(share_groups --describe --group tools --members --verbose)
        [[ $found != *tools:0* ]] || break
    done
    sed -E '2s/^tools [^ ]+ (.*) [0-9]+ ([^ ]+)$/tools ID \1 N \2/' <<<"$found"
}

group_state() { # ARGS...
    share_groups --describe --group tools --state "$@" |
        sed -E -e "s/ $BROKER / BROKER /" -e 's/ Stable [0-9]+ [0-9]+ / Stable N N /'
}

share_groups_refuse() { # ARGS...
    share_groups "$@" 2>&1 || true
}

delete_live() {
    share_groups --delete --group tools 2>&1 | sed -E 's/(due to: ).*/\1REASON/'
}

first_line() { # ARGS...
    share_groups "$@" 2>/dev/null | head -1
}

# Fifty records in transactions of ten, some of which it aborts by chance and repeats.
check_message_copier() {
    check message-copier/input "Created topic copier-in." \
        tool kafka-topics --create --topic copier-in --partitions 1 --replication-factor 1
    check message-copier/output "Created topic copier-out." \
        tool kafka-topics --create --topic copier-out --partitions 1 --replication-factor 1
    produce copier-in v 1 50
    check message-copier/copies '"totalProcessed":50,"consumed":50,"remaining":0}' copier
    check message-copier/copied-once "$(lines v 1 50)" \
        consume copier-out 50 --isolation-level read_committed
    check message-copier/offsets "$(group_offsets copiers copier-in 50 50 0)" describe_group copiers
}

copier() {
    tool kafka-transactional-message-copier --transactional-id copier --consumer-group copiers \
        --input-topic copier-in --input-partition 0 --output-topic copier-out \
        --transaction-size 10 --max-messages 50 --enable-random-aborts \
        --group-mode --use-group-metadata | grep ShutdownComplete | sed 's/.*"\(totalProcessed\)/"\1/'
}
