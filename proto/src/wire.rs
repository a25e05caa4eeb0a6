//! How each type travels: the integers, strings, bytes and arrays that messages are made of.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::error_code::ErrorCode;
use crate::message::{DecodeErrorKind, EncodeError};
use crate::parse::zigzag;
use crate::reader::{Fault, MAX_STRING, Reader};
use crate::records::Records;
use crate::str::Str;
use crate::uuid::Uuid;
use crate::writer::Sink;

/// The version of the message around a value, and whether that version is flexible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The version.
    pub version: i16,
    /// Compact lengths and tagged fields (KIP-482).
    pub flexible: bool,
}

/// A value that can be read and written.
pub trait Wire: Sized {
    /// The least number of bytes one value takes.
    fn min_size(v: Layout) -> usize;

    /// Reads one value.
    ///
    /// # Errors
    /// The reader has noted what is wrong.
    fn read(r: &mut Reader, v: Layout) -> Result<Self, Fault>;

    /// Writes the value.
    ///
    /// # Errors
    /// Where the version cannot say it.
    fn write<S: Sink>(&self, s: &mut S, v: Layout) -> Result<(), EncodeError>;

    /// Reads so many values; the count has been checked against what is left.
    ///
    /// # Errors
    /// As [`Wire::read`].
    fn read_many(r: &mut Reader, v: Layout, count: usize) -> Result<Vec<Self>, Fault> {
        let mut list = Vec::with_capacity(count);
        for _ in 0..count {
            list.push(Self::read(r, v)?);
        }
        Ok(list)
    }

    /// Writes the values one behind the other.
    ///
    /// # Errors
    /// As [`Wire::write`].
    fn write_many<S: Sink>(list: &[Self], s: &mut S, v: Layout) -> Result<(), EncodeError> {
        list.iter().try_for_each(|value| value.write(s, v))
    }
}

/// A value that may be null in some versions.
pub trait Nullable: Wire {
    /// The number of bytes of a null.
    fn null_size(v: Layout) -> usize;

    /// Reads a value or null.
    ///
    /// # Errors
    /// As [`Wire::read`].
    fn read_nullable(r: &mut Reader, v: Layout) -> Result<Option<Self>, Fault>;

    /// Writes a value or null.
    ///
    /// # Errors
    /// As [`Wire::write`].
    fn write_nullable<S: Sink>(
        this: Option<&Self>,
        s: &mut S,
        v: Layout,
    ) -> Result<(), EncodeError>;
}

/// For the derive: reads a field.
///
/// # Errors
/// As [`Wire::read`].
#[inline]
pub fn read_field<T: Wire>(r: &mut Reader, v: Layout, name: &'static str) -> Result<T, Fault> {
    T::read(r, v).map_err(|fault| r.name_fault(fault, name))
}

/// For the derive: reads a field that may be null in some versions.
///
/// # Errors
/// As [`Wire::read`].
#[inline]
pub fn read_nullable_field<T: Nullable>(
    r: &mut Reader,
    v: Layout,
    nullable: bool,
    name: &'static str,
) -> Result<Option<T>, Fault> {
    let result = if nullable {
        T::read_nullable(r, v)
    } else {
        T::read(r, v).map(Some)
    };
    result.map_err(|fault| r.name_fault(fault, name))
}

/// For the derive: writes a field.
///
/// # Errors
/// As [`Wire::write`].
#[inline]
pub fn write_field<T: Wire, S: Sink>(
    value: &T,
    s: &mut S,
    v: Layout,
    name: &'static str,
) -> Result<(), EncodeError> {
    value.write(s, v).map_err(|error| error.in_field(name))
}

/// For the derive: writes a field that may be null in some versions.
///
/// # Errors
/// `NullNotAllowed` where this version is none of them.
#[inline]
pub fn write_nullable_field<T: Nullable, S: Sink>(
    value: &Option<T>,
    s: &mut S,
    v: Layout,
    nullable: bool,
    name: &'static str,
) -> Result<(), EncodeError> {
    let result = match value {
        value if nullable => T::write_nullable(value.as_ref(), s, v),
        Some(value) => value.write(s, v),
        None => Err(EncodeError::NullNotAllowed { field: name }),
    };
    result.map_err(|error| error.in_field(name))
}

/// For the derive: a struct that may be null has a byte before it, negative for null.
///
/// # Errors
/// As [`Wire::read`].
pub fn read_nullable_struct<T: Wire>(r: &mut Reader, v: Layout) -> Result<Option<T>, Fault> {
    if i8::read(r, v)? < 0 {
        Ok(None)
    } else {
        T::read(r, v).map(Some)
    }
}

/// For the derive: the counterpart of [`read_nullable_struct`].
///
/// # Errors
/// As [`Wire::write`].
pub fn write_nullable_struct<T: Wire, S: Sink>(
    this: Option<&T>,
    s: &mut S,
    v: Layout,
) -> Result<(), EncodeError> {
    match this {
        Some(value) => {
            1_i8.write(s, v)?;
            value.write(s, v)
        }
        None => (-1_i8).write(s, v),
    }
}

