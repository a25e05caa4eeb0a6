//! Rows of the tables of golden vectors: what they are is known by their columns.

use ackord_proto::api::ApiKey;
use bytes::Bytes;

use super::Bad;
use super::input::hex;
use super::show::{self, Shown};

/// One row of a table.
#[derive(Debug)]
pub(super) struct Row {
    cells: Vec<(String, String)>,
}

/// The columns of each table, by which a row without its head is known: the first one that fits.
const TABLES: [&[&str]; 14] = [
    &[
        "api_key",
        "api_name",
        "version",
        "kind",
        "stability",
        "variant",
        "hex",
        "json",
    ],
    &[
        "api_key",
        "api_name",
        "version",
        "kind",
        "fault",
        "path",
        "hex",
        "reader",
        "parser",
        "unread",
        "reencoded",
    ],
    &[
        "api_key",
        "api_name",
        "version",
        "kind",
        "fault",
        "prefix_hex",
        "fill_hex",
        "fill_count",
        "suffix_hex",
        "reader",
    ],
    &[
        "api_key",
        "api_name",
        "version",
        "request_header",
        "response_header",
        "stability",
        "listeners",
        "advertised_min",
        "advertised_max",
    ],
    &[
        "api_key",
        "api_name",
        "versions",
        "unstable",
        "requests",
        "responses",
        "bytes",
    ],
    &["header", "header_version", "variant", "hex", "json"],
    &[
        "name",
        "api_key",
        "api_name",
        "version",
        "kind",
        "header_version",
        "correlation_id",
        "client_id",
        "hex",
        "json",
    ],
    &[
        "topic",
        "record_type",
        "record_name",
        "value_version",
        "variant",
        "key_hex",
        "value_hex",
        "key_json",
        "value_json",
    ],
    &["name", "version", "variant", "hex", "json"],
    &[
        "name",
        "hex",
        "base_offset",
        "last_offset",
        "record_count",
        "crc",
        "attributes",
        "json",
    ],
    &["name", "hex", "batch_count", "valid_bytes", "json"],
    &[
        "name",
        "hex",
        "what",
        "batch_count",
        "walk",
        "produce_check",
        "ensure_valid",
        "iterate",
        "log_validator",
    ],
    &["name", "hex", "magic", "produce_exception", "json"],
    &[
        "name",
        "hex",
        "header_outcome",
        "header_version",
        "request_outcome",
    ],
];

/// Whether a cell can stand in this column.
fn fits(column: &str, cell: &str) -> bool {
    let number = |cell: &str| cell.parse::<i64>().is_ok();
    match column {
        "header" => matches!(cell, "request" | "response"),
        "kind" => matches!(cell, "request" | "response"),
        "json" => cell.starts_with(['{', '[']),
        "value_hex" if cell == "null" => true,
        _ if column.ends_with("hex") => {
            cell.len().is_multiple_of(2) && cell.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        "version" => cell == "none" || number(cell),
        "header_outcome" => !number(cell),
        // Empty where the header was refused.
        "header_version" | "unread" => cell.is_empty() || number(cell),
        "api_key" | "fill_count" | "base_offset" | "last_offset" | "record_count" | "crc"
        | "attributes" | "batch_count" | "valid_bytes" | "magic" | "correlation_id"
        | "record_type" | "requests" | "responses" | "bytes" => number(cell),
        _ => true,
    }
}

/// The columns of the table to which these cells belong.
fn columns_of(cells: &[&str]) -> Option<&'static [&'static str]> {
    TABLES.into_iter().find(|columns| {
        columns.len() == cells.len()
            && columns
                .iter()
                .zip(cells)
                .all(|(column, cell)| fits(column, cell))
    })
}

/// Whether a line is a row of one of the tables.
pub(super) fn is_row(line: &str) -> bool {
    columns_of(&cells(line)).is_some()
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_end_matches(['\n', '\r']).split('\t').collect()
}

