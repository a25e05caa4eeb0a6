//! Golden vectors: bytes that Apache Kafka's own classes wrote, checked against our codecs.
//!
//! A table is known by its first line. Checked are message bodies, whole frames, headers,
//! damaged bodies, records of the coordinators and record batches; other tables are skipped.

use std::fs;
use std::path::{Path, PathBuf};

use ackord_proto::Writer;
use ackord_proto::api::{ApiKey, Body, Request, RequestHeader, Response, ResponseHeader};
use ackord_proto::coordinator_records::{self as internal, RecordKey, RecordValue};
use ackord_proto::printer::Printer;
use ackord_proto::reader::Reader;
use bytes::Bytes;

// The path is said because another crate includes this file.
#[path = "vectors/batches.rs"]
mod batches;

/// How many vectors passed, failed or are of no concern to us.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// As they should be.
    pub passed: usize,
    /// Not as they should be.
    pub failed: usize,
    /// APIs, record types and tables that we do not know.
    pub skipped: usize,
    /// One line for each failure.
    pub failures: Vec<String>,
}

impl Tally {
    /// Adds the numbers of another tally.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
    }

    fn count(&mut self, row: &Row<'_>, verdict: Verdict) {
        match verdict {
            Ok(Some(())) => self.passed += 1,
            Ok(None) => self.skipped += 1,
            Err(reason) => {
                self.failed += 1;
                self.failures.push(format!("{}: {reason}", row.title()));
            }
        }
    }
}

/// Passed, skipped (`None`) or the reason of a failure.
type Verdict = Result<Option<()>, String>;

/// Checks files and folders of tables (`.tsv`) and prints each failure to standard output.
pub fn run<P: AsRef<Path>>(paths: &[P]) -> Tally {
    let mut tally = Tally::default();
    for path in paths.iter().flat_map(|path| tables(path.as_ref())) {
        let part = match fs::read_to_string(&path) {
            Ok(text) => check_text(&text),
            Err(error) => Tally {
                failed: 1,
                failures: vec![format!("cannot be read: {error}")],
                ..Tally::default()
            },
        };
        for failure in &part.failures {
            println!("{}: {failure}", path.display());
        }
        tally.add(part);
    }
    tally
}

/// A file itself, or all tables below a folder in the order of their names.
fn tables(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else {
        return vec![path.to_path_buf()];
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_dir() || path.extension().is_some_and(|e| e == "tsv"));
    paths.sort();
    paths.iter().flat_map(|path| tables(path)).collect()
}

/// Checks one row.
type Check = fn(&Row<'_>) -> Verdict;

/// How the first lines of the tables begin, and what checks a row.
const TABLES: [(&str, Check); 10] = [
    (
        "api_key\tapi_name\tversion\tkind\tstability\tvariant",
        message,
    ),
    ("api_key\tapi_name\tversion\tkind\tfault\tpath", malformed),
    ("api_key\tapi_name\tversion\tkind\tfault\tprefix_hex", limit),
    ("api_key\tapi_name\tversion\trequest_header", header),
    (
        "name\tapi_key\tapi_name\tversion\tkind\theader_version",
        frame,
    ),
    ("name\thex\theader_outcome", odd_frame),
    ("topic\trecord_type\trecord_name", coordinator_record),
    ("name\thex\tbase_offset\tlast_offset", batches::record_batch),
    ("name\thex\tbatch_count\tvalid_bytes", batches::record_set),
    ("name\thex\twhat\tbatch_count\twalk", batches::corrupt_batch),
];

/// Checks one table.
pub fn check_text(text: &str) -> Tally {
    let mut tally = Tally::default();
    let mut lines = text.split('\n').filter(|line| !line.is_empty());
    let head = lines.next().unwrap_or_default();
    let columns: Vec<_> = head.trim_start_matches("# ").split('\t').collect();
    let known = TABLES
        .iter()
        .find(|(start, _)| head.trim_start_matches("# ").starts_with(start));
    for line in lines {
        let row = Row {
            columns: &columns,
            cells: line.split('\t').collect(),
        };
        let verdict = known.map_or(Ok(None), |(_, check)| check(&row));
        tally.count(&row, verdict);
    }
    tally
}

/// One line of a table.
struct Row<'a> {
    columns: &'a [&'a str],
    cells: Vec<&'a str>,
}