/// For the derive: compares a field with its default.
pub fn same<T: PartialEq>(value: &T, default: &T) -> bool {
    value == default
}

/// A value of a size that never changes: neighbours of this kind are read and written in one step.
pub trait Fixed: Sized {
    /// The number of bytes.
    const SIZE: usize;

    /// Takes the value out of bytes that are long enough.
    fn at(bytes: &[u8], offset: usize) -> Self;

    /// Appends the value.
    fn add_to<const N: usize>(&self, run: &mut Run<'_, N>);
}

/// For the derive: values of fixed size that are written in one step, at most `N` bytes, into
/// the place where they stay.
#[derive(Debug)]
pub struct Run<'a, const N: usize> {
    bytes: &'a mut [u8; N],
    len: usize,
}

impl<'a, const N: usize> Run<'a, N> {
    /// An empty run in this place.
    #[inline]
    pub fn new(bytes: &'a mut [u8; N]) -> Self {
        Self { bytes, len: 0 }
    }

    /// The number of bytes so far.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends bytes; the derive sees to it that they fit.
    #[inline]
    pub fn add<const M: usize>(&mut self, bytes: [u8; M]) {
        let end = self.len + M;
        if let Some(slot) = self.bytes.get_mut(self.len..end) {
            slot.copy_from_slice(&bytes);
            self.len = end;
        }
    }

    /// Takes back the last bytes.
    #[inline]
    pub fn take_back(&mut self, count: usize) {
        self.len = self.len.saturating_sub(count);
    }

    /// Appends a zigzag varint.
    #[inline]
    pub fn add_varint(&mut self, value: i64) {
        let mut raw = zigzag(value);
        // Most of them take one byte or two.
        match raw {
            0..0x80 => return self.add([raw as u8]),
            0x80..0x4000 => return self.add([raw as u8 | 0x80, (raw >> 7) as u8]),
            _ => {}
        }
        while let Some(slot) = self.bytes.get_mut(self.len) {
            self.len += 1;
            *slot = (raw & 0x7f) as u8;
            raw >>= 7;
            if raw == 0 {
                break;
            }
            *slot |= 0x80;
        }
    }

    /// Appends the end of a struct without tagged fields, where it is flexible.
    #[inline]
    pub fn add_no_tags(&mut self, v: Layout) {
        if v.flexible {
            self.add([0]);
        }
    }
}

macro_rules! fixed_size {
    ($($ty:ty: $read:expr, $write:expr;)*) => {$(
        impl Wire for $ty {
            fn min_size(_: Layout) -> usize {
                size_of::<$ty>()
            }

            #[inline]
            fn read(r: &mut Reader, _: Layout) -> Result<Self, Fault> {
                Ok($read(r.array()?))
            }

            #[inline]
            fn write<S: Sink>(&self, s: &mut S, _: Layout) -> Result<(), EncodeError> {
                s.put(&$write(*self));
                Ok(())
            }

            fn read_many(r: &mut Reader, _: Layout, count: usize) -> Result<Vec<Self>, Fault> {
                let bytes = r.take(count.saturating_mul(size_of::<$ty>()))?;
                let (elements, _) = bytes.as_chunks();
                Ok(elements.iter().map(|element| $read(*element)).collect())
            }

            fn write_many<S: Sink>(list: &[Self], s: &mut S, _: Layout) -> Result<(), EncodeError> {
                s.put_each(list.len(), list.iter().map(|value| $write(*value)));
                Ok(())
            }
        }

        impl Fixed for $ty {
            const SIZE: usize = size_of::<$ty>();

            #[inline]
            fn at(bytes: &[u8], offset: usize) -> Self {
                let found = bytes.get(offset..).and_then(|rest| rest.first_chunk());
                $read(found.copied().unwrap_or_default())
            }

            #[inline]
            fn add_to<const N: usize>(&self, run: &mut Run<'_, N>) {
                run.add($write(*self));
            }
        }
    )*};
}

fixed_size! {
    bool: |[byte]: [u8; 1]| byte != 0, |value| [u8::from(value)];
    i8: i8::from_be_bytes, i8::to_be_bytes;
    i16: i16::from_be_bytes, i16::to_be_bytes;
    i32: i32::from_be_bytes, i32::to_be_bytes;
    i64: i64::from_be_bytes, i64::to_be_bytes;
    u16: u16::from_be_bytes, u16::to_be_bytes;
    u32: u32::from_be_bytes, u32::to_be_bytes;
    f64: f64::from_be_bytes, f64::to_be_bytes;
    Uuid: Uuid::from_bytes, Uuid::to_bytes;
    ErrorCode: |bytes| ErrorCode(i16::from_be_bytes(bytes)), |code: ErrorCode| code.0.to_be_bytes();
}

/// The field is named by the caller.
const TOO_LONG: EncodeError = EncodeError::TooLong { field: "" };

