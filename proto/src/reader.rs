//! `Reader`: takes a frame apart.
//!
//! The steps are nom parsers over the rest of the frame. Their error has no size; what went
//! wrong is noted once, in the reader, so that the good path carries nothing.

use bytes::Bytes;

use crate::message::{DecodeError, DecodeErrorKind};
use crate::parse::{self, Parsed, Slip};
use crate::tags::UnknownTags;
use crate::wire::Layout;

/// More elements in one array are refused, as by Kafka since 4.4.
pub const MAX_ARRAY_ELEMENTS: usize = 1_000_000;
/// More tagged fields in one section are refused, as by Kafka since 4.4.
pub const MAX_TAGGED_FIELDS: usize = 10_000;
/// Longer strings are refused, in every version, in bytes.
pub const MAX_STRING: usize = 32_767;

/// Something is wrong; the reader has noted what. Without a size, so that the good path carries
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault;

/// Reads one frame from front to back.
#[derive(Clone, Debug)]
pub struct Reader {
    frame: Bytes,
    at: usize,
    noted: Option<DecodeError>,
}

impl Reader {
    /// A reader at the start of the frame (without its size).
    pub fn new(frame: Bytes) -> Self {
        Self {
            frame,
            at: 0,
            noted: None,
        }
    }

    /// How many bytes have been read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.frame.len().saturating_sub(self.at)
    }

    /// All bytes that are left, without a copy.
    pub fn take_rest(&mut self) -> Bytes {
        let rest = self.frame.slice(self.at.min(self.frame.len())..);
        self.at = self.frame.len();
        rest
    }

    #[inline]
    fn rest(&self) -> &[u8] {
        self.frame.get(self.at..).unwrap_or_default()
    }

    /// The next `N` bytes, if so many are left; they stay unread.
    #[inline]
    pub(crate) fn peek<const N: usize>(&self) -> Option<&[u8; N]> {
        self.rest().first_chunk()
    }

    /// Passes over bytes that were peeked at.
    #[inline]
    pub(crate) fn advance(&mut self, n: usize) {
        self.at += n;
    }

    /// Notes what is wrong at this place.
    #[cold]
    pub fn fail(&mut self, kind: DecodeErrorKind) -> Fault {
        self.noted = Some(DecodeError::new(kind, self.at, ""));
        Fault
    }

    /// Notes that a tagged field belongs to another version.
    #[cold]
    pub fn tag_not_in_version(&mut self) -> Fault {
        self.fail(DecodeErrorKind::TagNotInVersion)
    }

    /// Names the field of a fault, unless an inner field did.
    #[cold]
    pub fn name_fault(&mut self, fault: Fault, field: &'static str) -> Fault {
        if let Some(noted) = self.noted.as_mut().filter(|noted| noted.field.is_empty()) {
            noted.field = field;
        }
        fault
    }

    /// The noted fault as an error.
    #[cold]
    pub fn error(&mut self, _: Fault) -> DecodeError {
        let nothing = DecodeError::new(DecodeErrorKind::BadLength, self.at, "");
        self.noted.take().unwrap_or(nothing)
    }

    /// Runs one parser; `size` is what it needs at least.
    fn run<T>(
        &mut self,
        parser: impl for<'a> Fn(&'a [u8]) -> Parsed<'a, T>,
        size: usize,
    ) -> Result<T, Fault> {
        let before = self.remaining();
        let kind = match parser(self.rest()) {
            Ok((rest, value)) => {
                self.at += before - rest.len();
                return Ok(value);
            }
            Err(nom::Err::Failure(Slip)) => DecodeErrorKind::VarintOverflow,
            Err(nom::Err::Error(Slip) | nom::Err::Incomplete(_)) => DecodeErrorKind::Incomplete {
                needed: size.saturating_sub(before).max(1),
            },
        };
        Err(self.fail(kind))
    }

    /// The next `N` bytes as an array.
    ///
    /// # Errors
    /// `Incomplete` where fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        self.run(parse::chunk::<N>, N)
    }

    /// For the derive: neighbouring fields of fixed size in one step; their names and sizes say
    /// where it fails.
    ///
    /// # Errors
    /// `Incomplete` where fewer than `N` bytes are left.
    #[inline]
    pub fn fixed<const N: usize>(
        &mut self,
        fields: &[(&'static str, usize)],
    ) -> Result<[u8; N], Fault> {
        match self.rest().first_chunk::<N>() {
            Some(bytes) => {
                let bytes = *bytes;
                self.at += N;
                Ok(bytes)
            }
            None => Err(self.fail_in(fields)),
        }
    }

    /// Notes the first of the fields that does not fit.
    #[cold]
    fn fail_in(&mut self, fields: &[(&'static str, usize)]) -> Fault {
        for &(name, size) in fields {
            if let Err(fault) = self.skip(size) {
                return self.name_fault(fault, name);
            }
        }
        self.fail(DecodeErrorKind::Incomplete { needed: 1 })
    }

    /// For the derive: a section of tagged fields of which none is known.
    ///
    /// # Errors
    /// What is wrong with the section.
    #[inline]
    pub fn unknown_tags(&mut self, v: Layout) -> Result<UnknownTags, Fault> {
        if !v.flexible {
            return Ok(UnknownTags::default());
        }
        if self.rest().first() == Some(&0) {
            self.at += 1;
            return Ok(UnknownTags::default());
        }
        let some = self.some_unknown_tags();
        some.map_err(|fault| self.name_fault(fault, "unknown_tags"))
    }

    #[cold]
    fn some_unknown_tags(&mut self) -> Result<UnknownTags, Fault> {
        let mut unknown = UnknownTags::default();
        for _ in 0..self.tag_count()? {
            let (tag, size, _) = self.tag_start()?;
            unknown.insert(tag, self.take(size)?.into());
        }
        Ok(unknown)
    }

    /// An unsigned varint.
    ///
    /// # Errors
    /// `Incomplete`, or `VarintOverflow` after five bytes.
    #[inline]
    pub fn unsigned_varint(&mut self) -> Result<u32, Fault> {
        // Most of them take one byte.
        if let Some(byte @ ..0x80) = self.rest().first() {
            let value = u32::from(*byte);
            self.at += 1;
            return Ok(value);
        }
        self.run(parse::unsigned_varint, 1)
    }

    /// A zigzag varint, as in record batches.
    ///
    /// # Errors
    /// As [`Reader::unsigned_varint`].
    pub fn varint(&mut self) -> Result<i32, Fault> {
        self.run(parse::varint, 1)
    }

    /// Fails unless `n` bytes are left.
    #[inline]
    fn need(&mut self, n: usize) -> Result<(), Fault> {
        match n.checked_sub(self.remaining()) {
            None | Some(0) => Ok(()),
            Some(needed) => Err(self.fail(DecodeErrorKind::Incomplete { needed })),
        }
    }

    /// The next `n` bytes, sharing the frame.
    ///
    /// # Errors
    /// `Incomplete` where fewer are left.
    pub fn take_bytes(&mut self, n: usize) -> Result<Bytes, Fault> {
        self.need(n)?;
        let bytes = self.frame.slice(self.at..self.at + n);
        self.at += n;
        Ok(bytes)
    }

    /// The next `n` bytes, borrowed.
    ///
    /// # Errors
    /// `Incomplete` where fewer are left.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&[u8], Fault> {
        self.need(n)?;
        let start = self.at;
        self.at += n;
        Ok(self.frame.get(start..self.at).unwrap_or_default())
    }

    /// Passes over `n` bytes.
    ///
    /// # Errors
    /// `Incomplete` where fewer are left.
    pub fn skip(&mut self, n: usize) -> Result<(), Fault> {
        self.take(n).map(|_| ())
    }

    /// A length field of four bytes, or a compact one; negative means null.
    ///
    /// # Errors
    /// As the integers in it.
    #[inline]
    pub fn length(&mut self, flexible: bool) -> Result<Option<usize>, Fault> {
        let raw = if flexible {
            self.compact_length()?
        } else {
            i32::from_be_bytes(self.array()?)
        };
        Ok(usize::try_from(raw).ok())
    }

    /// A length field of a string (two bytes, or compact); negative means null.
    ///
    /// # Errors
    /// Also `BadLength` beyond [`MAX_STRING`].
    #[inline]
    pub fn string_length(&mut self, flexible: bool) -> Result<Option<usize>, Fault> {
        let raw = if flexible {
            self.compact_length()?
        } else {
            i32::from(i16::from_be_bytes(self.array()?))
        };
        match usize::try_from(raw) {
            Ok(length) if length > MAX_STRING => Err(self.fail(DecodeErrorKind::BadLength)),
            Ok(length) => Ok(Some(length)),
            Err(_) => Ok(None),
        }
    }

    /// Compact lengths are one too high, so that 0 can mean null.
    #[inline]
    fn compact_length(&mut self) -> Result<i32, Fault> {
        Ok(self.unsigned_varint()?.cast_signed().wrapping_sub(1))
    }

    /// The number of elements of an array; `None` is null. `element` is the least size of one
    /// element: a count that cannot fit into the rest is refused before anything is reserved.
    ///
    /// # Errors
    /// `TooManyElements` or `Incomplete`.
    #[inline]
    pub fn array_length(&mut self, flexible: bool, element: usize) -> Result<Option<usize>, Fault> {
        let Some(count) = self.length(flexible)? else {
            return Ok(None);
        };
        if count > MAX_ARRAY_ELEMENTS {
            return Err(self.fail(DecodeErrorKind::TooManyElements));
        }
        self.need(count.saturating_mul(element.max(1)))?;
        Ok(Some(count))
    }

    /// A length that has to be there.
    ///
    /// # Errors
    /// `NullNotAllowed` where it is not.
    #[inline]
    pub fn not_null(&mut self, length: Option<usize>) -> Result<usize, Fault> {
        length.ok_or_else(|| self.fail(DecodeErrorKind::NullNotAllowed))
    }

    /// The number of tagged fields in the section that starts here.
    ///
    /// # Errors
    /// `TooManyElements` beyond [`MAX_TAGGED_FIELDS`].
    pub fn tag_count(&mut self) -> Result<usize, Fault> {
        if self.rest().first() == Some(&0) {
            self.at += 1;
            return Ok(0);
        }
        match self.unsigned_varint()? as usize {
            count if count > MAX_TAGGED_FIELDS => Err(self.fail(DecodeErrorKind::TooManyElements)),
            count => Ok(count),
        }
    }

    /// Tag, size and end of the next tagged field.
    ///
    /// # Errors
    /// `Incomplete` where its content goes past the frame.
    pub fn tag_start(&mut self) -> Result<(u32, usize, usize), Fault> {
        let tag = self.unsigned_varint()?;
        let size = self.unsigned_varint()? as usize;
        self.need(size)?;
        Ok((tag, size, self.at + size))
    }

    /// Checks that a tagged field took the size it announced.
    ///
    /// # Errors
    /// `BadLength` where it did not.
    pub fn tag_end(&mut self, end: usize) -> Result<(), Fault> {
        if self.at == end {
            Ok(())
        } else {
            Err(self.fail(DecodeErrorKind::BadLength))
        }
    }
}
