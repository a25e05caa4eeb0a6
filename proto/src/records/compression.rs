//! The codecs of record batches: gzip, snappy, lz4 and zstd.
//!
//! Without feature `std` there are none, without feature `zstd` all but zstd; what is missing
//! answers `UnsupportedCompression`.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::records::RecordsError;
use crate::records::batch::Compression;

/// How much one batch may grow when it is decompressed, where the caller does not say, in bytes.
pub const MAX_DECOMPRESSED: usize = 64 << 20;

impl Compression {
    /// Whether this build can compress and decompress with the codec.
    pub const fn is_supported(self) -> bool {
        match self {
            Self::None => true,
            Self::Gzip | Self::Snappy | Self::Lz4 => cfg!(feature = "std"),
            Self::Zstd => cfg!(feature = "zstd"),
            Self::Unknown => false,
        }
    }
}

/// Unpacks the records of a batch.
///
/// Snappy may be framed as the Java client does it, or be one raw block. Bytes behind a gzip or
/// lz4 stream are ignored, as by Kafka.
///
/// # Errors
/// `UnsupportedCompression`; `TooLarge` beyond `limit` bytes; `BadCompression` for bytes that
/// are not of the codec.
pub fn decompress(codec: Compression, packed: &Bytes, limit: usize) -> Result<Bytes, RecordsError> {
    match codec {
        Compression::None if packed.len() > limit => Err(RecordsError::TooLarge { limit }),
        Compression::None => Ok(packed.clone()),
        codec => {
            let mut records = Vec::new();
            unpack(codec, packed, limit, &mut records)?;
            Ok(Bytes::from(records))
        }
    }
}

/// Unpacks into `records`, which after an error too hold what was unpacked.
#[cfg_attr(not(feature = "std"), expect(unused_variables))]
fn unpack(
    codec: Compression,
    packed: &Bytes,
    limit: usize,
    records: &mut Vec<u8>,
) -> Result<(), RecordsError> {
    match codec {
        #[cfg(feature = "std")]
        Compression::Gzip => codecs::gzip(packed, limit, records),
        #[cfg(feature = "std")]
        Compression::Snappy => codecs::snappy(packed, limit, records),
        #[cfg(feature = "std")]
        Compression::Lz4 => codecs::lz4(packed, limit, records),
        #[cfg(feature = "zstd")]
        Compression::Zstd => codecs::zstd(packed, limit, records),
        _ => Err(RecordsError::UnsupportedCompression),
    }
}

/// How many bytes the batches of one request may take unpacked, all together, and how many they
/// did: a few kilobytes can say gigabytes.
#[derive(Clone, Copy, Debug)]
pub struct UnpackBudget {
    limit: usize,
    unpacked: usize,
}

impl UnpackBudget {
    /// For `limit` bytes; none of them is used.
    pub const fn new(limit: usize) -> Self {
        UnpackBudget { limit, unpacked: 0 }
    }

    /// How many bytes all batches may take together.
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// How many bytes were unpacked, those of damaged batches included.
    pub const fn unpacked(&self) -> usize {
        self.unpacked
    }

    /// As [`decompress`], with what is left as the limit, but at most [`MAX_DECOMPRESSED`].
    ///
    /// # Errors
    /// As [`decompress`]; of what is refused as too large nothing is unpacked beyond the limit.
    pub fn decompress(
        &mut self,
        codec: Compression,
        packed: &Bytes,
    ) -> Result<Bytes, RecordsError> {
        if codec == Compression::None {
            return Ok(packed.clone());
        }
        let left = self.limit.saturating_sub(self.unpacked);
        let over = RecordsError::TooLarge { limit: self.limit };
        if left == 0 {
            return Err(over);
        }
        let mut records = Vec::new();
        let done = unpack(codec, packed, left.min(MAX_DECOMPRESSED), &mut records);
        self.unpacked = self.unpacked.saturating_add(records.len());
        match done {
            Ok(()) => Ok(Bytes::from(records)),
            Err(RecordsError::TooLarge { .. }) if left < MAX_DECOMPRESSED => Err(over),
            Err(error) => Err(error),
        }
    }
}

