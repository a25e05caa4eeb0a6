//! Reading batches from segments.
//!
//! Batches that lie close together are read with one call; each is then a slice of what was read.

use std::fs::File;
use std::io;

use ackord_machine::{LoadDetail, LogId, StorageFault, StoredBatch};
use bytes::Bytes;
use rustix::buffer::spare_capacity;

use crate::disk::chunk::Located;
use crate::disk::entry::{Deed, PART, PartHead};
use crate::disk::segment::{Segment, Segments};
use crate::disk::shared::Shared;
use crate::engine::{HEADER, WHOLE};

/// Reading so many bytes in vain costs less than another call.
const GAP: u64 = 8 * 1024;
/// No more than this is read with one call, unless a single batch is larger.
const RUN_BYTES: u64 = 1024 * 1024;

/// Reads the batches of a log that lie at `located`, in order.
pub(crate) fn gather(
    shared: &Shared,
    segments: &Segments,
    log: LogId,
    located: &[Located],
    detail: LoadDetail,
) -> Result<Vec<StoredBatch>, StorageFault> {
    let mut batches = Vec::with_capacity(located.len());
    let mut rest = located;
    while let Some(first) = rest.first() {
        let (run, after) = rest.split_at(run_length(rest, detail));
        let Some(segment) = segments.get(&first.segment) else {
            shared.warn(format!(
                "segment {} is missing from {}",
                first.segment,
                shared.dir.display()
            ));
            return Err(StorageFault::Corrupt);
        };
        read_run(shared, segment, log, run, detail, &mut batches)?;
        rest = after;
    }
    Ok(batches)
}

/// Bytes of a batch that are wanted.
fn wanted(one: &Located, detail: LoadDetail) -> usize {
    match detail {
        LoadDetail::Headers if one.slot.length as usize > WHOLE => HEADER,
        LoadDetail::Headers | LoadDetail::Full => one.slot.length as usize,
    }
}

fn begin(one: &Located) -> u64 {
    u64::from(one.slot.position)
}

fn end(one: &Located, detail: LoadDetail) -> u64 {
    begin(one) + (PART + wanted(one, detail)) as u64
}

/// How many of the first batches are read together.
fn run_length(located: &[Located], detail: LoadDetail) -> usize {
    let Some(first) = located.first() else {
        return 0;
    };
    let goes_on = |pair: &[Located]| {
        let (one, next) = (&pair[0], &pair[1]);
        let behind = end(one, detail);
        one.segment == next.segment
            && (behind..=behind + GAP).contains(&begin(next))
            && end(next, detail) - begin(first) <= RUN_BYTES
    };
    1 + located.windows(2).take_while(|pair| goes_on(pair)).count()
}

fn read_run(
    shared: &Shared,
    segment: &Segment,
    log: LogId,
    run: &[Located],
    detail: LoadDetail,
    batches: &mut Vec<StoredBatch>,
) -> Result<(), StorageFault> {
    let (Some(first), Some(last)) = (run.first(), run.last()) else {
        return Ok(());
    };
    let start = begin(first);
    let size = (end(last, detail) - start) as usize;
    let file = shared.files.get(segment);
    let bytes = match file.and_then(|file| read_at(&file, start, size)) {
        Ok(bytes) => Bytes::from(bytes),
        Err(error) => {
            let file = segment.path.display();
            shared.warn(format!("{file} cannot be read at {start}: {error}"));
            return Err(match error.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound => StorageFault::Corrupt,
                _ => StorageFault::Retriable,
            });
        }
    };
    let needed: usize = run.iter().map(|one| wanted(one, detail)).sum();
    // A slice keeps everything alive that was read.
    let mostly_needed = needed * 2 >= bytes.len();
    for one in run {
        let at = (begin(one) - start) as usize;
        let payload = at + PART..at + PART + wanted(one, detail);
        if !is_right(&bytes[at..payload.end], log, one) {
            shared.warn(format!(
                "the batch of {log} with offsets {} to {} at position {} of {} has changed since it \
                 was written",
                one.base,
                one.slot.last,
                one.slot.position,
                segment.path.display()
            ));
            return Err(StorageFault::Corrupt);
        }
        batches.push(StoredBatch {
            base: one.base,
            last: one.slot.last,
            bytes: match mostly_needed {
                true => bytes.slice(payload),
                false => Bytes::copy_from_slice(&bytes[payload]),
            },
        });
    }
    Ok(())
}

/// Reads into memory that was not cleared first.
fn read_at(file: &File, start: u64, size: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(size);
    while bytes.len() < size {
        let at = start + bytes.len() as u64;
        match rustix::io::pread(file, spare_capacity(&mut bytes), at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    bytes.truncate(size);
    Ok(bytes)
}

/// Whether the bytes of a part are those of the batch that the index means. The checksum tells only
/// where the payload is whole.
fn is_right(bytes: &[u8], log: LogId, one: &Located) -> bool {
    let deed = Deed::Batch {
        base: one.base,
        last: one.slot.last,
        max_timestamp: one.slot.max_timestamp,
    };
    PartHead::decode(bytes).is_some_and(|head| {
        let payload = &bytes[PART..];
        let same = head.log == log && head.deed == deed && head.length == one.slot.length;
        same && (payload.len() < head.length as usize
            || head.is_whole(crc32c::crc32c_append(PartHead::crc_of(bytes), payload)))
    })
}