/// Writes a length of four bytes, or a compact one.
#[inline]
pub(crate) fn write_length<S: Sink>(
    s: &mut S,
    length: Option<usize>,
    v: Layout,
) -> Result<(), EncodeError> {
    let length = match length {
        Some(length) => i32::try_from(length).map_err(|_| TOO_LONG)?,
        None => -1,
    };
    if v.flexible {
        s.put_unsigned_varint(length.wrapping_add(1).cast_unsigned());
    } else {
        s.put(&length.to_be_bytes());
    }
    Ok(())
}

fn read_text(r: &mut Reader, length: usize) -> Result<Str, Fault> {
    match core::str::from_utf8(r.take(length)?) {
        Ok(text) => Ok(Str::from(text)),
        Err(_) => Err(r.fail(DecodeErrorKind::BadUtf8)),
    }
}

impl Wire for Str {
    fn min_size(v: Layout) -> usize {
        Self::null_size(v)
    }

    fn read(r: &mut Reader, v: Layout) -> Result<Self, Fault> {
        let length = r.string_length(v.flexible)?;
        let length = r.not_null(length)?;
        read_text(r, length)
    }

    fn write<S: Sink>(&self, s: &mut S, v: Layout) -> Result<(), EncodeError> {
        Self::write_nullable(Some(self), s, v)
    }
}

impl Nullable for Str {
    fn null_size(v: Layout) -> usize {
        if v.flexible { 1 } else { 2 }
    }

    fn read_nullable(r: &mut Reader, v: Layout) -> Result<Option<Self>, Fault> {
        let length = r.string_length(v.flexible)?;
        length.map(|length| read_text(r, length)).transpose()
    }

    fn write_nullable<S: Sink>(
        this: Option<&Self>,
        s: &mut S,
        v: Layout,
    ) -> Result<(), EncodeError> {
        let text = this.map(Self::as_bytes);
        if text.is_some_and(|text| text.len() > MAX_STRING) {
            return Err(TOO_LONG);
        }
        if v.flexible {
            write_length(s, text.map(<[u8]>::len), v)?;
        } else {
            let length = text.map_or(-1, |text| i16::try_from(text.len()).unwrap_or(i16::MAX));
            s.put(&length.to_be_bytes());
        }
        s.put(text.unwrap_or_default());
        Ok(())
    }
}

macro_rules! payload {
    ($ty:ty, $make:expr, $put:ident) => {
        impl Wire for $ty {
            fn min_size(v: Layout) -> usize {
                Self::null_size(v)
            }

            fn read(r: &mut Reader, v: Layout) -> Result<Self, Fault> {
                let length = r.length(v.flexible)?;
                let length = r.not_null(length)?;
                r.take_bytes(length).map($make)
            }

            fn write<S: Sink>(&self, s: &mut S, v: Layout) -> Result<(), EncodeError> {
                Self::write_nullable(Some(self), s, v)
            }
        }

        impl Nullable for $ty {
            fn null_size(v: Layout) -> usize {
                if v.flexible { 1 } else { 4 }
            }

            fn read_nullable(r: &mut Reader, v: Layout) -> Result<Option<Self>, Fault> {
                let length = r.length(v.flexible)?;
                length
                    .map(|length| r.take_bytes(length).map($make))
                    .transpose()
            }

            fn write_nullable<S: Sink>(
                this: Option<&Self>,
                s: &mut S,
                v: Layout,
            ) -> Result<(), EncodeError> {
                write_length(s, this.map(Self::len), v)?;
                if let Some(payload) = this {
                    s.$put(payload);
                }
                Ok(())
            }
        }
    };
}

payload!(Bytes, core::convert::identity, put_bytes);
payload!(Records, Records::from, put_records);

impl<T: Wire> Wire for Vec<T> {
    fn min_size(v: Layout) -> usize {
        Self::null_size(v)
    }

    fn read(r: &mut Reader, v: Layout) -> Result<Self, Fault> {
        let count = r.array_length(v.flexible, T::min_size(v))?;
        let count = r.not_null(count)?;
        T::read_many(r, v, count)
    }

    fn write<S: Sink>(&self, s: &mut S, v: Layout) -> Result<(), EncodeError> {
        Self::write_nullable(Some(self), s, v)
    }
}

impl<T: Wire> Nullable for Vec<T> {
    fn null_size(v: Layout) -> usize {
        if v.flexible { 1 } else { 4 }
    }

    fn read_nullable(r: &mut Reader, v: Layout) -> Result<Option<Self>, Fault> {
        let count = r.array_length(v.flexible, T::min_size(v))?;
        count.map(|count| T::read_many(r, v, count)).transpose()
    }

    fn write_nullable<S: Sink>(
        this: Option<&Self>,
        s: &mut S,
        v: Layout,
    ) -> Result<(), EncodeError> {
        let list = this.map_or(&[][..], Self::as_slice);
        s.expect(list.len().saturating_mul(T::min_size(v)).saturating_add(5));
        write_length(s, this.map(Self::len), v)?;
        T::write_many(list, s, v)
    }
}
