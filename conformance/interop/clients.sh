# Sourced by run.sh: clients of other makers, and all of them in one share group.

check_clients() {
    check confluent/idempotent "1000 records, in order: True" \
        confluent_python "$INTEROP/confluent.py" "$BROKER" idempotent
    check confluent/transactions \
        "$(printf 'committed: c0 c1 c2 c3 c4 d0 d1 d2 d3 d4\nall: 15')" \
        confluent_python "$INTEROP/confluent.py" "$BROKER" transactions
    check confluent/share "100 records, 110 deliveries, twice: $(twice)" \
        confluent_python "$INTEROP/confluent.py" "$BROKER" share
    check franz-go/transactions "$(copied)" \
        timeout "$TOOL_TIMEOUT" "$FRANZ/interop" transactions "$BROKER"
    check kafkajs/transactions "$(copied)" kafkajs "$INTEROP/node/transactions.js" "$BROKER"
    check kafka-python/transactions "$(copied)" kafka_python "$INTEROP/kafka_python.py" "$BROKER"
    check share-group/of-all-clients "$(all_had_some confluent franz-go java krafka)" together
}

twice() {
    printf '[0%s]' "$(seq -s '' -f ', %g' 10 10 90)"
}

# Three transactions of five records and their offsets: one committed, one aborted, one committed.
copied() {
    printf '%s\n' 'offsets: 5 5 10' 'committed: c0 c1 c2 c3 c4 d0 d1 d2 d3 d4' 'all: 15'
}

together() {
    confluent_python "$INTEROP/together.py" "$BROKER" \
        "confluent=$VENV/bin/python $INTEROP/confluent.py member" \
        "franz-go=$FRANZ/interop member" \
        "java=java -Xmx256m -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn
            -cp $KAFKA_LIBS/* $INTEROP/java/ShareMember.java" \
        "krafka=$KRAFKA/debug/ackord-interop-krafka"
}

all_had_some() { # NAME...
    printf '%s: some, stopped: 0\n' "$@"
    echo 'missing: [], twice: []'
}
