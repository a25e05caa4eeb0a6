# Sourced by run.sh: a suite of Java client cases, where a folder beside the checkout has one
# (*/peers/kafka). The cases that this broker serves by now are listed in java-suite.allow.

check_java_suite() {
    local suite total allowed
    suite=$(compgen -G "$ROOT/../*/peers/kafka/run-java-suite.sh" | head -1) || true
    if [ -z "$suite" ]; then
        echo "# no suite of Java clients beside the checkout"
        return
    fi
    allowed=$(grep -v -e '^#' -e '^$' "$INTEROP/java-suite.allow")
    total=$(bash "$suite" --list | wc -l)
    # Counted once the suite has run: a case that fails must not be lost in the number.
    check java-suite "$(wc -l <<<"$allowed") passed, 0 failed" run_java_suite "$suite" "$allowed"
    grep '^FAIL' -A1 "$WORK/java-suite.log" || true
    echo "# Java suite: $((total - $(wc -l <<<"$allowed"))) of $total cases are not served yet and not run"
}

run_java_suite() { # SUITE ALLOWED
    timeout 600 bash "$1" "$BROKER" "^($(paste -s -d '|' <<<"$2"))\$" >"$WORK/java-suite.log"
    local status=$?
    tail -n 1 "$WORK/java-suite.log"
    return "$status"
}
