# Sourced by run.sh: batches of each codec, made by four makers, read by three readers. What a
# maker appends the broker checks record by record; what lies in its log has to be of that codec.

CODECS=(none gzip snappy lz4 zstd)
MAKERS=(ackord confluent java kafka-python)
READERS=(confluent java kafka-python)
RECORDS=50

codec_values() { # MAKER [CODEC...]
    local maker=$1 codec tail
    shift
    tail=$(printf -- '-%.0s' {1..100})
    for codec in "${@:-${CODECS[@]}}"; do
        seq -f "$maker $codec %g $tail" 1 "$RECORDS"
    done
}

library() { # LIBRARY ACTION TOPIC
    local python=confluent_python
    [ "$1" != kafka-python ] || python=kafka_python
    "$python" "$INTEROP/codecs.py" "$BROKER" "$@" "$RECORDS"
}

make_batches() { # MAKER TOPIC
    local codec
    case $1 in
        ackord)
            "$ROOT/target/release/ackord-conformance" codecs --against "$BROKER" --topic "$2" \
                --records "$RECORDS" >&2
            ;;
        java)
            for codec in "${CODECS[@]}"; do
                codec_values java "$codec" | tool kafka-console-producer --topic "$2" \
                    --compression-codec "$codec"
            done
            ;;
        *) library "$1" make "$2" ;;
    esac
}

read_batches() { # READER TOPIC
    case $1 in
        java) consume "$2" $((${#CODECS[@]} * RECORDS)) ;;
        *) library "$1" read "$2" ;;
    esac
}

# The rows of the table are checks, so that a cell that fails shows what was read instead.
check_codecs() {
    local maker reader topic
    for maker in "${MAKERS[@]}"; do
        topic=codecs-$maker
        check "codecs/$maker/topic" "Created topic $topic." \
            tool kafka-topics --create --topic "$topic" --partitions 1 --replication-factor 1
        check "codecs/$maker/makes" "" make_batches "$maker" "$topic"
        check "codecs/$maker/in-the-log" "${CODECS[*]}" library wire read "$topic"
        for reader in "${READERS[@]}"; do
            check "codecs/$maker/read-by-$reader" "$(codec_values "$maker")" \
                read_batches "$reader" "$topic"
        done
    done
}
