# Sourced by run.sh: the command line tools of Apache Kafka.

lines() { # PREFIX FIRST LAST
    seq -f "$1%g" "$2" "$3"
}

produce() { # TOPIC PREFIX FIRST LAST [ARGS...]
    local topic=$1
    lines "$2" "$3" "$4" | tool kafka-console-producer --topic "$topic" "${@:5}"
}

consume() { # TOPIC COUNT [ARGS...]
    local topic=$1 count=$2
    shift 2
    tool kafka-console-consumer --topic "$topic" --partition 0 --offset earliest \
        --max-messages "$count" --timeout-ms 20000 "$@"
}

share_consume() { # GROUP TOPIC COUNT
    tool kafka-console-share-consumer --group "$1" --topic "$2" \
        --max-messages "$3" --timeout-ms 30000
}

# Topic ids are chance; the rest of the description is not. Apache Kafka keeps its default of
# min.insync.replicas as a configuration of the cluster and so shows it for each topic.
describe() {
    tool kafka-topics --describe --topic "$1" |
        sed -e 's/TopicId: [A-Za-z0-9_-]\{22\}/TopicId: ID/' \
            -e 's/Configs: min.insync.replicas=1$/Configs:/' -e 's/[[:space:]]*$//'
}

described() { # TOPIC PARTITIONS
    printf 'Topic: %s\tTopicId: ID\tPartitionCount: %d\tReplicationFactor: 1\tConfigs:' "$1" "$2"
    local partition
    for partition in $(seq 0 $(($2 - 1))); do
        printf '\n\tTopic: %s\tPartition: %d\tLeader: %d\tReplicas: %d\tIsr: %d\tElr: \tLastKnownElr:' \
            "$1" "$partition" "$NODE" "$NODE" "$NODE"
    done
}

# Columns with one blank between them; groups of other checks do not count.
share_groups() { # ARGS...
    tool kafka-share-groups "$@" | table
}

table() {
    tr -s ' \t' ' ' | sed -e 's/ $//' -e '/^$/d'
}

list_groups() {
    tool kafka-groups --list --share | table | awk '$1 == "GROUP" || $1 == "shared"'
}

list_states() {
    share_groups --list --state empty | awk '$1 == "GROUP" || $1 == "shared"'
}

group_config() {
    tool kafka-configs --describe --entity-type groups --entity-name shared | table
}

# Group `shared` has consumed all 420 records of `plain`. Apache Kafka describes the start offset
# that its share coordinator has; it may be that of the acknowledgement before the last.
check_share_groups() {
    local offsets='GROUP TOPIC PARTITION START-OFFSET LAG'
    check configs/describe-group "$(printf '%s\n %s %s %s' 'Dynamic configs for group shared are:' \
        'share.auto.offset.reset=earliest sensitive=false' \
        'synonyms={DYNAMIC_GROUP_CONFIG:share.auto.offset.reset=earliest,' \
        'DEFAULT_CONFIG:share.auto.offset.reset=latest}')" group_config
    check groups/list "$(printf 'GROUP TYPE PROTOCOL\nshared Share share')" list_groups
    check share-groups/list "$(printf 'GROUP STATE\nshared Empty')" list_states
    check share-groups/offsets "$(printf '%s\nshared plain 0 420 0' "$offsets")" \
        share_groups --describe --group shared
    check share-groups/reset "$(printf 'GROUP TOPIC PARTITION NEW-OFFSET\nshared plain 0 0')" \
        share_groups --reset-offsets --group shared --topic plain --to-earliest --execute
    check share-groups/offsets-after-reset "$(printf '%s\nshared plain 0 0 420' "$offsets")" \
        share_groups --describe --group shared
    check share-consumer/after-reset "$(lines a 1 200; lines b 1 200; lines c 1 20)" \
        share_consume shared plain 420
    check share-groups/delete-offsets "$(printf 'TOPIC STATUS\nplain Successful')" \
        share_groups --delete-offsets --group shared --topic plain
    check share-groups/delete \
        "Deletion of requested share groups ('shared') was successful." \
        share_groups --delete --group shared
    check groups/list-after-delete "GROUP TYPE PROTOCOL" list_groups
}

