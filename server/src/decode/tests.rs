use super::input::{Input, hex};
use super::*;

#[test]
fn hex_says_where_it_is_wrong() {
    let wrong = |text: &str| hex(text, 10).unwrap_err().to_string();
    assert_eq!(wrong("00 é"), "'é' at byte 13 of the input is no hex digit");
    let half = "' ' at byte 13 of the input stands where the second digit of a byte is due";
    assert_eq!(wrong("000 1"), half);
    assert!(wrong("00\n0x0").contains("ends at byte 16 of the input with half a byte"));
    assert_eq!(hex("0x0A:\\xfF, 0b", 0).unwrap(), [10, 255, 11][..]);
}

#[test]
fn text_without_rows_is_hex_and_what_is_no_text_is_binary() {
    let parse = |raw: &[u8]| Input::parse(raw.to_vec()).unwrap();
    assert!(matches!(parse(b"00\t01\t02"), Input::Lines(lines) if lines.len() == 1));
    assert!(matches!(parse(b"00 01\r\n\r\nnull\n"), Input::Lines(lines) if lines.len() == 2));
    assert!(matches!(parse(b"\0\0\0\x01a"), Input::Binary(_)));
    assert!(matches!(parse(b"\xff"), Input::Binary(_)));
}

#[test]
fn a_table_is_known_by_its_head_or_by_its_cells() {
    let row = "request\t1\tdefault\t00000000000000000000\t{}";
    let head = "# header\theader_version\tvariant\thex\tjson";
    let what = What::Guess;
    let bare = decode(row.as_bytes(), &what, None);
    assert!(bare.faults.is_empty(), "{:?}", bare.faults);
    assert!(
        bare.text
            .starts_with("# request 1 default\nRequestHeader v1 {\n")
    );
    let with_head = decode(format!("{head}\n{row}\n").as_bytes(), &what, None);
    assert_eq!(with_head.text, bare.text);
    let other = decode(format!("{head}\nrequest\t1\n").as_bytes(), &what, None);
    let sentence = "line 2 with 2 cells is no row of a known table";
    assert_eq!(other.faults, [Bad(sentence.to_owned())]);
}

#[test]
fn rows_without_bytes_are_printed_cell_by_cell() {
    let row = b"22\tInitProducerId\t0-6\t6\t30\t30\t1000";
    let shown = decode(&row[..], &What::Guess, None);
    assert!(
        shown.text.contains("versions: 0-6\nunstable: 6\n"),
        "{}",
        shown.text
    );
}

#[test]
fn a_bare_row_of_each_table_is_known() {
    let rows = [
        (
            "12\tHeartbeat\t0\trequest\tstable\tone\t00000000000000000000\t{}",
            "Heartbeat v0",
        ),
        (
            "12\tHeartbeat\t0\trequest\tcut\tp\t00\tEnd\t=\t\t",
            "# 12 Heartbeat",
        ),
        (
            "3\tMetadata\t4\trequest\tmany\t00000002\t0000\t2\t01\tok",
            "topics: [",
        ),
        (
            "0\tProduce\tnone\t1\t0\tstable\tbroker\t0\t13",
            "request_header: 1\n",
        ),
        ("0\tProduce\t3-13\t\t120\t120\t28372", "versions: 3-13\n"),
        ("response\t0\tone\t00000007\t{}", "ResponseHeader v0"),
        (
            "odd\t0012000400000007ffff00010100\tok\t2\tok",
            "ApiVersions v4",
        ),
        ("odd\t00\tBufferUnderflowException\t\t", "# odd"),
        ("empty\t\t0\t0\t[]", "[]"),
        (
            "two\t00ab\t1\t71\t[{}]",
            "[<2 bytes of a batch that is cut off>]",
        ),
        ("v0\t00ab\t0\tInvalidRecordException: magic\t[]", "# v0"),
        ("AbortedTxn\t0\tone\t0000\t{}", "# AbortedTxn 0 one"),
        ("one\t00\t0\t0\t1\t7\t0\t{}", "# one"),
        ("bad\t00\ta bit\t1\tok\tok\tok\tok\tok", "# bad"),
        (
            "__transaction_state\t0\tTRANSACTION_LOG\t\ttombstone\t0000000174\tnull\t{}\tnull",
            "} null\n",
        ),
        (
            "first\t12\tHeartbeat\t0\trequest\t1\t7\tnull\t\
             00000014000c000000000007ffff00000000000000000000\t{}",
            "Request Heartbeat v0",
        ),
    ];
    for (row, expected) in rows {
        let shown = decode(row.as_bytes(), &What::Guess, None);
        assert!(shown.text.contains(expected), "{row}: {shown:?}");
    }
}

#[test]
fn records_in_tables_of_bodies_are_only_bytes() {
    let row = "0\tProduce\t3\trequest\tstable\tone\t\
               ffffffff00000007000000010001740000000100000000\
               00000011ffffffffffffffffffffffffffffffffff\t{}";
    let shown = decode(row.as_bytes(), &What::Guess, None);
    assert!(
        shown.text.contains("<impossible batch length -1>"),
        "{}",
        shown.text
    );
    assert_eq!(shown.faults, []);
}
