//! Golden vectors of Apache Kafka, and what becomes of them when they are damaged.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use ackord_proto::Writer;
use ackord_proto::api::{ApiKey, Body, Request, Response};
use ackord_proto::embedded;
use ackord_proto::frame::FrameBuffer;
use ackord_proto::printer::Printer;
use ackord_proto::reader::Reader;
use ackord_proto::records::print::of_internal_topic;
use ackord_proto::records::{BatchIter, RecordIter, validate_for_append};
use bytes::Bytes;
use flate2::read::GzDecoder;

#[path = "../../conformance/src/vectors.rs"]
pub mod vectors;

use vectors::{STRICTER, Tally, check_text, run};

/// The folder of the packed tables.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/vectors")
}

/// A table by its path below the folder.
fn table(name: &str) -> String {
    unpack(&folder().join(format!("{name}.tsv.gz")))
}

fn unpack(path: &Path) -> String {
    let mut text = String::new();
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

/// All tables of message bodies.
fn message_tables() -> Vec<(String, String)> {
    let mut paths: Vec<_> = folder()
        .join("messages")
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths
        .iter()
        .map(|path| (name(path), unpack(path)))
        .collect()
}

/// Nothing failed or was skipped, and no fewer passed than that.
fn assert_passed(name: &str, tally: &Tally, least: usize) {
    assert!(tally.failures.is_empty(), "{name}: {:#?}", tally.failures);
    assert_eq!(tally.skipped, 0, "{name}");
    assert!(
        tally.passed >= least,
        "{name}: only {} passed",
        tally.passed
    );
}

#[test]
fn message_bodies_come_out_as_they_went_in() {
    let mut total = Tally::default();
    for (name, text) in message_tables() {
        let tally = check_text(&text);
        assert_passed(&name, &tally, 10);
        total.add(tally);
    }
    assert_passed("all", &total, 6725);
}

#[test]
fn headers_and_frames_are_those_of_kafka() {
    assert_passed("counts", &check_text(&table("counts")), 91);
    assert_passed("header bytes", &check_text(&table("header-bytes")), 37);
    assert_passed("headers", &check_text(&table("headers")), 313);
    assert_passed("frames", &check_text(&table("frames")), 82);
}

#[test]
fn damaged_bodies_are_refused_like_in_kafka() {
    assert_passed("malformed", &check_text(&table("malformed")), 2392);
    assert_passed("limits", &check_text(&table("limits")), 15);
    assert_passed("odd frames", &check_text(&table("odd-frames")), 45);
}

#[test]
fn coordinator_records_come_out_as_they_went_in() {
    assert_passed(
        "coordinator records",
        &check_text(&table("coordinator-records")),
        602,
    );
    assert_passed("embedded", &check_text(&table("embedded")), 113);
}

#[test]
fn batches_are_read_and_built() {
    assert_passed("batches", &check_text(&table("batches")), 74);
    assert_passed("record sets", &check_text(&table("record-sets")), 7);
}

#[test]
fn damaged_batches_are_refused() {
    assert_passed(
        "corrupt batches",
        &check_text(&table("corrupt-batches")),
        150,
    );
    let legacy = check_text(&table("legacy-message-sets"));
    assert_passed("legacy message sets", &legacy, 16);
}

#[test]
fn every_rule_of_the_list_is_needed_once_and_says_why() {
    for (index, rule) in STRICTER.iter().enumerate() {
        assert!(!rule.reason.is_empty() && !rule.what.is_empty());
        assert!(!STRICTER[..index].contains(rule), "{rule:?}");
        let named = table(rule.table)
            .lines()
            .any(|line| rule.what.iter().all(|part| line.contains(part)));
        assert!(named, "no vector for {rule:?}");
    }
}

/// One row of a message table.
struct Vector {
    title: String,
    key: ApiKey,
    version: i16,
    request: bool,
    bytes: Bytes,
}

impl Vector {
    fn all() -> Vec<Self> {
        let tables = message_tables();
        tables
            .iter()
            .flat_map(|(_, text)| text.lines().skip(1).map(Self::of_row))
            .collect()
    }

    fn of_row(line: &str) -> Self {
        let cells: Vec<_> = line.split('\t').collect();
        Self {
            title: cells[..6].join(" "),
            key: ApiKey::from_key(cells[0].parse().unwrap()).unwrap(),
            version: cells[2].parse().unwrap(),
            request: cells[3] == "request",
            bytes: unhex(cells[6]),
        }
    }

    /// Decodes bytes as if they were this message; what can be decoded must bear encoding.
    fn decodes(&self, bytes: Bytes) -> bool {
        let mut r = Reader::new(bytes);
        let mut w = Writer::new();
        if self.request {
            let body = Request::decode(self.key, self.version, &mut r);
            body.map(|body| body.encode(self.version, &mut w)).is_ok()
        } else {
            let body = Response::decode(self.key, self.version, &mut r);
            body.map(|body| body.encode(self.version, &mut w)).is_ok()
        }
    }
}

fn unhex(hex: &str) -> Bytes {
    let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

/// Every place of a short message, some places of a long one.
fn places(length: usize) -> impl Iterator<Item = usize> {
    (0..length).step_by(1 + length / 400)
}

#[test]
fn a_truncated_body_is_refused_wherever_it_is_cut() {
    for vector in Vector::all() {
        for end in 0..vector.bytes.len() {
            let cut = vector.bytes.slice(..end);
            assert!(!vector.decodes(cut), "{} cut to {end} bytes", vector.title);
        }
    }
}

/// Checks that whatever is cut off is missed.
fn every_cut(title: &str, bytes: &Bytes, refused: impl Fn(&Bytes) -> bool) {
    for end in 0..bytes.len() {
        let cut = bytes.slice(..end);
        assert!(refused(&cut), "{title} cut to {end} bytes");
    }
}

#[test]
fn what_is_no_body_is_refused_wherever_it_is_cut_too() {
    for line in table("coordinator-records").lines().skip(1) {
        let cells: Vec<_> = line.split('\t').collect();
        let print = of_internal_topic(cells[0]).expect("an internal topic");
        let refused = |key: &Bytes, value: Option<&Bytes>| {
            print(key, value, &mut Printer::default()).is_err()
        };
        let key = unhex(cells[5]);
        every_cut(cells[4], &key, |cut| refused(cut, None));
        if cells[6] != "null" {
            every_cut(cells[4], &unhex(cells[6]), |cut| refused(&key, Some(cut)));
        }
    }
    for line in table("embedded").lines().skip(1) {
        let cells: Vec<_> = line.split('\t').collect();
        let bytes = unhex(cells[3]);
        every_cut(line, &bytes, |cut| match cells[0] {
            "ConsumerProtocolSubscription" => {
                embedded::decode::<embedded::ConsumerProtocolSubscription>(cut).is_err()
            }
            "ConsumerProtocolAssignment" => {
                embedded::decode::<embedded::ConsumerProtocolAssignment>(cut).is_err()
            }
            "DefaultPrincipalData" => {
                embedded::decode::<embedded::DefaultPrincipalData>(cut).is_err()
            }
            "AbortedTxn" => embedded::decode::<embedded::AbortedTxn>(cut).is_err(),
            "EndTxnMarker" => embedded::decode::<embedded::EndTxnMarker>(cut).is_err(),
            _ => embedded::decode::<embedded::ControlRecordTypeSchema>(cut).is_err(),
        });
    }
    for line in table("batches").lines().skip(1) {
        let cells: Vec<_> = line.split('\t').collect();
        every_cut(cells[0], &unhex(cells[1]), |cut| {
            validate_for_append(cut).is_err() && RecordIter::new(cut).is_err()
        });
    }
    for line in table("record-sets").lines().skip(1) {
        let cells: Vec<_> = line.split('\t').collect();
        let bytes = unhex(cells[1]);
        let whole = BatchIter::new(bytes.clone()).flatten().count();
        every_cut(cells[0], &bytes, |cut| {
            let batches = BatchIter::new(cut.clone()).take_while(Result::is_ok);
            batches.count() <= whole
        });
    }
    let headers = table("header-bytes");
    let (head, rows) = headers.split_once('\n').expect("a first line");
    for row in rows.lines() {
        let cells: Vec<_> = row.split('\t').collect();
        for digits in (0..cells[3].len()).step_by(2) {
            let mut cut = cells.clone();
            cut[3] = &cells[3][..digits];
            let tally = check_text(&[head, &cut.join("\t")].join("\n"));
            assert_eq!(tally.failed, 1, "{row} cut to {digits} digits");
        }
    }
    for line in table("frames").lines().skip(1) {
        let cells: Vec<_> = line.split('\t').collect();
        let bytes = unhex(cells[8]);
        every_cut(cells[0], &bytes, |cut| {
            let mut stream = FrameBuffer::new(1 << 20);
            stream.push(cut.clone());
            stream.next_frame() == Ok(None)
        });
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let mut refused = 0;
    for vector in Vector::all() {
        let mut bytes = vector.bytes.to_vec();
        for at in places(bytes.len()) {
            for mask in [0x01, 0x80, 0xff] {
                bytes[at] ^= mask;
                refused += usize::from(!vector.decodes(Bytes::copy_from_slice(&bytes)));
                bytes[at] ^= mask;
            }
        }
    }
    assert!(refused > 10_000, "only {refused} were refused");
}

#[test]
fn flipped_batches_never_panic_and_never_pass() {
    for name in ["batches", "record-sets"] {
        for line in table(name).lines().skip(1) {
            let mut bytes = unhex(line.split('\t').nth(1).unwrap()).to_vec();
            for at in places(bytes.len()) {
                bytes[at] ^= 0x81;
                let damaged = Bytes::copy_from_slice(&bytes);
                bytes[at] ^= 0x81;
                for batch in BatchIter::new(damaged.clone()).flatten() {
                    for record in RecordIter::new(&batch.bytes)
                        .into_iter()
                        .flatten()
                        .flatten()
                    {
                        assert_eq!(record.headers.iter().count(), record.headers.len());
                    }
                }
                // The leader epoch is not under the checksum.
                let verdict = validate_for_append(&damaged);
                assert!(
                    verdict.is_err() || (12..16).contains(&at),
                    "{line:.60} byte {at}"
                );
            }
        }
    }
}

#[test]
fn a_wrong_vector_is_counted_and_a_strange_one_skipped() {
    let head = "# api_key\tapi_name\tversion\tkind\tstability\tvariant\thex\tjson";
    let lines = [
        head,
        "26\tEndTxn\t0\trequest\tstable\tgood\t0001740000000000000001000001\t",
        "26\tEndTxn\t0\trequest\tstable\tnot-1-for-true\t0001740000000000000001000002\t",
        "26\tEndTxn\t0\trequest\tstable\ttoo-long\t000174000000000000000100000100\t",
        "26\tEndTxn\t0\trequest\tstable\ttoo-short\t00017400000000000000010000\t",
        "4\tLeaderAndIsr\t0\trequest\tstable\tremoved\t00\t",
    ];
    let tally = check_text(&lines.join("\n"));
    assert_eq!(
        (tally.passed, tally.failed, tally.skipped),
        (1, 3, 1),
        "{tally:?}"
    );

    let missing = folder().join("no-such-table.tsv");
    assert_eq!(run(&[missing]).failed, 1);
}