check_kafka_tools() {
    check topics/create "Created topic plain." \
        tool kafka-topics --create --topic plain --partitions 1 --replication-factor 1
    check topics/create-three "Created topic three." \
        tool kafka-topics --create --topic three --partitions 3 --replication-factor 1
    check topics/list "$(printf 'plain\nthree')" list_user_topics
    check topics/describe "$(described three 3)" describe three

    check producer/plain "" produce plain a 1 200 --command-property enable.idempotence=false
    check consumer/plain "$(lines a 1 200)" consume plain 200
    check producer/idempotent "" produce plain b 1 200 \
        --command-property acks=all --command-property enable.idempotence=true
    check consumer/both "$(lines a 1 200; lines b 1 200)" consume plain 400
    check consumer/read-committed "$(lines a 1 200; lines b 1 200)" \
        consume plain 400 --isolation-level read_committed

    check configs/share-group "Completed updating config for group shared." \
        tool kafka-configs --alter --entity-type groups --entity-name shared \
        --add-config share.auto.offset.reset=earliest
    check share-consumer/all "$(lines a 1 200; lines b 1 200)" share_consume shared plain 400
    check producer/more "" produce plain c 1 20
    # Accepted records do not come again: only the new ones.
    check share-consumer/rest "$(lines c 1 20)" share_consume shared plain 20

    check_share_groups
    check group-consumer/all "$(lines a 1 200; lines b 1 200; lines c 1 20)" group_consume cg plain 420
    check consumer-groups/list "cg" tool kafka-consumer-groups --list
    check consumer-groups/describe "$(group_offsets cg plain 420 420 0)" describe_group cg
    check consumer-groups/reset "GROUP TOPIC PARTITION NEW-OFFSET
cg plain 0 400" reset_group cg plain 400
    check consumer-groups/describe-reset "$(group_offsets cg plain 400 420 20)" describe_group cg
    check group-consumer/again "$(lines c 1 20)" group_consume cg plain 20
    check consumer-groups/delete "Deletion of requested consumer groups ('cg') was successful." \
        tool kafka-consumer-groups --delete --group cg
    check consumer-groups/list-after-delete "" tool kafka-consumer-groups --list
    check topics/alter "" tool kafka-topics --alter --topic three --partitions 4
    check topics/describe-grown "$(described three 4)" describe three
    check delete-records "$(printf 'partition: plain-0\tlow_watermark: 400')" delete_records plain 400
    check delete-records/offsets "plain:0:400" tool kafka-get-offsets --topic plain --time -2
    check consumer/after-delete-records "$(lines c 1 20)" consume plain 20

    check_transactions
    check topics/delete "" tool kafka-topics --delete --topic three
    check topics/list-after-delete plain list_user_topics
}

# One transaction after the other, of the producer that measures.
transact() { # TRANSACTIONAL_ID RECORDS MILLISECONDS
    tool kafka-producer-perf-test --topic txns --num-records "$2" --record-size 10 \
        --throughput 50 --transactional-id "$1" --transaction-duration-ms "$3" 2>&1 |
        grep -c 'records sent.*99.9th' || true
}

# The producer ends in its transaction, without a word to the broker.
leave_open() { # TRANSACTIONAL_ID
    tool kafka-producer-perf-test --topic txns --num-records 100000 --record-size 10 --throughput 50 \
        --transactional-id "$1" --transaction-duration-ms 600000 >/dev/null 2>&1 &
    local producer=$!
    for _ in {1..20}; do
        [ "$(list_transaction "$1")" != "$1 Ongoing" ] || break
    done
    # The child is `timeout`, which hands it on.
    kill $(<"/proc/$producer/task/$producer/children")
    wait "$producer" || true
}

transactions() { # ARGS...
    tool kafka-transactions "$@" | table
}

# Producer ids and times are chance.
describe_transaction() { # TRANSACTIONAL_ID
    transactions describe --transactional-id "$1" |
        awk 'NR == 2 { $1 = $1; print $2, $5, $6 ($9 ? " " $9 : "") }'
}

