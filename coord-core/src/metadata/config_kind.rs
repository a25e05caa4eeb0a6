//! What the value of a configuration has to look like.

use alloc::format;
use alloc::string::{String, ToString};

use super::group_configs::OffsetReset;

/// The largest value of type LONG.
pub(super) const BIG: i64 = i64::MAX;
/// The largest value of type INT.
pub(super) const INT: i64 = i32::MAX as i64;

/// What a value has to look like. The number is the type code of DescribeConfigs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigKind {
    /// `true` or `false`.
    Boolean,
    /// A number with a fraction from 0 to 1.
    Fraction,
    /// A 32-bit integer within bounds.
    Int(i64, i64),
    /// Comma-separated words.
    List,
    /// A 64-bit integer within bounds.
    Long(i64, i64),
    /// `earliest`, `latest` or `by_duration:` and a duration.
    OffsetReset,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Any text.
    Text,
}

impl ConfigKind {
    /// The type code of DescribeConfigs.
    pub fn code(self) -> i8 {
        match self {
            ConfigKind::Boolean => 1,
            ConfigKind::OffsetReset | ConfigKind::OneOf(_) | ConfigKind::Text => 2,
            ConfigKind::Int(..) => 3,
            ConfigKind::Long(..) => 5,
            ConfigKind::Fraction => 6,
            ConfigKind::List => 7,
        }
    }

    pub(super) fn check(self, value: &str) -> Result<(), String> {
        let value = value.trim();
        let within = |low: i64, high: i64, largest: i64, kind: &str| match value.parse::<i64>() {
            Ok(number) if number < low => Err(format!("Value must be at least {low}")),
            Ok(number) if number <= high => Ok(()),
            Ok(number) if number <= largest => Err(format!("Value must be no more than {high}")),
            _ => Err(format!("Not a number of type {kind}")),
        };
        match self {
            ConfigKind::Boolean if parse_boolean(value).is_none() => {
                Err("Expected value to be either true or false".to_string())
            }
            ConfigKind::Fraction if !is_fraction(value) => {
                Err("Value must be between 0 and 1".to_string())
            }
            ConfigKind::Int(low, high) => within(low, high, INT, "INT"),
            ConfigKind::Long(low, high) => within(low, high, BIG, "LONG"),
            ConfigKind::OffsetReset if OffsetReset::parse(value).is_none() => Err(format!(
                "Invalid value `{value}` for configuration share.auto.offset.reset. The value must \
                 be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
            )),
            ConfigKind::OneOf(words) if !words.contains(&value) => {
                Err(format!("String must be one of: {}", words.join(", ")))
            }
            _ => Ok(()),
        }
    }
}

/// `true` or `false` in letters of either case, as Java reads it.
pub fn parse_boolean(value: &str) -> Option<bool> {
    match value {
        _ if value.eq_ignore_ascii_case("true") => Some(true),
        _ if value.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// Digits with at most one point, not above one. Floats have no place in the cores.
fn is_fraction(value: &str) -> bool {
    let (whole, rest) = value.split_once('.').unwrap_or((value, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let zero = |text: &str| text.bytes().all(|byte| byte == b'0');
    value.len() > usize::from(value.contains('.'))
        && digits(whole)
        && digits(rest)
        && (zero(whole) || (whole.trim_start_matches('0') == "1" && zero(rest)))
}
