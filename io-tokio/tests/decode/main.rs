//! `ackord decode` as a process: what it prints for frames, batches, records and rows of tables.

use std::io::Write;
use std::process::{Command, Stdio};

use insta::assert_snapshot;

/// A transactional Produce v12 with one record.
const PRODUCE: &str = "0000007a0000000c0000018e0008636c69656e742d32000574782d31ffff00007530020b6f72646572732d34363402000000004800000000000000000000003bffffffff021f1875a50010000000000000018bcfe568000000018bcfe56800000000000001334a0007000000000000000112000000026b04763100000000";

/// A Fetch v17 answer: one record with a header, and an aborted transaction.
const FETCHED: &str = "000000b800000193000000000000000000004d023c3ad1a98669343176ce959d480a83160200000000000000000000000000780000000000000064000000000000000002000000000001334a000000000000005a00ffffffff60000000000000000000000053ffffffff027e871f8b0000000000010000018bcfeb996e0000018bcfeb996effffffffffffffffffffffffffff000000021c000000066b65790a76616c7565002400cdc5310201147061796c6f61642d393900000000";

/// The marker of a commit.
const MARKER: &str = "0000000000000991000000420000000902ca8e9fe70030000000000000018bcfe568000000018bcfe568000000000000009e9c0038ffffffff000000012000000008000000010c00000000003300";

/// A record of `__transaction_state`: key and value.
const TRANSACTION: [&str; 2] = [
    "0000000574782d3431",
    "0001000000000001493800000000ea6000000000018bcfe56800ffffffffffffffff0102020002",
];

/// Exit code, standard output, standard error.
fn decode(args: &[&str], input: impl AsRef<[u8]>) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ackord"))
        .arg("decode")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // Bad flags end it before it reads.
    let _ = child.stdin.take().expect("piped").write_all(input.as_ref());
    let output = child.wait_with_output().expect("gone");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// What is printed for good input.
fn decoded(args: &[&str], input: impl AsRef<[u8]>) -> String {
    let (code, text, error) = decode(args, input);
    assert_eq!((code, error.as_str()), (Some(0), ""));
    text
}

/// The sentence about bad input.
fn refused(args: &[&str], input: impl AsRef<[u8]>) -> String {
    let (code, _, error) = decode(args, input);
    assert_eq!(code, Some(1), "{error}");
    error
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex"))
        .collect()
}

#[test]
fn a_request_down_to_its_records() {
    assert_snapshot!(decoded(&[], PRODUCE));
}

#[test]
fn an_answer_down_to_its_records() {
    let by_name = decoded(&["--response", "Fetch", "17"], FETCHED);
    assert_eq!(decoded(&["--response", "1", "17"], FETCHED), by_name);
    assert_snapshot!(by_name);
}

#[test]
fn hex_and_binary_with_and_without_the_size_are_the_same() {
    let expected = decoded(&[], PRODUCE);
    let raw = bytes(PRODUCE);
    assert_eq!(decoded(&[], &raw), expected);
    assert_eq!(decoded(&[], &raw[4..]), expected);
    assert_eq!(decoded(&["--request"], &PRODUCE[8..]), expected);
    for (before, between) in [("\\x", ""), ("0x", ", "), ("", ":"), ("", "\n")] {
        let spread: Vec<_> = raw
            .iter()
            .map(|byte| format!("{before}{byte:02X}"))
            .collect();
        assert_eq!(
            decoded(&[], spread.join(between)),
            expected,
            "{before:?} {between:?}"
        );
    }
    // Frames in a row.
    let twice = decoded(&[], raw.repeat(2));
    assert_eq!(twice, format!("{expected}\n{expected}"));
}

#[test]
fn batches_and_records_of_internal_topics() {
    assert_snapshot!("marker", decoded(&[], MARKER));
    let lines = TRANSACTION.join("\n");
    let record = decoded(&["--record", "__transaction_state"], lines);
    assert_snapshot!("record", record);
    let deleted = format!("{}\nnull\n", TRANSACTION[0]);
    let record = decoded(&["--record", "__transaction_state"], deleted);
    assert_eq!(
        record,
        "Transaction {\n  transactional_id: \"tx-41\"\n} null\n"
    );
}

#[test]
fn rows_of_tables() {
    let rows = [
        "__share_group_state\t1\tSHARE_UPDATE\t0\ttypical:share-update-old-writer\t0001000b776f726b6572732d39363329b638bf3045520b807a80d2baa3ebb000000003\t0000000000040000000700000000000000650100\t{\"groupId\":\"workers-963\",\"topicId\":\"KbY4vzBFUguAeoDSuqPrsA\",\"partition\":3}\t{\"snapshotEpoch\":4,\"leaderEpoch\":7,\"startOffset\":101,\"stateBatches\":[]}",
        "good-heartbeat-v4\t000c00040000000700016300026700000001026d0000\tok\t2\tok",
        "ConsumerProtocolSubscription\t1\tone\t0001000000010000ffffffff0000000100000000000100000000\t{\"topics\":[\"\"],\"userData\":null,\"ownedPartitions\":[{\"topic\":\"\",\"partitions\":[0]}]}",
    ];
    let shown: Vec<_> = rows.iter().map(|row| decoded(&[], row)).collect();
    assert_snapshot!(shown.join("\n"));
}

#[test]
fn bad_input_is_a_sentence() {
    let cut = &PRODUCE[..PRODUCE.len() - 2];
    let sentences = [
        refused(&[], ""),
        refused(&[], "0001zz"),
        refused(&[], "00012"),
        refused(&[], cut),
        refused(&[], "7fff00000000000700016300"),
        refused(&[], "0012006300000007000163"),
        refused(&["--response", "Fetch", "17"], "00000007"),
        refused(&["--record", "__transaction_state"], "0000\n"),
        refused(
            &[],
            MARKER.replace("00000008000000010c", "00000008000000010d"),
        ),
    ];
    assert_snapshot!(sentences.concat());
}

#[test]
fn bad_flags_end_with_two() {
    for args in [
        &["--response", "Nothing", "1"][..],
        &["--response", "Fetch", "99"],
        &["--response", "Fetch"],
        &["--what"],
    ] {
        let (code, out, error) = decode(args, "");
        assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}");
        assert!(error.starts_with("error: "), "{error}");
    }
}