/// Packs records for a batch, with the default level of each codec.
///
/// # Errors
/// `UnsupportedCompression`; `BadCompression` where the codec itself fails.
pub fn compress(codec: Compression, records: &[u8]) -> Result<Vec<u8>, RecordsError> {
    match codec {
        Compression::None => Ok(records.to_vec()),
        #[cfg(feature = "std")]
        Compression::Gzip => codecs::to_gzip(records),
        #[cfg(feature = "std")]
        Compression::Snappy => codecs::to_snappy(records),
        #[cfg(feature = "std")]
        Compression::Lz4 => codecs::to_lz4(records),
        #[cfg(feature = "zstd")]
        Compression::Zstd => codecs::to_zstd(records),
        _ => Err(RecordsError::UnsupportedCompression),
    }
}

#[cfg(feature = "std")]
mod codecs {
    use std::io::{Read, Write};

    use alloc::vec;
    use alloc::vec::Vec;

    use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

    use crate::records::RecordsError;

    /// What the Java client writes before its snappy blocks, and the two versions behind it.
    const XERIAL: [u8; 8] = *b"\x82SNAPPY\0";
    const XERIAL_VERSIONS: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];
    /// The size of the blocks that the Java client packs one by one.
    const XERIAL_BLOCK: usize = 32 << 10;
    /// A snappy copy of three bytes makes at most 64.
    const SNAPPY_GROWTH: usize = 22;

    fn bad(codec: &'static str) -> RecordsError {
        RecordsError::BadCompression(codec)
    }

    /// Reads a stream to its end, but never more than one byte beyond the limit.
    fn read_all(
        stream: impl Read,
        limit: usize,
        codec: &'static str,
        records: &mut Vec<u8>,
    ) -> Result<(), RecordsError> {
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        stream
            .take(most)
            .read_to_end(records)
            .map_err(|_| bad(codec))?;
        if records.len() > limit {
            return Err(RecordsError::TooLarge { limit });
        }
        Ok(())
    }

    pub(super) fn gzip(
        packed: &[u8],
        limit: usize,
        records: &mut Vec<u8>,
    ) -> Result<(), RecordsError> {
        let stream = flate2::bufread::GzDecoder::new(packed);
        read_all(stream, limit, "gzip", records)
    }

    pub(super) fn to_gzip(records: &[u8]) -> Result<Vec<u8>, RecordsError> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        let written = encoder.write_all(records).and_then(|()| encoder.finish());
        written.map_err(|_| bad("gzip"))
    }

    pub(super) fn lz4(
        packed: &[u8],
        limit: usize,
        records: &mut Vec<u8>,
    ) -> Result<(), RecordsError> {
        let frame = lz4_frame(packed).ok_or_else(|| bad("lz4"))?;
        read_all(FrameDecoder::new(frame), limit, "lz4", records)
    }

    /// What an lz4 frame begins with.
    const LZ4: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
    /// Version 1, independent blocks, no dictionary: the flags that Kafka insists on, and where
    /// they stand.
    const LZ4_FLAGS: u8 = 0x60;
    const LZ4_FLAGS_MASK: u8 = 0xe3;

    /// The whole frame at the front of these bytes: the decoder would not miss its end, and would
    /// take older forms with larger blocks.
    fn lz4_frame(packed: &[u8]) -> Option<&[u8]> {
        let flags = *packed.strip_prefix(&LZ4)?.first()?;
        if flags & LZ4_FLAGS_MASK != LZ4_FLAGS {
            return None;
        }
        let field = |bit: u8, size: usize| if flags & bit == 0 { 0 } else { size };
        let (block_checksum, content_checksum) = (field(0x10, 4), field(0x04, 4));
        // Magic, flags, block size, content size, checksum of the header.
        let mut at = 4 + 2 + field(0x08, 8) + 1;
        loop {
            let size = u32::from_le_bytes(*packed.get(at..)?.first_chunk()?);
            at += 4;
            if size == 0 {
                return packed.get(..at.checked_add(content_checksum)?);
            }
            // The highest bit says that the block is not packed.
            let block = usize::try_from(size & 0x7fff_ffff).ok()?;
            at = at.checked_add(block)?.checked_add(block_checksum)?;
        }
    }

    /// The Java client reads independent blocks only.
    pub(super) fn to_lz4(records: &[u8]) -> Result<Vec<u8>, RecordsError> {
        let info = FrameInfo::new()
            .block_mode(BlockMode::Independent)
            .block_size(BlockSize::Max64KB);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(records).map_err(|_| bad("lz4"))?;
        encoder.finish().map_err(|_| bad("lz4"))
    }

    pub(super) fn snappy(
        packed: &[u8],
        limit: usize,
        records: &mut Vec<u8>,
    ) -> Result<(), RecordsError> {
        let Some(framed) = packed.strip_prefix(&XERIAL) else {
            return snappy_block(packed, limit, records);
        };
        let mut rest = framed
            .get(XERIAL_VERSIONS.len()..)
            .ok_or_else(|| bad("snappy"))?;
        while !rest.is_empty() {
            let (size, after) = rest.split_first_chunk().ok_or_else(|| bad("snappy"))?;
            let size = usize::try_from(u32::from_be_bytes(*size)).unwrap_or(usize::MAX);
            let (block, after) = after.split_at_checked(size).ok_or_else(|| bad("snappy"))?;
            snappy_block(block, limit, records)?;
            rest = after;
        }
        Ok(())
    }

    /// Unpacks one block behind what is there.
    fn snappy_block(block: &[u8], limit: usize, records: &mut Vec<u8>) -> Result<(), RecordsError> {
        let size = snap::raw::decompress_len(block).map_err(|_| bad("snappy"))?;
        // An empty block says its size, 0, in one byte.
        if block.is_empty() || size > block.len().saturating_mul(SNAPPY_GROWTH) {
            return Err(bad("snappy"));
        }
        let start = records.len();
        if size > limit.saturating_sub(start) {
            return Err(RecordsError::TooLarge { limit });
        }
        records.resize(start + size, 0);
        let room = records.get_mut(start..).unwrap_or_default();
        let written = snap::raw::Decoder::new().decompress(block, room);
        match written {
            Ok(written) if written == size => Ok(()),
            _ => Err(bad("snappy")),
        }
    }

    pub(super) fn to_snappy(records: &[u8]) -> Result<Vec<u8>, RecordsError> {
        let mut packed = [XERIAL, XERIAL_VERSIONS].concat();
        let mut encoder = snap::raw::Encoder::new();
        let mut block = vec![0; snap::raw::max_compress_len(XERIAL_BLOCK)];
        for part in records.chunks(XERIAL_BLOCK) {
            let size = encoder
                .compress(part, &mut block)
                .map_err(|_| bad("snappy"))?;
            let field = u32::try_from(size).map_err(|_| bad("snappy"))?;
            packed.extend_from_slice(&field.to_be_bytes());
            packed.extend_from_slice(block.get(..size).unwrap_or_default());
        }
        Ok(packed)
    }

    /// The window of a frame takes memory at once, however short the frame. Encoders use up to
    /// 8 MiB in their usual levels; more is of use only where the limit is larger.
    #[cfg(feature = "zstd")]
    fn window_log(limit: usize) -> u32 {
        (usize::BITS - limit.leading_zeros()).clamp(23, 27)
    }

    #[cfg(feature = "zstd")]
    pub(super) fn zstd(
        packed: &[u8],
        limit: usize,
        records: &mut Vec<u8>,
    ) -> Result<(), RecordsError> {
        let mut decoder = zstd::stream::read::Decoder::new(packed).map_err(|_| bad("zstd"))?;
        decoder
            .window_log_max(window_log(limit))
            .map_err(|_| bad("zstd"))?;
        read_all(decoder, limit, "zstd", records)
    }

    #[cfg(feature = "zstd")]
    pub(super) fn to_zstd(records: &[u8]) -> Result<Vec<u8>, RecordsError> {
        zstd::stream::encode_all(records, 0).map_err(|_| bad("zstd"))
    }
}
