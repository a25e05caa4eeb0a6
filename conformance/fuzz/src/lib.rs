//! What the fuzz targets share: the rule on memory and the round trip of a message body.

use std::fmt::Debug;

use ackord_proto::api::Body;
use ackord_proto::{DecodeError, Reader, Writer};
use bytes::Bytes;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Bytes of memory that any input may cost.
const FREE: usize = 16 * 1024;
/// Bytes of memory that one byte of input may cost: an array element of one byte on the wire
/// becomes a struct of a few hundred bytes, and a growing list is there twice for a moment.
const PER_BYTE: usize = 512;

/// Bytes of memory that a codec may take whatever its input: two blocks of lz4 in its largest
/// size, and a growing list of [`UNPACKED`] bytes. What zstd takes is not counted: it is C code.
pub const CODEC: usize = 12 << 20;
/// The limit that the targets give to decompression, in bytes.
pub const UNPACKED: usize = 256 << 10;

/// Runs a decoder and panics where it took more memory than its input may cost.
pub fn bounded<T>(input: usize, decode: impl FnOnce() -> T) -> T {
    bounded_beyond(FREE, input, decode)
}

/// As [`bounded`], with so many bytes for free.
pub fn bounded_beyond<T>(free: usize, input: usize, decode: impl FnOnce() -> T) -> T {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let decoded = decode();
    let used = ALLOCATOR.peak_usage().saturating_sub(before);
    let limit = free + PER_BYTE * input;
    assert!(
        used <= limit,
        "{input} bytes of input took {used} bytes of memory"
    );
    decoded
}

/// What was decoded is written and read again: the same message, in as many bytes as predicted.
/// A body may be refused by the writer (tags in an order that cannot be written).
pub fn round_trip<T: Body + PartialEq + Debug>(
    body: &T,
    version: i16,
    decode: impl FnOnce(&mut Reader) -> Result<T, DecodeError>,
) {
    let mut w = Writer::new();
    if body.encode(version, &mut w).is_err() {
        return;
    }
    let bytes: Bytes = w.into_bytes();
    assert_eq!(body.counted(version).total(), bytes.len(), "predicted size");
    let mut r = Reader::new(bytes.clone());
    let again = decode(&mut r).expect("what was written can be read");
    assert_eq!(r.remaining(), 0, "bytes left");
    if &again != body {
        // A float that is not a number equals nothing; its bytes do.
        let mut w = Writer::new();
        again.encode(version, &mut w).expect("can be written again");
        assert_eq!(w.into_bytes(), bytes, "{again:?} instead of {body:?}");
    }
}
