# Sourced by the scripts beside it: where things are, Kafka's tools, and checks.

INTEROP=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/ackord-ci
KAFKA_VERSION=4.4.0
KAFKA_LIBS=$CACHE/kafka-$KAFKA_VERSION
CONFLUENT_VERSION=2.16.1
VENV=$CACHE/confluent-kafka-$CONFLUENT_VERSION
KAFKA_PYTHON_VERSION=3.0.12
KAFKA_PYTHON_VENV=$CACHE/kafka-python-$KAFKA_PYTHON_VERSION
KAFKAJS_VERSION=2.2.4
KAFKAJS=$CACHE/kafkajs-$KAFKAJS_VERSION
FRANZ=$CACHE/franz-go
KRAFKA=$CACHE/krafka
TOOL_TIMEOUT=60

PASSED=0
FAILED=0

# Kafka's jars, fetched once; the folder gets its name when it is complete.
fetch_kafka() {
    [ -d "$KAFKA_LIBS" ] && return
    mkdir -p "$CACHE"
    local part
    part=$(mktemp -d "$KAFKA_LIBS.XXXXXX")
    mvn -q -B -f "$INTEROP/kafka/pom.xml" -Dkafka.version="$KAFKA_VERSION" \
        dependency:copy-dependencies -DoutputDirectory="$part" >&2
    chmod 755 "$part"
    mv -T "$part" "$KAFKA_LIBS"
}

# venv FOLDER PACKAGE...: a virtual environment with these packages, made once.
venv() {
    local folder=$1
    shift
    [ -d "$folder" ] && return
    mkdir -p "$CACHE"
    # Renamed when it is complete; only the scripts of a venv hold its path, and none is used.
    rm -rf "$folder.part"
    python3 -m venv "$folder.part"
    "$folder.part/bin/pip" -q --disable-pip-version-check install "$@" >&2
    mv -T "$folder.part" "$folder"
}

fetch_confluent() {
    venv "$VENV" "confluent-kafka==$CONFLUENT_VERSION"
}

fetch_kafka_python() {
    venv "$KAFKA_PYTHON_VENV" "kafka-python==$KAFKA_PYTHON_VERSION" \
        python-snappy==0.7.3 lz4==4.4.5 zstandard==0.25.0
}

# Beside the checkout's own lock file, so that nothing is written into the tree.
fetch_kafkajs() {
    [ -d "$KAFKAJS" ] && return
    mkdir -p "$CACHE"
    rm -rf "$KAFKAJS.part"
    mkdir "$KAFKAJS.part"
    cp "$INTEROP"/node/package*.json "$KAFKAJS.part"
    npm ci --silent --prefix "$KAFKAJS.part" >&2
    mv -T "$KAFKAJS.part" "$KAFKAJS"
}

# Both are built each time: where nothing changed that is a moment.
build_members() {
    mkdir -p "$FRANZ" "$KRAFKA"
    (cd "$INTEROP/go" && CGO_ENABLED=0 go build -o "$FRANZ/interop" .) >&2
    cargo build --quiet --locked --manifest-path "$INTEROP/krafka/Cargo.toml" \
        --target-dir "$KRAFKA" >&2
}

kafkajs() {
    NODE_PATH=$KAFKAJS/node_modules timeout "$TOOL_TIMEOUT" node "$@"
}

kafka_python() {
    timeout "$TOOL_TIMEOUT" "$KAFKA_PYTHON_VENV/bin/python" "$@"
}

confluent_python() {
    timeout "$TOOL_TIMEOUT" "$VENV/bin/python" "$@"
}