/// All rows of a text; the head of a table may stand before them.
pub(super) fn rows(text: &str) -> Result<Vec<Row>, Bad> {
    let mut head: Option<Vec<&str>> = None;
    let mut rows = Vec::new();
    for (number, line) in text.split('\n').enumerate() {
        if line.trim_end_matches('\r').is_empty() {
            continue;
        }
        if let Some(names) = line.strip_prefix("# ") {
            head = Some(cells(names));
            continue;
        }
        let cells = cells(line);
        let columns = match &head {
            Some(head) if head.len() == cells.len() => Some(head.as_slice()),
            Some(_) => None,
            None => columns_of(&cells),
        };
        let columns = columns.ok_or_else(|| {
            let count = cells.len();
            Bad(format!(
                "line {} with {count} cells is no row of a known table",
                number + 1
            ))
        })?;
        let pairs = columns.iter().zip(cells);
        rows.push(Row {
            cells: pairs
                .map(|(column, cell)| ((*column).to_owned(), cell.to_owned()))
                .collect(),
        });
    }
    match rows.is_empty() {
        true => Err(Bad("the table has no rows".to_owned())),
        false => Ok(rows),
    }
}

impl Row {
    fn cell(&self, column: &str) -> Option<&str> {
        let found = self.cells.iter().find(|(name, _)| name == column);
        found.map(|(_, cell)| cell.as_str())
    }

    fn text(&self, column: &str) -> &str {
        self.cell(column).unwrap_or_default()
    }

    fn number<T: std::str::FromStr>(&self, column: &str) -> Result<T, Bad> {
        let text = self.text(column);
        text.parse()
            .map_err(|_| Bad(format!("{column} is {text:?}, which is no such number")))
    }

    fn hex(&self, column: &str) -> Result<Bytes, Bad> {
        hex(self.text(column), 0)
            .map_err(|Bad(sentence)| Bad(format!("in the column {column}: {sentence}")))
    }

    /// The cells before the bytes.
    fn title(&self) -> String {
        let short = self
            .cells
            .iter()
            .take_while(|(column, _)| !column.ends_with("hex"));
        let cells: Vec<_> = short.map(|(_, cell)| cell.as_str()).collect();
        cells.join(" ")
    }

    fn api(&self) -> Result<(ApiKey, i16), Bad> {
        let key = self.number("api_key")?;
        let api = ApiKey::from_key(key).ok_or_else(|| Bad(format!("no API has the key {key}")))?;
        Ok((api, self.number("version")?))
    }
}

/// Prints a row; its title stands before it and in its faults.
pub(super) fn show(row: &Row) -> Shown {
    let title = row.title();
    let mut shown = show_cells(row).unwrap_or_else(Shown::fault);
    shown.text.insert_str(0, &format!("# {title}\n"));
    for Bad(sentence) in &mut shown.faults {
        sentence.insert_str(0, &format!("{title}: "));
    }
    shown
}

fn show_cells(row: &Row) -> Result<Shown, Bad> {
    let has = |column: &str| row.cell(column).is_some();
    if has("prefix_hex") {
        let fill = row.hex("fill_hex")?.repeat(row.number("fill_count")?);
        let parts = [row.hex("prefix_hex")?, fill.into(), row.hex("suffix_hex")?];
        return show_body(row, parts.concat().into());
    }
    if has("key_hex") {
        let value = match row.text("value_hex") {
            "null" => None,
            _ => Some(row.hex("value_hex")?),
        };
        let key = Some(row.hex("key_hex")?);
        return Ok(show::record(&key, value.as_ref(), row.cell("topic")));
    }
    if !has("hex") {
        let lines = row.cells.iter();
        let text = lines
            .map(|(column, cell)| format!("{column}: {cell}\n"))
            .collect();
        return Ok(Shown::text(text));
    }
    let bytes = row.hex("hex")?;
    if has("header") {
        Ok(show::header(
            row.text("header"),
            row.number("header_version")?,
            &bytes,
        ))
    } else if has("header_outcome") {
        Ok(show::request(&bytes))
    } else if has("correlation_id") {
        let frame = bytes.slice(4.min(bytes.len())..);
        Ok(match row.text("kind") {
            "response" => {
                let (key, version) = row.api()?;
                show::response(key, version, &frame)
            }
            _ => show::request(&frame),
        })
    } else if has("kind") {
        show_body(row, bytes)
    } else if has("version") {
        Ok(show::embedded(row.text("name"), &bytes))
    } else {
        Ok(show::batches(&bytes, None))
    }
}

fn show_body(row: &Row, bytes: Bytes) -> Result<Shown, Bad> {
    let (key, version) = row.api()?;
    Ok(show::body(
        row.text("kind") == "response",
        key,
        version,
        bytes,
    ))
}