impl Row<'_> {
    fn cell(&self, column: &str) -> &str {
        let index = self.columns.iter().position(|name| *name == column);
        index
            .and_then(|index| self.cells.get(index))
            .copied()
            .unwrap_or_default()
    }

    fn number<T: std::str::FromStr>(&self, column: &str) -> Result<T, String> {
        self.cell(column)
            .parse()
            .map_err(|_| format!("column {column} is not such a number"))
    }

    fn bytes(&self, column: &str) -> Result<Bytes, String> {
        let hex = self.cell(column);
        let digits = (0..hex.len()).step_by(2).map(|at| {
            hex.get(at..at + 2)
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        });
        digits
            .collect::<Option<Vec<_>>>()
            .map(Bytes::from)
            .ok_or(format!("{column} is not hex"))
    }

    /// What names the vector: the short cells before the bytes.
    fn title(&self) -> String {
        let hex = self
            .columns
            .iter()
            .position(|name| name.ends_with("hex"))
            .unwrap_or(2);
        let cells = self
            .cells
            .get(..hex.max(1).min(self.cells.len()))
            .unwrap_or_default();
        cells.join(" ")
    }

    /// The API and version of the row; `None` where we do not know the API.
    fn api(&self) -> Result<Option<(ApiKey, i16)>, String> {
        let version = self.number("version")?;
        Ok(ApiKey::from_key(self.number("api_key")?).map(|key| (key, version)))
    }
}

