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

    check topics/delete "" tool kafka-topics --delete --topic three
    check topics/list-after-delete plain list_user_topics
}

group_consume() { # GROUP TOPIC COUNT
    tool kafka-console-consumer --group "$1" --topic "$2" --from-beginning \
        --max-messages "$3" --timeout-ms 30000
}

# Columns as wide as what is in them; what is no table is left out.
table() {
    awk 'NF > 3 && !/no active members/ { $1 = $1; print }'
}

describe_group() { # GROUP
    tool kafka-consumer-groups --describe --group "$1" 2>&1 | table
}

group_offsets() { # GROUP TOPIC CURRENT END LAG
    echo "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"
    echo "$1 $2 0 $3 $4 $5 - - -"
}

reset_group() { # GROUP TOPIC OFFSET
    tool kafka-consumer-groups --reset-offsets --group "$1" --topic "$2" \
        --to-offset "$3" --execute | table
}

# Internal topics appear once something used them.
list_user_topics() {
    tool kafka-topics --list --exclude-internal
}