list_transaction() { # TRANSACTIONAL_ID
    transactions list --transactional-id-pattern "$1" | awk 'NR == 2 { print $1, $4 }'
}

# A coordinator epoch, and whether the producer has a transaction open, for each that wrote to `txns`.
describe_producers() {
    transactions describe-producers --topic txns --partition 0 | awk 'NR == 1
        NR > 1 { print $3, ($6 == "None" ? $6 : "open") | "sort" }'
}

# What it says at the end, where it cannot.
abort_at() { # OFFSET
    { transactions abort --topic txns --partition 0 --start-offset "$1" 2>&1 || true; } |
        tail -n 1 | sed -E 's/.*unexpected error: ([^.]*).*/\1/'
}

abort_open() {
    abort_at "$(transactions describe-producers --topic txns --partition 0 | awk '$6 ~ /^[0-9]+$/ { print $6 }')"
}

HANGING='Topic Partition ProducerId ProducerEpoch CoordinatorEpoch StartOffset LastTimestamp Duration(min)'

check_transactions() {
    check topics/create-txns "Created topic txns." \
        tool kafka-topics --create --topic txns --partitions 1 --replication-factor 1
    check transactions/perf-producer 1 transact tool-done 20 100
    check transactions/list "tool-done CompleteCommit" list_transaction tool-done
    check transactions/describe "tool-done CompleteCommit 60000" describe_transaction tool-done
    check transactions/hanging-none "$HANGING" transactions find-hanging --broker-id "$NODE"
    check transactions/left-open "" leave_open tool-open
    check transactions/describe-open "tool-open Ongoing 60000 txns-0" describe_transaction tool-open
    check transactions/describe-producers \
        "$(printf 'ProducerId ProducerEpoch LatestCoordinatorEpoch %s\n%s\n%s' \
            'LastSequence LastTimestamp CurrentTransactionStartOffset' '-1 open' '0 None')" describe_producers
    check transactions/hanging-not-yet "$HANGING" \
        transactions find-hanging --topic txns --partition 0 --max-transaction-timeout 0
    check transactions/abort-nothing \
        "Could not find any open transactions starting at offset 999999 on partition txns-0" abort_at 999999
    # Apache Kafka ends that partition alone, beside the coordinator.
    [ -z "$BROKER_PID" ] || check transactions/abort-beside-the-coordinator \
        "The producer attempted a transactional operation in an invalid state" abort_open
    check transactions/still-open "tool-open Ongoing 60000 txns-0" describe_transaction tool-open
    check transactions/force-terminate "" \
        tool kafka-transactions forceTerminateTransaction --transactionalId tool-open
    check transactions/list-terminated "tool-open Empty" list_transaction tool-open
    check topics/delete-txns "" tool kafka-topics --delete --topic txns
}

delete_records() { # TOPIC OFFSET
    printf '{"partitions":[{"topic":"%s","partition":0,"offset":%d}],"version":1}' "$1" "$2" \
        >"$WORK/delete-records.json"
    tool kafka-delete-records --offset-json-file "$WORK/delete-records.json" | grep '^partition:'
}

group_consume() { # GROUP TOPIC COUNT
    tool kafka-console-consumer --group "$1" --topic "$2" --from-beginning \
        --max-messages "$3" --timeout-ms 30000
}

# The rows of a table with more than three columns, one space between them.
long_rows() {
    awk 'NF > 3 && !/no active members/ { $1 = $1; print }'
}

describe_group() { # GROUP
    tool kafka-consumer-groups --describe --group "$1" 2>&1 | long_rows
}

group_offsets() { # GROUP TOPIC CURRENT END LAG
    echo "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"
    echo "$1 $2 0 $3 $4 $5 - - -"
}

reset_group() { # GROUP TOPIC OFFSET
    tool kafka-consumer-groups --reset-offsets --group "$1" --topic "$2" \
        --to-offset "$3" --execute | long_rows
}

# Internal topics appear once something used them.
list_user_topics() {
    tool kafka-topics --list --exclude-internal
}
