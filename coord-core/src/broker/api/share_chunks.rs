//! What a ShareFetch makes of the batches that were read.

use ackord_proto::records::RecordIter;
use ackord_share_partition::{Acquired, LogBatch, Span};
use alloc::vec::Vec;
use bytes::Bytes;

use crate::log::{Aborted, BatchSpan};

/// The batches of aborted transactions, and those that may be acquired. Aborted ones are holes between
/// the others, also where the window has not come to them.
pub(super) fn split_aborted(
    spans: &[BatchSpan],
    list: &[Aborted],
) -> (Vec<BatchSpan>, Vec<LogBatch>) {
    let (mut aborted, mut others) = (Vec::new(), Vec::new());
    for span in spans {
        let data = span.is_transactional && !span.is_control;
        let ended = |entry: &Aborted| {
            entry.producer_id == span.producer_id
                && (entry.first_offset..=entry.last_offset).contains(&span.base)
        };
        if data && list.iter().any(ended) {
            aborted.push(*span);
        } else {
            let (base, last) = (span.base, span.last);
            others.push(LogBatch { base, last });
        }
    }
    (aborted, others)
}

/// Offsets of batches that hold no record any more: a cleaner leaves the bounds of a batch as they
/// were. A batch that cannot be opened is taken to be whole.
pub(super) fn holes_in(chunks: &[Bytes], spans: &[BatchSpan]) -> Vec<Span> {
    let (mut holes, mut at) = (Vec::new(), 0);
    for span in spans {
        let size = Span::new(span.base, span.last).len();
        if span.records < size && !span.is_control {
            let batch = slice(chunks.to_vec(), at, span.size).concat();
            if let Ok(records) = RecordIter::new(&Bytes::from(batch)) {
                let mut from = span.base;
                for record in records.map_while(Result::ok) {
                    holes.push(Span::new(from, record.offset.saturating_sub(1)));
                    from = record.offset.saturating_add(1);
                }
                holes.push(Span::new(from, span.last));
            }
        }
        at += span.size;
    }
    holes.retain(|hole| !hole.is_empty());
    holes
}

/// `batches` without `holes`, both ascending.
pub(super) fn without(batches: Vec<LogBatch>, holes: &[Span]) -> Vec<LogBatch> {
    if holes.is_empty() {
        return batches;
    }
    let mut left = Vec::with_capacity(batches.len());
    let mut holes = holes.iter().peekable();
    for LogBatch { mut base, last } in batches {
        while let Some(hole) = holes.next_if(|hole| hole.first <= last) {
            if base < hole.first {
                let last = hole.first - 1;
                left.push(LogBatch { base, last });
            }
            base = base.max(hole.last.saturating_add(1));
        }
        if base <= last {
            left.push(LogBatch { base, last });
        }
    }
    left
}

/// Acquired offsets that hold a marker and no record.
pub(super) fn markers_in(spans: &[BatchSpan], acquired: &[Acquired]) -> Vec<Span> {
    let markers = spans.iter().filter(|span| span.is_control);
    let given = |span: &&BatchSpan| {
        acquired
            .iter()
            .any(|range| range.first <= span.last && span.base <= range.last)
    };
    markers
        .filter(given)
        .map(|span| Span::new(span.base, span.last))
        .collect()
}

/// The batches that hold acquired records; a batch may be one chunk or its head and its rest.
/// `spans` are the bounds of `chunks`.
pub(super) fn keep_overlapping(
    chunks: Vec<Bytes>,
    spans: &[BatchSpan],
    acquired: &[Acquired],
) -> Vec<Bytes> {
    let (Some(first), Some(last)) = (acquired.first(), acquired.last()) else {
        return Vec::new();
    };
    let whole = spans
        .iter()
        .all(|span| span.last >= first.first && span.base <= last.last);
    if whole {
        return chunks;
    }
    // Cut at batch borders by their sizes.
    let size = |span: &BatchSpan| span.size;
    let total: usize = spans.iter().map(size).sum();
    let before: usize = spans
        .iter()
        .take_while(|span| span.last < first.first)
        .map(size)
        .sum();
    let behind: usize = spans
        .iter()
        .rev()
        .take_while(|span| span.base > last.last)
        .map(size)
        .sum();
    slice(chunks, before, total.saturating_sub(before + behind))
}

/// `length` bytes from `skip` on, without copying.
fn slice(chunks: Vec<Bytes>, skip: usize, length: usize) -> Vec<Bytes> {
    let (mut skip, mut length) = (skip, length);
    let mut kept = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let from = skip.min(chunk.len());
        skip -= from;
        let to = from + length.min(chunk.len() - from);
        length -= to - from;
        if to > from {
            kept.push(chunk.slice(from..to));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_crosses_chunks_without_copying() {
        let chunks = [Bytes::from_static(b"abc"), Bytes::from_static(b"defg")];
        let all = |skip, length| slice(chunks.to_vec(), skip, length).concat();
        assert_eq!(all(0, 7), b"abcdefg");
        assert_eq!(all(2, 3), b"cde");
        assert_eq!(all(3, 4), b"defg");
        assert_eq!(all(7, 0), b"");
    }
}
