//! Acknowledgements as text: what a producer writes into the metadata of a TxnOffsetCommit
//! partition to acknowledge records of a share group inside its transaction (KIP-1289).
//!
//! ```text
//! text   = "acks:" kind *(";" kind)
//! kind   = ("accept" / "reject" / "gap") "=" range *("," range)
//! range  = offset ["-" offset] "@" count
//! ```
//!
//! Ranges include both ends; the count is that of the delivery. Numbers are decimal ASCII digits
//! without sign or leading zero. Kinds and ranges come in any order, each kind once, no offset twice.
//! One NUL at the end is no part of the text: confluent-kafka for Python sends the end of its C string.

use alloc::vec::Vec;
use core::fmt;

use ackord_machine::StagedRange;
use ackord_proto::kip1289::{ACKNOWLEDGE_ACCEPT, ACKNOWLEDGE_GAP, ACKNOWLEDGE_REJECT};

/// What such a text begins with. Whatever begins so is never the metadata of an offset.
pub const PREFIX: &str = "acks:";
/// The longest text, in bytes.
pub const MAX_BYTES: usize = 32_767;

/// Acknowledge types by their names.
const KINDS: [(&[u8], i8); 3] = [
    (b"accept", ACKNOWLEDGE_ACCEPT),
    (b"reject", ACKNOWLEDGE_REJECT),
    (b"gap", ACKNOWLEDGE_GAP),
];

/// Why a text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcksTextError {
    /// Bytes before the place that is wrong.
    pub at: usize,
    /// What is wrong there.
    pub reason: &'static str,
}

impl fmt::Display for AcksTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {} of the text: {}", self.at, self.reason)
    }
}

impl core::error::Error for AcksTextError {}

