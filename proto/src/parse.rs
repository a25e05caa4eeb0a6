//! The smallest nom parsers: fixed chunks and the variable-length integers.

use nom::IResult;
use nom::error::{ErrorKind, ParseError};

/// Something went wrong; whoever runs the parser knows what. Stays inside, so that nom does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slip;

impl<I> ParseError<I> for Slip {
    fn from_error_kind(_: I, _: ErrorKind) -> Self {
        Self
    }

    fn append(_: I, _: ErrorKind, other: Self) -> Self {
        other
    }
}

/// A parser's result: `Error` where bytes are missing, `Failure` where they are wrong.
pub(crate) type Parsed<'a, T> = IResult<&'a [u8], T, Slip>;

/// The next `N` bytes.
#[inline]
pub(crate) fn chunk<const N: usize>(input: &[u8]) -> Parsed<'_, [u8; N]> {
    match input.split_first_chunk::<N>() {
        Some((head, rest)) => Ok((rest, *head)),
        None => Err(nom::Err::Error(Slip)),
    }
}

/// An unsigned varint of up to five bytes. Longer than needed is legal; like Kafka, what the
/// fifth byte has beyond 32 bits is dropped.
#[inline]
pub(crate) fn unsigned_varint(input: &[u8]) -> Parsed<'_, u32> {
    let mut value = 0;
    let mut rest = input;
    for shift in [0, 7, 14, 21, 28] {
        let (after, [byte]) = chunk(rest)?;
        rest = after;
        value |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok((rest, value));
        }
    }
    Err(nom::Err::Failure(Slip))
}

/// A zigzag varint of up to five bytes, as in records.
#[inline]
pub(crate) fn varint(input: &[u8]) -> Parsed<'_, i32> {
    let (rest, raw) = unsigned_varint(input)?;
    Ok((rest, (raw >> 1).cast_signed() ^ -(raw & 1).cast_signed()))
}

/// A zigzag varint of up to ten bytes, as in records.
#[inline]
pub(crate) fn varlong(input: &[u8]) -> Parsed<'_, i64> {
    let mut raw = 0_u64;
    let mut rest = input;
    for shift in [0, 7, 14, 21, 28, 35, 42, 49, 56, 63] {
        let (after, [byte]) = chunk(rest)?;
        rest = after;
        raw |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok((rest, (raw >> 1).cast_signed() ^ -(raw & 1).cast_signed()));
        }
    }
    Err(nom::Err::Failure(Slip))
}

/// The bytes of an unsigned varint, and how many of them count.
pub(crate) fn encode_varint(mut value: u64) -> ([u8; 10], usize) {
    let mut buffer = [0; 10];
    let mut length = 0;
    for slot in &mut buffer {
        length += 1;
        *slot = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            break;
        }
        *slot |= 0x80;
    }
    (buffer, length)
}

/// The zigzag form of a signed number: small in either direction stays small.
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_varints_read_back() {
        for shift in 0..64 {
            let power = 1_i64 << shift;
            for value in [power, power.wrapping_sub(1), power.wrapping_neg(), !power] {
                let (buffer, length) = encode_varint(zigzag(value));
                assert_eq!(varlong(&buffer[..length]), Ok((&[][..], value)), "{value}");
                if let Ok(small) = i32::try_from(value) {
                    assert_eq!(varint(&buffer[..length]), Ok((&[][..], small)), "{value}");
                }
                assert_eq!(varlong(&buffer[..length - 1]), Err(nom::Err::Error(Slip)));
            }
        }
    }

    #[test]
    fn endless_varints_are_refused() {
        assert_eq!(unsigned_varint(&[0x80; 5]), Err(nom::Err::Failure(Slip)));
        assert_eq!(varlong(&[0xff; 10]), Err(nom::Err::Failure(Slip)));
        assert_eq!(unsigned_varint(&[0x80; 4]), Err(nom::Err::Error(Slip)));
        assert_eq!(unsigned_varint(&[0x81, 0x80, 0]), Ok((&[][..], 1)));
    }
}
