//! `Uuid`: 16 bytes, written as 22 characters of base64url as Kafka does.

use core::fmt;
use core::str::FromStr;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The length of the text form in characters.
const TEXT: usize = 22;

/// A topic id, directory id or the like. Ordered by its bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// The id that stands for "none".
    pub const ZERO: Self = Self([0; 16]);

    /// The id with these bytes, in network order.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes in network order.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// Whether this is [`Uuid::ZERO`].
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 128 bits are 22 digits of 6 bits; the last one is filled up with four zeros.
        let bits = u128::from_be_bytes(self.0);
        let mut text = [0; TEXT];
        for (index, slot) in (0_u32..).zip(text.iter_mut()) {
            let digit = match 122_u32.checked_sub(6 * index) {
                Some(shift) => bits >> shift,
                None => bits << 4,
            };
            *slot = ALPHABET
                .get((digit & 63) as usize)
                .copied()
                .unwrap_or_default();
        }
        f.pad(core::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a uuid in Kafka's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UuidParseError;

impl fmt::Display for UuidParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a uuid is 22 characters of base64url")
    }
}

impl core::error::Error for UuidParseError {}

impl FromStr for Uuid {
    type Err = UuidParseError;

    fn from_str(text: &str) -> Result<Self, UuidParseError> {
        if text.len() != TEXT {
            return Err(UuidParseError);
        }
        let mut bits = 0_u128;
        for (index, byte) in text.bytes().enumerate() {
            let digit = ALPHABET
                .iter()
                .position(|&known| known == byte)
                .ok_or(UuidParseError)?;
            if index + 1 < TEXT {
                bits = (bits << 6) | digit as u128;
            } else {
                // Two bits are left for the last digit. Like Kafka, ignore its filling.
                bits = (bits << 2) | (digit >> 4) as u128;
            }
        }
        Ok(Self(bits.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn text_is_that_of_kafka() {
        assert_eq!(Uuid::ZERO.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
        let one = Uuid::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(one.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!(
            Uuid::from_bytes([255; 16]).to_string(),
            "_____________________w"
        );
    }

    #[test]
    fn text_reads_back() {
        let mut bytes = [0; 16];
        for round in 0..=255_u8 {
            for (index, byte) in (0_u8..).zip(bytes.iter_mut()) {
                *byte = round.wrapping_mul(31).wrapping_add(index.wrapping_mul(57));
            }
            let id = Uuid::from_bytes(bytes);
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for wrong in [
            "",
            "AAAAAAAAAAAAAAAAAAAAA",
            "AAAAAAAAAAAAAAAAAAAAA=",
            "AAAAAAAAAAAAAAAAAAAAé",
        ] {
            assert_eq!(wrong.parse::<Uuid>(), Err(UuidParseError), "{wrong}");
        }
    }
}
