//! Durations as `share.auto.offset.reset` takes them: ISO 8601, read as Java reads them.

/// Seconds in each unit that may follow a number, in the order in which they may come.
const DATE_UNITS: &[(u8, i128)] = &[(b'D', 86_400)];
const TIME_UNITS: &[(u8, i128)] = &[(b'H', 3600), (b'M', 60), (b'S', 1)];

const NANOS: i128 = 1_000_000_000;

/// Digits of a fraction of a second.
const FRACTION_DIGITS: usize = 9;

/// The milliseconds of a duration of the form PnDTnHnMn.nS (KIP-932, `by_duration`). Letters of
/// either case, a sign before the whole and before each number, a comma in place of the point.
/// `None` where the text is something else, negative as a whole, or above 2^63 - 1 seconds. What is
/// above 2^63 - 1 milliseconds becomes that.
pub(super) fn parse_duration_ms(text: &str) -> Option<i64> {
    let (negated, rest) = sign(text.as_bytes());
    let rest = letter(rest, b'P')?;
    let (days, rest) = numbers(rest, DATE_UNITS)?;
    let (time, rest) = match letter(rest, b'T') {
        Some(rest) => {
            let (time, rest) = numbers(rest, TIME_UNITS)?;
            (Some(time?), rest)
        }
        None => (None, rest),
    };
    if !rest.is_empty() || (days.is_none() && time.is_none()) {
        return None;
    }
    let total = days.unwrap_or(0) + time.unwrap_or(0);
    let total = if negated { -total } else { total };
    let seconds = i64::try_from(total.div_euclid(NANOS)).ok()?;
    (seconds >= 0).then(|| i64::try_from(total / 1_000_000).unwrap_or(i64::MAX))
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

fn letter(text: &[u8], wanted: u8) -> Option<&[u8]> {
    let (first, rest) = text.split_first()?;
    first.eq_ignore_ascii_case(&wanted).then_some(rest)
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.split_at(end)
}

/// Numbers with units, each unit at most once and in order: nanoseconds, and what is left of the
/// text. No number at all is no nanoseconds.
fn numbers<'a>(text: &'a [u8], units: &[(u8, i128)]) -> Option<(Option<i128>, &'a [u8])> {
    let (mut total, mut rest) = (None, text);
    let mut allowed = units;
    while let Some((nanos, place, behind)) = number(rest, allowed)? {
        total = Some(total.unwrap_or(0) + nanos);
        rest = behind;
        allowed = allowed.get(place + 1..)?;
    }
    Some((total, rest))
}

/// One number with its unit. `Some(None)`: there is none here. `None`: it is malformed.
fn number<'a>(text: &'a [u8], units: &[(u8, i128)]) -> Option<Option<(i128, usize, &'a [u8])>> {
    let (negative, rest) = sign(text);
    let (whole, rest) = digits(rest);
    if whole.is_empty() {
        return if rest.len() == text.len() {
            Some(None)
        } else {
            None
        };
    }
    let whole = core::str::from_utf8(whole).ok()?.parse::<i64>().ok()?;
    let (fraction, rest) = match rest {
        [b'.' | b',', rest @ ..] => {
            let (fraction, rest) = digits(rest);
            (Some(fraction), rest)
        }
        _ => (None, rest),
    };
    let (unit, behind) = rest.split_first()?;
    let place = units
        .iter()
        .position(|(letter, _)| unit.eq_ignore_ascii_case(letter))?;
    let (letter, seconds) = *units.get(place)?;
    let mut nanos = i128::from(whole) * seconds * NANOS;
    if let Some(fraction) = fraction {
        if letter != b'S' || fraction.len() > FRACTION_DIGITS {
            return None;
        }
        let mut scale = NANOS;
        for digit in fraction {
            scale /= 10;
            nanos += i128::from(digit - b'0') * scale;
        }
    }
    let nanos = if negative { -nanos } else { nanos };
    Some(Some((nanos, place, behind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_java_reads() {
        for (text, millis) in [
            ("PT1H", 3_600_000),
            ("pt1h", 3_600_000),
            ("P1D", 86_400_000),
            ("P1DT2H3M4.5S", 93_784_500),
            ("PT0S", 0),
            ("PT1.123456789S", 1123),
            ("+PT1H", 3_600_000),
            ("PT+1H", 3_600_000),
            ("PT1H-1M", 3_540_000),
            ("-PT-1H", 3_600_000),
            ("PT1,5S", 1500),
            ("PT5.S", 5000),
            ("PT9223372036854775807S", i64::MAX),
            ("P106751991167300D", i64::MAX),
        ] {
            assert_eq!(parse_duration_ms(text), Some(millis), "{text}");
        }
    }

    #[test]
    fn what_java_refuses() {
        for text in [
            "",
            "1h",
            "P",
            "PT",
            "P1DT",
            "P1Y",
            "P1W",
            "P1H",
            "PT1D",
            "PT1.5H",
            "PT1M1H",
            "PT1H1H",
            "PT.5S",
            "PT1.1234567890S",
            "-PT1H",
            "PT-1H",
            " PT1H",
            "PT1H ",
            "PT1HX",
            "PT99999999999999999999S",
            "P106751991167301D",
            "PT--1H",
        ] {
            assert_eq!(parse_duration_ms(text), None, "{text}");
        }
    }
}
