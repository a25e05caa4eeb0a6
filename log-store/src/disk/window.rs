//! Reading a segment from front to back.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use bytes::Bytes;

use crate::disk::entry::{Deed, ENTRY, EntryHead, PART, PartHead};
use crate::disk::recent::Applied;

const WINDOW: usize = 256 * 1024;

/// A part of a file in memory, moved along as it is read.
pub(crate) struct Window {
    file: File,
    length: u64,
    start: u64,
    bytes: Vec<u8>,
}

/// An entry and where the next one begins.
pub(crate) struct Entry {
    pub(crate) parts: Vec<Applied>,
    pub(crate) end: u64,
}

impl Window {
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Window {
            file,
            length,
            start: 0,
            bytes: Vec::new(),
        })
    }

    /// Bytes of the file.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The bytes at `at`: `wanted` of them, at most a window full, fewer at the end of the file.
    pub(crate) fn get(&mut self, at: u64, wanted: usize) -> io::Result<&[u8]> {
        let wanted = self
            .length
            .saturating_sub(at)
            .min(wanted.min(WINDOW) as u64) as usize;
        let inside = at
            .checked_sub(self.start)
            .filter(|skip| skip + wanted as u64 <= self.bytes.len() as u64);
        let skip = match inside {
            Some(skip) => skip as usize,
            None => {
                let size = self.length.saturating_sub(at).min(WINDOW as u64) as usize;
                self.bytes.resize(size, 0);
                self.start = at;
                if let Err(error) = self.file.read_exact_at(&mut self.bytes, at) {
                    self.bytes.clear();
                    return Err(error);
                }
                0
            }
        };
        Ok(&self.bytes[skip..skip + wanted])
    }

    /// The header of the entry at `at`, if one is there.
    pub(crate) fn head(&mut self, at: u64, mark: u64) -> io::Result<Option<EntryHead>> {
        Ok(EntryHead::decode(self.get(at, ENTRY)?, mark))
    }

    /// The entry at `at` if it is there whole, every checksum right, with this number.
    pub(crate) fn entry(&mut self, at: u64, mark: u64, number: u64) -> io::Result<Option<Entry>> {
        let Some(head) = self.head(at, mark)?.filter(|head| head.number == number) else {
            return Ok(None);
        };
        let mut parts = Vec::new();
        let mut next = at + ENTRY as u64;
        let end = next + u64::from(head.length);
        if end > self.length {
            return Ok(None);
        }
        for _ in 0..head.parts {
            match self.part(next, end)? {
                Some(part) => {
                    next = u64::from(part.position) + PART as u64 + u64::from(part.length);
                    parts.push(part);
                }
                None => return Ok(None),
            }
        }
        Ok((next == end).then_some(Entry { parts, end }))
    }

    /// A part whose checksum is right, within `end`.
    fn part(&mut self, at: u64, end: u64) -> io::Result<Option<Applied>> {
        let header = self.get(at, PART)?;
        let Some(head) = PartHead::decode(header) else {
            return Ok(None);
        };
        let mut crc = PartHead::crc_of(header);
        let mut next = at + PART as u64;
        let past = next + u64::from(head.length);
        if past > end {
            return Ok(None);
        }
        let mut state = Vec::new();
        while next < past {
            let piece = self.get(next, (past - next).min(WINDOW as u64) as usize)?;
            if piece.is_empty() {
                return Ok(None);
            }
            crc = crc32c::crc32c_append(crc, piece);
            next += piece.len() as u64;
            if let Deed::Checkpoint { .. } = head.deed {
                state.extend_from_slice(piece);
            }
        }
        let Ok(position) = u32::try_from(at) else {
            return Ok(None);
        };
        Ok(head.is_whole(crc).then(|| Applied {
            log: head.log,
            deed: head.deed,
            position,
            length: head.length,
            state: Bytes::from(state),
        }))
    }

    /// The headers of the parts of the entry at `at`, unchecked, and where the next entry begins.
    pub(crate) fn outline(&mut self, at: u64, mark: u64) -> io::Result<Option<Entry>> {
        let Some(head) = self.head(at, mark)? else {
            return Ok(None);
        };
        let mut next = at + ENTRY as u64;
        let end = next + u64::from(head.length);
        let mut parts = Vec::new();
        for _ in 0..head.parts {
            let found = PartHead::decode(self.get(next, PART)?);
            let (Some(part), Ok(position)) = (found, u32::try_from(next)) else {
                break;
            };
            parts.push(Applied {
                log: part.log,
                deed: part.deed,
                position,
                length: part.length,
                state: Bytes::new(),
            });
            next += PART as u64 + u64::from(part.length);
        }
        Ok(Some(Entry { parts, end }))
    }

    /// The next header of an entry at or behind `at`.
    pub(crate) fn search(
        &mut self,
        mut at: u64,
        mark: u64,
    ) -> io::Result<Option<(u64, EntryHead)>> {
        let needle = mark.to_be_bytes();
        while at + ENTRY as u64 <= self.length {
            let bytes = self.get(at, WINDOW)?;
            if bytes.iter().all(|byte| *byte == 0) {
                // Set aside and never written.
                at += bytes.len() as u64;
                continue;
            }
            let found = bytes
                .windows(needle.len())
                .position(|window| window == needle);
            match found {
                Some(skip) => {
                    at += skip as u64;
                    if let Some(head) = self.head(at, mark)? {
                        return Ok(Some((at, head)));
                    }
                    at += 1;
                }
                None => at += (bytes.len() - needle.len() + 1) as u64,
            }
        }
        Ok(None)
    }
}
