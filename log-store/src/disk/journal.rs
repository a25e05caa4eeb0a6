//! Writing the journal: one vectored write for all that waits, and one sync.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

use ackord_machine::LogId;
use bytes::Bytes;
use rustix::fs::{FallocateFlags, fallocate};

use crate::disk::entry::{Deed, ENTRY, EntryHead, PART, PartHead};
use crate::disk::recent::{Applied, Place};
use crate::disk::segment::{HEADER, Segment};
use crate::disk::shared::Prepared;
use crate::engine::Change;
use crate::keys;

/// Shorter payloads are copied next to their headers: cheaper than a piece of their own.
const OWN_PIECE_FROM: usize = 2048;
/// The kernel takes no more pieces in one call.
const PIECES: usize = 1024;

/// Entries under construction.
pub(crate) struct Encoder<'a> {
    mark: u64,
    /// Of the next byte in the segment.
    position: u64,
    headers: Vec<u8>,
    /// Where the part of `headers` begins that is in no piece yet.
    open: usize,
    pieces: Vec<Piece<'a>>,
    pub(crate) applied: Vec<Applied>,
}

enum Piece<'a> {
    Headers(Range<usize>),
    Payload(&'a [u8]),
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(mark: u64, position: u64) -> Self {
        Encoder {
            mark,
            position,
            headers: Vec::with_capacity(1024),
            open: 0,
            pieces: Vec::new(),
            applied: Vec::new(),
        }
    }

    /// Where what is encoded so far ends.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Begins an entry with `parts` parts of `length` bytes in all.
    pub(crate) fn entry(
        &mut self,
        number: u64,
        synced: u64,
        parts: usize,
        length: u64,
    ) -> io::Result<()> {
        let head = EntryHead {
            number,
            synced,
            length: u32::try_from(length).map_err(too_long)?,
            parts: u32::try_from(parts).map_err(too_long)?,
        };
        self.headers.extend_from_slice(&head.encode(self.mark));
        self.position += ENTRY as u64;
        Ok(())
    }

    pub(crate) fn part(
        &mut self,
        log: LogId,
        deed: Deed,
        head: &[u8],
        body: &'a [u8],
    ) -> io::Result<()> {
        let length = u32::try_from(head.len() + body.len()).map_err(too_long)?;
        PartHead::encode(&mut self.headers, log, deed, length, [head, body]);
        self.headers.extend_from_slice(head);
        if body.len() < OWN_PIECE_FROM {
            self.headers.extend_from_slice(body);
        } else {
            self.pieces
                .push(Piece::Headers(self.open..self.headers.len()));
            self.open = self.headers.len();
            self.pieces.push(Piece::Payload(body));
        }
        self.applied.push(Applied {
            log,
            deed,
            position: u32::try_from(self.position).map_err(too_long)?,
            length,
            state: Bytes::new(),
        });
        self.position += PART as u64 + u64::from(length);
        Ok(())
    }

    /// Writes everything at the place of `file`.
    pub(crate) fn write(&mut self, mut file: &File) -> io::Result<()> {
        self.pieces
            .push(Piece::Headers(self.open..self.headers.len()));
        self.open = self.headers.len();
        let mut slices: Vec<IoSlice<'_>> = self
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Headers(range) => IoSlice::new(&self.headers[range.clone()]),
                Piece::Payload(payload) => IoSlice::new(payload),
            })
            .collect();
        let mut rest = &mut slices[..];
        // Passes over empty pieces.
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            match file.write_vectored(&rest[..rest.len().min(PIECES)]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut rest, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn too_long(_: std::num::TryFromIntError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "an append of more than 4 GiB")
}

/// How many parts a change has, and their bytes.
fn measure(change: &Change) -> (usize, u64) {
    let part = |payload: usize| (PART + payload) as u64;
    match change {
        Change::Append { parts } => {
            let bytes = parts
                .iter()
                .map(|one| part(one.head.len() + one.body.len()));
            (parts.len(), bytes.sum())
        }
        Change::Checkpoint { state, .. } => (1, part(state.len())),
        Change::Drop { .. } | Change::Trim { .. } => (1, part(0)),
    }
}