fn show(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Encodes and compares bytes and predicted size.
fn same_bytes(body: &impl Body, version: i16, expected: &Bytes) -> Result<(), String> {
    let mut w = Writer::new();
    body.encode(version, &mut w).map_err(show)?;
    let encoded = w.into_bytes();
    let predicted = body.counted(version).total();
    if encoded != expected {
        return Err(format!("other bytes: {encoded:02x?}"));
    }
    if predicted != encoded.len() {
        return Err(format!(
            "{predicted} bytes predicted, {} written",
            encoded.len()
        ));
    }
    Ok(())
}

fn all_read(r: &Reader) -> Result<(), String> {
    match r.remaining() {
        0 => Ok(()),
        left => Err(format!("{left} bytes left")),
    }
}

/// A body that was decoded from a row.
enum AnyBody {
    Request(Request),
    Response(Response),
}

impl AnyBody {
    fn decode(row: &Row<'_>, key: ApiKey, version: i16, r: &mut Reader) -> Result<Self, String> {
        match row.cell("kind") {
            "request" => Request::decode(key, version, r)
                .map(Self::Request)
                .map_err(show),
            "response" => Response::decode(key, version, r)
                .map(Self::Response)
                .map_err(show),
            other => Err(format!("unknown kind {other}")),
        }
    }

    fn check(&self, version: i16, expected: &Bytes) -> Result<(), String> {
        let mut printer = Printer::default();
        match self {
            Self::Request(body) => {
                body.print(version, &mut printer);
                same_bytes(body, version, expected)
            }
            Self::Response(body) => {
                body.print(version, &mut printer);
                same_bytes(body, version, expected)
            }
        }
    }
}

/// Decode, encode, the same bytes.
fn message(row: &Row<'_>) -> Verdict {
    let Some((key, version)) = row.api()? else {
        return Ok(None);
    };
    let bytes = row.bytes("hex")?;
    let mut r = Reader::new(bytes.clone());
    let body = AnyBody::decode(row, key, version, &mut r)?;
    all_read(&r)?;
    body.check(version, &bytes)?;
    Ok(Some(()))
}

/// Size, header and body of a whole frame.
fn frame(row: &Row<'_>) -> Verdict {
    let Some((key, version)) = row.api()? else {
        return Ok(None);
    };
    let bytes = row.bytes("hex")?;
    let mut r = Reader::new(bytes.slice(4..));
    let correlation_id = row.number("correlation_id")?;
    let chunks = match row.cell("kind") {
        "request" => {
            let header = RequestHeader::decode(&mut r).map_err(show)?;
            let client_id = header
                .client_id
                .as_ref()
                .map(|id| format!("{:?}", id.as_str()));
            let expected = (
                key,
                version,
                correlation_id,
                row.cell("client_id").to_owned(),
            );
            let client_id = client_id.unwrap_or("null".to_owned());
            let found = (
                header.api_key,
                header.api_version,
                header.correlation_id,
                client_id,
            );
            if found != expected {
                return Err(format!("header {found:?}"));
            }
            let body = Request::decode(key, version, &mut r).map_err(show)?;
            ackord_proto::api::encode_request_frame(&header, &body)
        }
        _ => {
            ResponseHeader::decode(key, version, &mut r).map_err(show)?;
            let body = Response::decode(key, version, &mut r).map_err(show)?;
            ackord_proto::api::encode_response_frame(correlation_id, key, version, &body)
        }
    };
    all_read(&r)?;
    let encoded = chunks.map_err(show)?.concat();
    if encoded == bytes {
        Ok(Some(()))
    } else {
        Err(format!("other bytes: {encoded:02x?}"))
    }
}

/// Header versions and announced ranges.
fn header(row: &Row<'_>) -> Verdict {
    if row.cell("version") == "none" {
        return Ok(None);
    }
    let Some((key, version)) = row.api()? else {
        return Ok(None);
    };
    let found = [
        key.request_header_version(version),
        key.response_header_version(version),
        *key.announced_versions().start(),
        *key.announced_versions().end(),
    ];
    let columns = [
        "request_header",
        "response_header",
        "advertised_min",
        "advertised_max",
    ];
    for (column, found) in columns.into_iter().zip(found) {
        if row.number::<i16>(column)? != found {
            return Err(format!("{column} is {found} with us"));
        }
    }
    if key.versions().contains(&version) {
        Ok(Some(()))
    } else {
        Err("unknown version".into())
    }
}

/// Faults that Kafka lets pass and we refuse; no real client sends them.
const STRICTER: [&str; 3] = ["utf-8", "utf8", "size"];

/// What Kafka refuses we refuse; what it accepts we accept and write back alike.
fn malformed(row: &Row<'_>) -> Verdict {
    let Some((key, version)) = row.api()? else {
        return Ok(None);
    };
    let bytes = row.bytes("hex")?;
    let mut r = Reader::new(bytes);
    let ours = AnyBody::decode(row, key, version, &mut r);
    match (row.cell("reader"), ours) {
        ("ok", Ok(body)) => {
            let unread: usize = row.number("unread")?;
            if r.remaining() != unread {
                return Err(format!("{} bytes unread", r.remaining()));
            }
            if !row.cell("reencoded").starts_with('!') {
                body.check(version, &row.bytes("reencoded")?)?;
            }
            Ok(Some(()))
        }
        ("ok", Err(reason)) => {
            let fault = row.cell("fault").to_lowercase();
            let stricter = STRICTER.iter().any(|stricter| fault.contains(stricter));
            // Content left out of a tagged field contradicts the size of that field.
            let size = fault.contains("content left out") && row.cell("path").starts_with("tags.");
            if stricter || size {
                Ok(Some(()))
            } else {
                Err(reason)
            }
        }
        (_, Err(_)) => Ok(Some(())),
        (refusal, Ok(_)) => Err(format!("accepted, but Kafka says {refusal}")),
    }
}

/// Bodies around Kafka's limits, too long to be written out.
fn limit(row: &Row<'_>) -> Verdict {
    let Some((key, version)) = row.api()? else {
        return Ok(None);
    };
    let fill = row.bytes("fill_hex")?.repeat(row.number("fill_count")?);
    let bytes = [
        row.bytes("prefix_hex")?,
        fill.into(),
        row.bytes("suffix_hex")?,
    ]
    .concat();
    let mut r = Reader::new(bytes.into());
    let accepted = AnyBody::decode(row, key, version, &mut r).map(|_| ());
    match (row.cell("reader"), accepted) {
        ("ok", accepted) => accepted.map(Some),
        (_, Err(_)) => Ok(Some(())),
        (refusal, Ok(())) => Err(format!("accepted, but Kafka says {refusal}")),
    }
}

/// Frames with a header that a broker must question.
fn odd_frame(row: &Row<'_>) -> Verdict {
    let bytes = row.bytes("hex")?;
    let header = RequestHeader::decode(&mut Reader::new(bytes.clone()));
    let known = bytes
        .first_chunk()
        .and_then(|key| ApiKey::from_key(i16::from_be_bytes(*key)));
    match (row.cell("header_outcome"), known, header) {
        ("ok", None, _) => Ok(None),
        ("ok", Some(_), Ok(header)) => {
            let version = header.api_key.request_header_version(header.api_version);
            let expected: i16 = row.number("header_version")?;
            (expected == version)
                .then_some(Some(()))
                .ok_or(format!("header version {version}"))
        }
        ("ok", Some(_), Err(error)) => Err(show(error)),
        (_, _, Err(_)) => Ok(Some(())),
        (refusal, _, Ok(_)) => Err(format!("accepted, but Kafka says {refusal}")),
    }
}

/// Reads and writes a key and a value of known types.
fn key_and_value<K: RecordKey, V: RecordValue>(row: &Row<'_>) -> Verdict {
    let bytes = row.bytes("key_hex")?;
    let key: K = internal::decode_key(&bytes).map_err(show)?;
    if internal::encode_key(&key).map_err(show)? != bytes {
        return Err("other bytes of the key".to_owned());
    }
    if row.cell("value_hex") == "null" {
        return Ok(Some(()));
    }
    let bytes = row.bytes("value_hex")?;
    let (value, version) = internal::decode_value::<V>(&bytes).map_err(show)?;
    if version != row.number::<i16>("value_version")? {
        return Err(format!("version {version}"));
    }
    let _ = value.to_text(version);
    match internal::encode_value(&value, version).map_err(show)? {
        encoded if encoded == bytes => Ok(Some(())),
        encoded => Err(format!("other bytes of the value: {encoded:02x?}")),
    }
}

/// The check for each record type that we know.
macro_rules! coordinator_records {
    ($($topic:literal $record_type:literal: $key:ident, $value:ident;)*) => {
        fn coordinator_record(row: &Row<'_>) -> Verdict {
            match (row.cell("topic"), row.cell("record_type")) {
                $(($topic, $record_type) => {
                    key_and_value::<internal::$key, internal::$value>(row)
                })*
                _ => Ok(None),
            }
        }
    };
}

coordinator_records! {
    "__transaction_state" "0": TransactionLogKey, TransactionLogValue;
    "__share_group_state" "0": ShareSnapshotKey, ShareSnapshotValue;
    "__share_group_state" "1": ShareUpdateKey, ShareUpdateValue;
    "__consumer_offsets" "10": ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue;
    "__consumer_offsets" "11": ShareGroupMetadataKey, ShareGroupMetadataValue;
    "__consumer_offsets" "12":
        ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue;
    "__consumer_offsets" "13":
        ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue;
    "__consumer_offsets" "14":
        ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue;
    "__consumer_offsets" "15":
        ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue;
}
