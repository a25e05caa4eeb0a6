#!/usr/bin/env bash
# nothing_pending.sh HOST:PORT GROUP TOPIC PREFIX: asks with Kafka's tools whether a share group is
# done with a topic and no transaction of PREFIX is open. What a lost worker held comes free by its
# timeouts, so it asks for two minutes; then a Java share consumer of the group must find nothing.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

BROKER=$1
group=$2 topic=$3 prefix=$4

lag() {
    tool kafka-share-groups --describe --offsets --group "$group" |
        awk -v topic="$topic" '$2 == topic && $NF != 0 { print topic "-" $3 " lags by " $NF }
            $2 == topic { partitions++ }
            END { if (!partitions) print "the group knows nothing of " topic }'
}

open_transactions() {
    tool kafka-transactions list |
        awk -v prefix="$prefix" 'index($1, prefix) == 1 && $4 !~ /^(Empty|CompleteCommit|CompleteAbort)$/ {
            print $1 " is " $4 }'
}

left=unknown
until=$((SECONDS + 120))
while [ -n "$left" ] && [ "$SECONDS" -lt "$until" ]; do
    left=$(lag && open_transactions)
done
if [ -n "$left" ]; then
    echo "pending afterwards:" && echo "$left" && exit 1
fi
records=$(tool kafka-console-share-consumer --topic "$topic" --group "$group" --timeout-ms 8000 2>/dev/null)
if [ -n "$records" ]; then
    echo "delivered once more:" && head -5 <<<"$records" && exit 1
fi
echo "nothing pending: no lag, no open transaction, no record for a Java share consumer"