/// The end of the journal. Only the writer has it.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) segment: Arc<Segment>,
    file: File,
    mark: u64,
    pub(crate) place: Place,
    /// Entries below this number are on the disk.
    synced: u64,
    sync: bool,
    /// Bytes of the file that the disk has set aside.
    reserved: u64,
    /// So much is set aside at a time; nothing where nothing is synced.
    step: u64,
}

impl Journal {
    /// Goes on at `place` in a segment that is there.
    pub(crate) fn resume(
        segment: Arc<Segment>,
        mark: u64,
        place: Place,
        sync: bool,
        step: u64,
    ) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&segment.path)?;
        file.set_len(place.position)?;
        // What was recovered is on the disk from now on: new entries say so.
        file.sync_all()?;
        let mut journal = Journal {
            segment,
            file,
            mark,
            place,
            synced: place.number,
            sync,
            reserved: place.position,
            step: if sync { step } else { 0 },
        };
        journal.file.seek(SeekFrom::Start(place.position))?;
        Ok(journal)
    }

    /// Goes on in a new segment, whose file stands behind its header.
    pub(crate) fn roll(&mut self, next: Prepared) {
        self.place.segment = next.segment.id;
        self.place.position = HEADER;
        self.reserved = HEADER;
        self.segment = next.segment;
        self.file = next.file;
        self.mark = next.mark;
    }

    /// Nothing more comes into the segment.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        if self.reserved > self.place.position {
            self.file.set_len(self.place.position)?;
            self.reserved = self.place.position;
        }
        Ok(())
    }

    /// A sync has less to do where a write does not change the size of the file.
    fn reserve(&mut self, end: u64) {
        if self.step > 0 && end > self.reserved {
            let size = end.next_multiple_of(self.step);
            let from = self.reserved;
            // Where the file system cannot, it works all the same.
            if fallocate(&self.file, FallocateFlags::empty(), from, size - from).is_ok() {
                self.reserved = size;
            }
        }
    }

    /// How many bytes `changes` take.
    pub(crate) fn size(changes: &[Change]) -> u64 {
        let size = |change| ENTRY as u64 + measure(change).1;
        changes.iter().map(size).sum()
    }

    /// Writes one entry for each change; returns what they are in the index.
    pub(crate) fn write(&mut self, changes: &[Change]) -> io::Result<Vec<Applied>> {
        let mut encoder = Encoder::new(self.mark, self.place.position);
        let mut number = self.place.number;
        for change in changes {
            let (parts, length) = measure(change);
            encoder.entry(number, self.synced, parts, length)?;
            encode(&mut encoder, change)?;
            number += 1;
        }
        self.reserve(encoder.position());
        encoder.write(&self.file)?;
        if self.sync {
            self.file.sync_data()?;
            self.synced = number;
        }
        self.place.position = encoder.position();
        self.place.number = number;
        Ok(encoder.applied)
    }

    /// Everything below this number was synced by someone else.
    pub(crate) fn synced_to(&mut self, number: u64) {
        self.synced = self.synced.max(number);
    }
}

fn encode<'a>(encoder: &mut Encoder<'a>, change: &'a Change) -> io::Result<()> {
    match change {
        Change::Append { parts } => parts.iter().try_for_each(|part| {
            let deed = Deed::Batch {
                base: part.base,
                last: part.last,
                max_timestamp: keys::max_timestamp(&part.head, &part.body),
            };
            encoder.part(part.log, deed, &part.head, &part.body)
        }),
        Change::Checkpoint { log, at, state } => {
            encoder.part(*log, Deed::Checkpoint { at: *at }, &[], state)?;
            if let Some(applied) = encoder.applied.last_mut() {
                applied.state = state.clone();
            }
            Ok(())
        }
        Change::Drop { log } => encoder.part(*log, Deed::Drop, &[], &[]),
        Change::Trim { log, head } => encoder.part(*log, Deed::Trim { head: *head }, &[], &[]),
    }
}