/// Reads the ranges of a text, ascending.
///
/// # Errors
/// The text is not of the form above, too long, or names an offset twice.
pub fn parse(text: &str) -> Result<Vec<StagedRange>, AcksTextError> {
    let bytes = text.strip_suffix('\0').unwrap_or(text).as_bytes();
    let mut cursor = Cursor { text: bytes, at: 0 };
    if text.len() > MAX_BYTES {
        return Err(AcksTextError {
            at: MAX_BYTES,
            reason: "it has more than 32767 bytes",
        });
    }
    if !cursor.takes_all(PREFIX.as_bytes()) {
        return cursor.wrong("it does not begin with acks:");
    }
    let mut ranges = Vec::new();
    let mut seen = Vec::with_capacity(KINDS.len());
    loop {
        let acknowledge_type = cursor.kind(&seen)?;
        seen.push(acknowledge_type);
        cursor.ranges(acknowledge_type, &mut ranges)?;
        if cursor.is_at_end() {
            break;
        }
        if !cursor.takes(b';') {
            return cursor.wrong("a comma, a semicolon or the end has to follow a count");
        }
    }
    ranges.sort_unstable_by_key(|range| range.first_offset);
    let overlap = ranges
        .iter()
        .zip(ranges.iter().skip(1))
        .any(|(one, next)| next.first_offset <= one.last_offset);
    if overlap {
        return cursor.wrong("ranges overlap");
    }
    Ok(ranges)
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn wrong<T>(&self, reason: &'static str) -> Result<T, AcksTextError> {
        Err(AcksTextError {
            at: self.at,
            reason,
        })
    }

    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.takes_all(&[byte])
    }

    fn takes_all(&mut self, bytes: &[u8]) -> bool {
        let there = self.rest().starts_with(bytes);
        if there {
            self.at += bytes.len();
        }
        there
    }

    /// `accept=`; every kind but those that were `seen`.
    fn kind(&mut self, seen: &[i8]) -> Result<i8, AcksTextError> {
        let start = self.at;
        for (name, acknowledge_type) in KINDS {
            if self.takes_all(name) && self.takes(b'=') {
                if seen.contains(&acknowledge_type) {
                    self.at = start;
                    return self.wrong("a type comes twice");
                }
                return Ok(acknowledge_type);
            }
            self.at = start;
        }
        self.wrong("accept=, reject= or gap= has to stand here")
    }

    /// `0-9@1,12@3`
    fn ranges(
        &mut self,
        acknowledge_type: i8,
        ranges: &mut Vec<StagedRange>,
    ) -> Result<(), AcksTextError> {
        loop {
            let start = self.at;
            let first_offset = self.number()?;
            let last_offset = match self.takes(b'-') {
                true => self.number()?,
                false => first_offset,
            };
            if last_offset < first_offset {
                self.at = start;
                return self.wrong("a range ends before it begins");
            }
            if !self.takes(b'@') {
                return self.wrong("@ and the delivery count have to follow the offsets");
            }
            let place = self.at;
            let delivery_count = match i16::try_from(self.number()?) {
                Ok(count) if count > 0 => count,
                _ => {
                    self.at = place;
                    return self.wrong("a delivery count is 1 to 32767");
                }
            };
            ranges.push(StagedRange {
                first_offset,
                last_offset,
                acknowledge_type,
                delivery_count: Some(delivery_count),
            });
            if !self.takes(b',') {
                return Ok(());
            }
        }
    }

    fn number(&mut self) -> Result<i64, AcksTextError> {
        let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit());
        let length = digits.count();
        let digits = self.rest().get(..length).unwrap_or_default();
        match digits {
            [] => return self.wrong("a number has to stand here"),
            [b'0', _, ..] => return self.wrong("a number begins with a zero"),
            _ => {}
        }
        let number = digits.iter().try_fold(0_i64, |number, digit| {
            number
                .checked_mul(10)?
                .checked_add(i64::from(*digit - b'0'))
        });
        let Some(number) = number else {
            return self.wrong("a number is greater than any offset");
        };
        self.at += length;
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::{String, ToString};
    use std::vec;

    use super::*;

    /// What a text says, in its own notation: sorted, one type each.
    fn read(text: &str) -> String {
        match parse(text) {
            Err(error) => error.to_string(),
            Ok(ranges) => {
                let shown = ranges.iter().map(|range| {
                    format!(
                        "{}-{}@{}:{}",
                        range.first_offset,
                        range.last_offset,
                        range.delivery_count.unwrap_or_default(),
                        range.acknowledge_type
                    )
                });
                shown.collect::<vec::Vec<_>>().join(" ")
            }
        }
    }

    fn refused(text: &str, at: usize, reason: &'static str) {
        assert_eq!(parse(text), Err(AcksTextError { at, reason }), "{text}");
    }

    #[test]
    fn every_kind_in_any_order() {
        let text = "acks:accept=0-9@1,12@3;reject=10@1;gap=11@1";
        let ranges = "0-9@1:1 10-10@1:3 11-11@1:0 12-12@3:1";
        assert_eq!(read(text), ranges);
        let orders = [
            "acks:gap=11@1;reject=10@1;accept=12@3,0-9@1",
            "acks:reject=10@1;accept=12@3,0-9@1;gap=11@1",
            "acks:reject=10-10@1;gap=11-11@1;accept=12-12@3,0-9@1",
        ];
        for text in orders {
            assert_eq!(read(text), ranges, "{text}");
        }
        assert_eq!(read("acks:gap=0@1"), "0-0@1:0");
    }

    #[test]
    fn the_greatest_numbers() {
        let most = i64::MAX;
        assert_eq!(
            read(&format!("acks:accept=0-{most}@32767")),
            format!("0-{most}@32767:1")
        );
        let reason = "a number is greater than any offset";
        refused("acks:accept=9223372036854775808@1", 12, reason);
        refused("acks:accept=0@99999999999999999999", 14, reason);
        let reason = "a delivery count is 1 to 32767";
        refused("acks:accept=0@0", 14, reason);
        refused("acks:accept=0@32768", 14, reason);
    }

    #[test]
    fn numbers_have_one_form() {
        let number = "a number has to stand here";
        for text in [
            "acks:accept=+1@1",
            "acks:accept=-1@1",
            "acks:accept= 1@1",
            "acks:accept=a@1",
            "acks:accept=٣@1",
            "acks:accept=@1",
            "acks:accept=",
        ] {
            refused(text, 12, number);
        }
        refused("acks:accept=1-@1", 14, number);
        refused("acks:accept=1--2@1", 14, number);
        refused("acks:accept=1@", 14, number);
        refused("acks:accept=1@-1", 14, number);
        refused("acks:accept=1@+1", 14, number);
        let zero = "a number begins with a zero";
        refused("acks:accept=01@1", 12, zero);
        refused("acks:accept=00@1", 12, zero);
        refused("acks:accept=0-01@1", 14, zero);
        refused("acks:accept=0@01", 14, zero);
    }

    #[test]
    fn nothing_is_empty_and_nothing_trails() {
        let kind = "accept=, reject= or gap= has to stand here";
        refused("acks:", 5, kind);
        refused("acks:;", 5, kind);
        refused("acks:accept=0@1;", 16, kind);
        refused("acks:accept=0@1;;gap=1@1", 16, kind);
        refused("acks:;accept=0@1", 5, kind);
        refused("acks: accept=0@1", 5, kind);
        refused("acks:Accept=0@1", 5, kind);
        refused("acks:release=0@1", 5, kind);
        refused("acks:renew=0@1", 5, kind);
        refused("acks:accept:0@1", 5, kind);
        refused("acks:0@1", 5, kind);
        refused("acks:acceptgap=0@1", 5, kind);
        let number = "a number has to stand here";
        refused("acks:accept=0@1,", 16, number);
        refused("acks:accept=,0@1", 12, number);
        refused("acks:accept=0@1,,1@1", 16, number);
        refused("acks:accept=;gap=1@1", 12, number);
        let end = "a comma, a semicolon or the end has to follow a count";
        refused("acks:accept=0@1 ", 15, end);
        refused("acks:accept=0@1\n", 15, end);
        refused("acks:accept=0@1@1", 15, end);
        refused("acks:accept=0@1.5", 15, end);
        refused("acks:accept=0@1:gap=1@1", 15, end);
        let count = "@ and the delivery count have to follow the offsets";
        refused("acks:accept=0", 13, count);
        refused("acks:accept=0-9", 15, count);
        refused("acks:accept=0-9-12@1", 15, count);
        refused("acks:accept=0 @1", 13, count);
    }

    #[test]
    fn one_nul_may_end_it() {
        assert_eq!(read("acks:accept=0@1\0"), "0-0@1:1");
        let end = "a comma, a semicolon or the end has to follow a count";
        refused("acks:accept=0@1\0\0", 15, end);
        refused("acks:accept=0@1\0;gap=1@1", 15, end);
        let kind = "accept=, reject= or gap= has to stand here";
        refused("acks:\0", 5, kind);
    }

    #[test]
    fn it_begins_with_the_prefix() {
        for text in [
            "",
            "acks",
            "ACKS:accept=0@1",
            " acks:accept=0@1",
            "accept=0@1",
        ] {
            refused(text, 0, "it does not begin with acks:");
        }
    }

    #[test]
    fn each_type_once_and_each_offset_once() {
        refused("acks:gap=0@1;gap=1@1", 13, "a type comes twice");
        refused("acks:accept=5-4@1", 12, "a range ends before it begins");
        for text in [
            "acks:accept=0@1,0@1",
            "acks:accept=0@1;reject=0@1",
            "acks:accept=0-9@1;gap=5@1",
            "acks:gap=5@1;accept=0-9@1",
            "acks:accept=0-5@1,5-9@1",
            "acks:accept=0-9@1,2-3@2",
        ] {
            refused(text, text.len(), "ranges overlap");
        }
        assert_eq!(read("acks:accept=5-9@1,0-4@1"), "0-4@1:1 5-9@1:1");
    }

    #[test]
    fn a_long_text_is_refused_before_it_is_read() {
        let mut text = String::from("acks:accept=0@1");
        let mut offset = 0;
        while text.len() < MAX_BYTES - 12 {
            offset += 2;
            text.push_str(&format!(",{offset}@1"));
        }
        let fill = "1000000000000"[..MAX_BYTES - text.len() - 3].to_string();
        text.push_str(&format!(",{fill}@1"));
        assert_eq!(text.len(), MAX_BYTES);
        assert!(parse(&text).is_ok(), "{:?}", parse(&text));
        text.push('0');
        refused(&text, MAX_BYTES, "it has more than 32767 bytes");
    }

    /// The same grammar read by cutting the text at its separators.
    fn by_cutting(text: &str) -> bool {
        let number = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            (plain && (text == "0" || !text.starts_with('0')))
                .then(|| text.parse::<i64>().ok())
                .flatten()
        };
        let range = |text: &str| {
            let (offsets, count) = text.split_once('@')?;
            let (first, last) = offsets.split_once('-').unwrap_or((offsets, offsets));
            let (first, last) = (number(first)?, number(last)?);
            let count = number(count)?;
            (first <= last && (1..=32_767).contains(&count)).then_some((first, last))
        };
        let Some(kinds) = text.strip_prefix("acks:") else {
            return false;
        };
        let mut names = vec![];
        let mut ranges: Vec<(i64, i64)> = vec![];
        for kind in kinds.split(';') {
            let Some((name, list)) = kind.split_once('=') else {
                return false;
            };
            if !["accept", "reject", "gap"].contains(&name) || names.contains(&name) {
                return false;
            }
            names.push(name);
            for text in list.split(',') {
                let Some(found) = range(text) else {
                    return false;
                };
                let apart = |(first, last): &(i64, i64)| found.1 < *first || *last < found.0;
                if !ranges.iter().all(apart) {
                    return false;
                }
                ranges.push(found);
            }
        }
        true
    }

    #[test]
    fn all_short_texts_are_judged_alike_by_another_reader() {
        let letters = ["0", "1", "2", "-", "@", ",", ";", "gap=", "accept="];
        let mut good = 0;
        let mut texts = vec![String::from("acks:gap=")];
        for _ in 0..5 {
            let longer = texts
                .iter()
                .flat_map(|text| letters.iter().map(move |letter| format!("{text}{letter}")));
            texts = longer.collect();
            for text in &texts {
                let whole = parse(text).is_ok();
                assert_eq!(whole, by_cutting(text), "{text}");
                good += u32::from(whole);
            }
        }
        assert!(good > 100, "{good}");
    }
}