# tool NAME ARGS...: one of Kafka's command line tools by its usual name.
tool() {
    local class broker=--bootstrap-server
    case $1 in
        kafka-topics) class=TopicCommand ;;
        kafka-delete-records) class=DeleteRecordsCommand ;;
        kafka-get-offsets) class=GetOffsetShell ;;
        kafka-configs) class=ConfigCommand ;;
        kafka-console-producer) class=ConsoleProducer ;;
        kafka-console-consumer) class=consumer.ConsoleConsumer ;;
        kafka-groups) class=GroupsCommand ;;
        kafka-producer-perf-test) class=ProducerPerformance ;;
        kafka-transactions) class=TransactionsCommand ;;
        kafka-share-groups) class=consumer.group.ShareGroupCommand ;;
        kafka-share-consumer-perf-test) class=ShareConsumerPerformance ;;
        kafka-verifiable-share-consumer) class=VerifiableShareConsumer ;;
        kafka-consumer-groups) class=consumer.group.ConsumerGroupCommand ;;
        kafka-console-share-consumer) class=consumer.ConsoleShareConsumer ;;
        kafka-transactional-message-copier)
            class=TransactionalMessageCopier broker=--broker-list ;;
        *) echo "no such tool: $1" >&2; return 2 ;;
    esac
    shift
    timeout "$TOOL_TIMEOUT" java -Xmx256m -XX:TieredStopAtLevel=1 -Xshare:auto \
        -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
        -cp "$KAFKA_LIBS/*" "org.apache.kafka.tools.$class" "$broker" "$BROKER" "$@"
}

# check NAME EXPECTED COMMAND...: passes where the command ends with 0 and prints just that.
check() {
    local name=$1 expected=$2 found status=0
    shift 2
    # Not in a subshell, so that a command may end what this shell started.
    "$@" >"$WORK/stdout" 2>"$WORK/stderr" || status=$?
    found=$(<"$WORK/stdout")
    if [ "$status" = 0 ] && [ "$found" = "$expected" ]; then
        PASSED=$((PASSED + 1))
        echo "PASS $name"
        return
    fi
    FAILED=$((FAILED + 1))
    echo "FAIL $name (exit $status): $*"
    diff <(echo "$expected") <(echo "$found") | head -40 | sed 's/^/     /' || true
    tail -n 30 "$WORK/stderr" | sed 's/^/     /'
}

# start_broker PROGRAM [ARGS...]: starts a broker on LISTEN, or a free port of loopback; sets BROKER
# to its address and BROKER_PID.
start_broker() {
    local ready=$WORK/ready line=
    mkfifo "$ready"
    "$@" --listen "${LISTEN:-127.0.0.1:0}" --data-dir "$WORK/data" >"$ready" 2>"$WORK/broker.log" &
    BROKER_PID=$!
    # Stays open, or the broker could not print another line. Ends early if the broker does.
    exec {BROKER_OUT}<"$ready"
    read -r -t 60 -u "$BROKER_OUT" line || true
    BROKER=${line#ackord ready on }
    if [ -z "$line" ] || [ "$line" = "$BROKER" ]; then
        echo "the broker did not start: $line" >&2
        tail -n 30 "$WORK/broker.log" >&2
        return 1
    fi
}

stop_broker() {
    [ -n "${BROKER_PID:-}" ] || return 0
    local pid=$BROKER_PID
    BROKER_PID=
    kill "$pid" 2>/dev/null || true
    wait "$pid"
}

kafka() { # CLASS ARGS...
    exec java -Xms512m -Xmx512m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
        -cp "$KAFKA_LIBS/*" "$@"
}

# Two ports that are free now: Kafka names its own in its configuration.
free_ports() {
    python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(own.getsockname()[1] for own in held))'
}

# start_kafka [KEY=VALUE...]: an Apache Kafka of one node, with limits that let a group ask for short
# locks, and these properties; sets BROKER to its address and BROKER_PID. stop_broker ends it.
start_kafka() {
    local port controller properties=$WORK/server.properties
    read -r port controller < <(free_ports)
    cat >"$properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$WORK/kafka-data
group.initial.rebalance.delay.ms=0
group.share.min.record.lock.duration.ms=1000
offsets.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.replication.factor=1
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
transaction.state.log.min.isr=1
transaction.state.log.replication.factor=1
PROPERTIES
    [ $# = 0 ] || printf '%s\n' "$@" >>"$properties"
    (kafka kafka.tools.StorageTool format -t AckordConformanceKafkA -c "$properties") \
        >"$WORK/kafka.log" 2>&1 || { cat "$WORK/kafka.log" >&2 && return 1; }
    kafka kafka.Kafka "$properties" >>"$WORK/kafka.log" 2>&1 </dev/null &
    BROKER_PID=$!
    BROKER=127.0.0.1:$port
    for _ in $(seq 300); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return
        kill -0 "$BROKER_PID" 2>/dev/null || break
        sleep 0.2
    done
    echo "Apache Kafka did not start" >&2
    tail -n 30 "$WORK/kafka.log" >&2
    return 1
}
