#!/usr/bin/env bash
# kill9_share.sh tokio|async-std: kills the broker 20 times at random moments while plain share
# consumers work, and keeps account of every record. The seed that it prints names the run.
set -euo pipefail

ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case ${1:-tokio} in
    tokio) broker=ackord ;;
    async-std) broker=ackord-async-std ;;
    *) echo "no runtime named $1" >&2 && exit 2 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$ROOT/target/release/ackord-conformance" kill-share --kills 20 --data "$work/data" \
    "$ROOT/target/release/$broker" 2>"$work/log" || { tail -n 50 "$work/log" && exit 1; }
