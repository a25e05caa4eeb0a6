//! What standard input holds: binary, hex, or rows of a table.

use bytes::Bytes;

use super::Bad;
use super::table::{self, Row};

/// The input, taken apart as far as its form goes.
#[derive(Debug)]
pub(super) enum Input {
    /// Not text.
    Binary(Bytes),
    /// Hex, line by line; `None` is the word `null`.
    Lines(Vec<Option<Bytes>>),
    /// Lines of a table of golden vectors.
    Rows(Vec<Row>),
}

impl Input {
    pub(super) fn parse(raw: Vec<u8>) -> Result<Self, Bad> {
        let text = match std::str::from_utf8(&raw) {
            Ok(text) if text.chars().all(|c| !c.is_control() || is_space(c)) => text,
            _ => return Ok(Self::Binary(raw.into())),
        };
        if text.trim().is_empty() {
            return Err(Bad(
                "standard input is empty; give a frame in hex or binary, or a line \
                 of a table of vectors"
                    .to_owned(),
            ));
        }
        // Only cells are parted by tabs; names in front of hex are not.
        if text.starts_with("# ") || table::is_row(text.lines().next().unwrap_or_default()) {
            return table::rows(text).map(Self::Rows);
        }
        let mut lines = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            match line.trim() {
                "" => {}
                "null" => lines.push(None),
                _ => lines.push(Some(hex(line, at)?)),
            }
            at += line.len();
        }
        Ok(Self::Lines(lines))
    }
}

/// All lines as one piece of hex.
pub(super) fn join(lines: Vec<Option<Bytes>>) -> Result<Bytes, Bad> {
    let parts: Option<Vec<_>> = lines.into_iter().collect();
    let whole = parts.map(|parts| Bytes::from(parts.concat()));
    whole.ok_or_else(|| Bad("null is the value of a record; use it with --record TOPIC".to_owned()))
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Bytes from hex digits. `0x`, `\x`, colons, commas and spaces between bytes mean nothing. `start`
/// is where the text begins in the input.
pub(super) fn hex(text: &str, start: usize) -> Result<Bytes, Bad> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut high = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let at = start + text.len() - rest.len();
        let mark = ["0x", "0X", "\\x"]
            .iter()
            .find_map(|mark| rest.strip_prefix(mark));
        if let Some(after) = mark.filter(|_| high.is_none()) {
            rest = after;
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match (c.to_digit(16), high) {
            (Some(digit), None) => high = Some(digit),
            (Some(digit), Some(first)) => {
                bytes.push(u8::try_from(first << 4 | digit).unwrap_or_default());
                high = None;
            }
            (None, None) if is_space(c) || matches!(c, ':' | ',') => {}
            (None, None) => {
                return Err(Bad(format!(
                    "{c:?} at byte {at} of the input is no hex digit"
                )));
            }
            (None, Some(_)) => {
                return Err(Bad(format!(
                    "{c:?} at byte {at} of the input stands where the second digit of a byte is due"
                )));
            }
        }
    }
    match high {
        None => Ok(bytes.into()),
        Some(_) => Err(Bad(format!(
            "the hex ends at byte {} of the input with half a byte",
            start + text.len()
        ))),
    }
}
