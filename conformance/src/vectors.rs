//! Golden vectors: bytes that Apache Kafka's own classes wrote, checked against our codecs.
//!
//! A table is known by its first line: message bodies, whole frames, headers, damaged bodies,
//! records of the coordinators, structures inside bytes fields, record batches. Other tables
//! are skipped. What we refuse although Kafka accepts it is listed in [`STRICTER`].

use std::fs;
use std::path::{Path, PathBuf};

use ackord_proto::Writer;
use ackord_proto::api::{ApiKey, Body};
use ackord_proto::reader::Reader;
use bytes::Bytes;

// The paths are said because another crate includes this file.
#[path = "vectors/batches.rs"]
mod batches;
#[path = "vectors/headers.rs"]
mod headers;
#[path = "vectors/messages.rs"]
mod messages;
#[path = "vectors/stricter.rs"]
mod stricter;
#[path = "vectors/structures.rs"]
mod structures;

pub use stricter::{STRICTER, Stricter};

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
const TABLES: [(&str, Check); 14] = [
    (
        "api_key\tapi_name\tversion\tkind\tstability\tvariant",
        messages::message,
    ),
    (
        "api_key\tapi_name\tversion\tkind\tfault\tpath",
        messages::malformed,
    ),
    (
        "api_key\tapi_name\tversion\tkind\tfault\tprefix_hex",
        messages::limit,
    ),
    (
        "api_key\tapi_name\tversion\trequest_header",
        headers::versions,
    ),
    ("api_key\tapi_name\tversions\tunstable", headers::counts),
    ("header\theader_version\tvariant", headers::bytes),
    (
        "name\tapi_key\tapi_name\tversion\tkind\theader_version",
        headers::frame,
    ),
    ("name\thex\theader_outcome", headers::odd_frame),
    (
        "topic\trecord_type\trecord_name",
        structures::coordinator_record,
    ),
    ("name\tversion\tvariant\thex\tjson", structures::embedded),
    ("name\thex\tbase_offset\tlast_offset", batches::record_batch),
    ("name\thex\tbatch_count\tvalid_bytes", batches::record_set),
    ("name\thex\twhat\tbatch_count\twalk", batches::corrupt_batch),
    (
        "name\thex\tmagic\tproduce_exception",
        batches::legacy_message_set,
    ),
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
