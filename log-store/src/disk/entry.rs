//! What an append looks like in a segment.
//!
//! An entry is a header and its parts, a part is a header and its payload. The checksum of a part
//! covers its payload, so a single batch can be checked when it is read; the checksum of an entry
//! covers its own header. An entry counts only whole: header and all parts right. Numbers are
//! big-endian.
//!
//! | entry, at | what |
//! |---|---|
//! | 0 | mark of the segment, drawn by chance: no payload can pass for an entry |
//! | 8 | number of the entry in the journal, without gaps |
//! | 16 | entries below this number were on the disk when this one was written |
//! | 24 | bytes of all parts |
//! | 28 | number of parts |
//! | 32 | CRC-32C of what is before it |
//!
//! | part, at | what |
//! |---|---|
//! | 0 | CRC-32C of what follows, payload included |
//! | 4 | kind |
//! | 5 | log: topic id, partition |
//! | 25 | three numbers, by kind: base, last, largest timestamp; offset of a checkpoint; start, end |
//! | 49 | bytes of the payload |

use ackord_machine::LogId;

use crate::engine::Head;
use crate::keys;

/// Size of the header of an entry.
pub(crate) const ENTRY: usize = 36;
/// Size of the header of a part.
pub(crate) const PART: usize = 53;

const CRC: usize = 4;
const ENTRY_CRC: usize = ENTRY - CRC;

/// The header of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryHead {
    pub(crate) number: u64,
    pub(crate) synced: u64,
    pub(crate) length: u32,
    pub(crate) parts: u32,
}

impl EntryHead {
    pub(crate) fn encode(&self, mark: u64) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[..8].copy_from_slice(&mark.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.synced.to_be_bytes());
        bytes[24..28].copy_from_slice(&self.length.to_be_bytes());
        bytes[28..32].copy_from_slice(&self.parts.to_be_bytes());
        let crc = crc32c::crc32c(&bytes[..ENTRY_CRC]);
        bytes[ENTRY_CRC..].copy_from_slice(&crc.to_be_bytes());
        bytes
    }

    /// Reads a header; `None` where there is none of this segment.
    pub(crate) fn decode(bytes: &[u8], mark: u64) -> Option<Self> {
        let bytes = bytes.get(..ENTRY)?;
        let crc = crc32c::crc32c(&bytes[..ENTRY_CRC]);
        if bytes[..8] != mark.to_be_bytes() || word(bytes, ENTRY_CRC)? != crc {
            return None;
        }
        Some(EntryHead {
            number: number(bytes, 8)?,
            synced: number(bytes, 16)?,
            length: word(bytes, 24)?,
            parts: word(bytes, 28)?,
        })
    }
}

/// What a part does to its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// The payload is a batch.
    Batch {
        base: i64,
        last: i64,
        max_timestamp: i64,
    },
    /// The payload is the state at this offset.
    Checkpoint { at: i64 },
    /// The log is forgotten.
    Drop,
    /// The log has another start.
    Trim { head: Head },
}

impl Deed {
    fn encode(self) -> (u8, [i64; 3]) {
        match self {
            Deed::Batch {
                base,
                last,
                max_timestamp,
            } => (1, [base, last, max_timestamp]),
            Deed::Checkpoint { at } => (2, [at, 0, 0]),
            Deed::Drop => (3, [0; 3]),
            Deed::Trim { head } => (4, [head.start, head.end, 0]),
        }
    }

    fn decode(kind: u8, [a, b, c]: [i64; 3]) -> Option<Self> {
        Some(match kind {
            1 => Deed::Batch {
                base: a,
                last: b,
                max_timestamp: c,
            },
            2 => Deed::Checkpoint { at: a },
            3 => Deed::Drop,
            4 => Deed::Trim {
                head: Head { start: a, end: b },
            },
            _ => return None,
        })
    }
}

/// The header of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartHead {
    pub(crate) log: LogId,
    pub(crate) deed: Deed,
    pub(crate) length: u32,
    crc: u32,
}

impl PartHead {
    /// Appends the header of a part with this payload, given in two pieces, to `out`.
    pub(crate) fn encode(
        out: &mut Vec<u8>,
        log: LogId,
        deed: Deed,
        length: u32,
        payload: [&[u8]; 2],
    ) {
        let at = out.len();
        let (kind, numbers) = deed.encode();
        out.extend_from_slice(&[0; CRC]);
        out.push(kind);
        out.extend_from_slice(&keys::log(log));
        for number in numbers {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.extend_from_slice(&length.to_be_bytes());
        let mut crc = crc32c::crc32c(&out[at + CRC..]);
        for piece in payload {
            crc = crc32c::crc32c_append(crc, piece);
        }
        out[at..at + CRC].copy_from_slice(&crc.to_be_bytes());
    }

    /// Reads a header without a look at its checksum.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..PART)?;
        let numbers = [
            keys::long(bytes, 25)?,
            keys::long(bytes, 33)?,
            keys::long(bytes, 41)?,
        ];
        Some(PartHead {
            log: keys::log_of(&bytes[5..])?,
            deed: Deed::decode(bytes[CRC], numbers)?,
            length: word(bytes, 49)?,
            crc: word(bytes, 0)?,
        })
    }

    /// The checksum of the header alone, to go on with the payload.
    pub(crate) fn crc_of(header: &[u8]) -> u32 {
        crc32c::crc32c(&header[CRC..PART])
    }

    /// Whether `crc`, of header and payload, is the one that was written.
    pub(crate) fn is_whole(&self, crc: u32) -> bool {
        self.crc == crc
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Reads a number without sign at `at`.
pub(crate) fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use ackord_proto::uuid::Uuid;

    use super::*;

    #[test]
    fn headers_decode_to_what_they_were() {
        let head = EntryHead {
            number: 7,
            synced: 5,
            length: 99,
            parts: 2,
        };
        let mut bytes = head.encode(3);
        assert_eq!(EntryHead::decode(&bytes, 3), Some(head));
        assert_eq!(EntryHead::decode(&bytes, 4), None, "of another segment");
        assert_eq!(EntryHead::decode(&bytes[..ENTRY - 1], 3), None);
        for at in 0..ENTRY {
            bytes[at] ^= 0x10;
            assert_eq!(EntryHead::decode(&bytes, 3), None, "byte {at} is wrong");
            bytes[at] ^= 0x10;
        }
    }

    #[test]
    fn the_checksum_of_a_part_covers_everything() {
        let log = LogId {
            topic: Uuid::from_bytes([9; 16]),
            partition: 4,
        };
        let head = Head { start: 1, end: 2 };
        let batch = Deed::Batch {
            base: 5,
            last: 9,
            max_timestamp: -1,
        };
        for deed in [
            batch,
            Deed::Checkpoint { at: 3 },
            Deed::Drop,
            Deed::Trim { head },
        ] {
            let mut bytes = Vec::new();
            PartHead::encode(&mut bytes, log, deed, 5, [b"he", b"llo"]);
            bytes.extend_from_slice(b"hello");
            let found = PartHead::decode(&bytes).expect("a header");
            assert_eq!((found.log, found.deed, found.length), (log, deed, 5));
            let whole = |bytes: &[u8]| {
                let crc = crc32c::crc32c_append(PartHead::crc_of(bytes), &bytes[PART..]);
                PartHead::decode(bytes).is_some_and(|head| head.is_whole(crc))
            };
            assert!(whole(&bytes));
            for at in 0..bytes.len() {
                bytes[at] ^= 1;
                assert!(!whole(&bytes), "byte {at} is wrong");
                bytes[at] ^= 1;
            }
        }
    }
}
