//! What a dead letter looks like (KIP-1191): headers that say where the record was and why it was
//! given up, and the record's key and value where the group wants them.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ackord_proto::records::{BatchBuilder, BatchIter, RecordIter};
use ackord_share_partition::{DeadLetter, Span};
use bytes::Bytes;

/// Where records come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'a> {
    pub(super) topic: &'a str,
    pub(super) partition: i32,
    pub(super) group: &'a str,
}

/// Keys and values of records that are to be copied.
#[derive(Debug)]
pub(super) struct Sources {
    records: BTreeMap<i64, Source>,
    /// Records behind this offset have to be read first.
    known_to: i64,
}

#[derive(Debug)]
struct Source {
    key: Option<Bytes>,
    value: Option<Bytes>,
}

impl Sources {
    /// Copies without key and value.
    pub(super) fn none() -> Self {
        Sources {
            records: BTreeMap::new(),
            known_to: i64::MAX,
        }
    }

    fn of(&self, offset: i64) -> (Option<&[u8]>, Option<&[u8]>) {
        self.records.get(&offset).map_or((None, None), |source| {
            (source.key.as_deref(), source.value.as_deref())
        })
    }

    /// What batches of the log hold of the letters, which are ascending. An offset without a record,
    /// or in a batch that cannot be read, is copied without key and value, as by Kafka. Ends with the
    /// batch that reaches `max_bytes`, as more would not fit into one batch of copies.
    pub(super) fn of_batches(bytes: Bytes, letters: &[DeadLetter], max_bytes: usize) -> Self {
        let mut sources = Sources::none();
        let mut left = max_bytes;
        // The letter that an offset may belong to: all before it end below.
        let letter_at = |offset: i64| {
            let place = letters.partition_point(|letter| letter.span.last < offset);
            letters.get(place).map(|letter| letter.span)
        };
        for batch in BatchIter::new(bytes).map_while(Result::ok) {
            let (first, last) = (batch.header.base_offset, batch.header.last_offset());
            sources.known_to = last;
            let asked = letter_at(first).is_some_and(|span| span.first <= last);
            if batch.header.is_control() || !asked {
                continue;
            }
            let mut records = RecordIter::new(&batch.bytes).ok();
            // Copied out, so that a small record does not keep its whole unpacked batch.
            while let Some(Ok(record)) = records.as_mut().and_then(RecordIter::next_view) {
                if letter_at(record.offset).is_some_and(|span| span.first <= record.offset) {
                    let key = record.key.map(Bytes::copy_from_slice);
                    let value = record.value.map(Bytes::copy_from_slice);
                    left = left.saturating_sub(
                        key.as_ref().map_or(0, Bytes::len) + value.as_ref().map_or(0, Bytes::len),
                    );
                    sources.records.insert(record.offset, Source { key, value });
                }
            }
            if left == 0 {
                break;
            }
        }
        sources
    }
}

/// One batch of copies.
#[derive(Debug)]
pub(super) struct Copies {
    pub(super) batch: Bytes,
    /// The records that are in it.
    pub(super) spans: Vec<Span>,
    /// Offsets whose key and value did not fit.
    pub(super) cut: Vec<i64>,
}

impl Copies {
    /// As many copies as fit into one batch, at least one. All have the time of the copy, not of
    /// the record.
    pub(super) fn make(
        origin: &Origin<'_>,
        timestamp: i64,
        letters: &[DeadLetter],
        sources: &Sources,
        max_bytes: usize,
    ) -> Self {
        let mut batch = BatchBuilder::new(0);
        let (mut spans, mut cut): (Vec<Span>, Vec<i64>) = (Vec::new(), Vec::new());
        let offsets = letters
            .iter()
            .flat_map(|letter| (letter.span.first..=letter.span.last).map(move |at| (at, letter)));
        for (offset, letter) in offsets {
            let head = Head::new(origin, letter, offset);
            let headers = head.headers();
            let (mut key, mut value) = sources.of(offset);
            if !batch.is_empty() {
                let size = batch.size_with(timestamp, key, value, &headers);
                if offset > sources.known_to || size > max_bytes {
                    break;
                }
            } else if (key.is_some() || value.is_some())
                && batch.size_with(timestamp, key, value, &headers) > max_bytes
            {
                cut.push(offset);
                (key, value) = (None, None);
            }
            batch.push_with_headers(timestamp, key, value, &headers);
            match spans.last_mut() {
                Some(span) if span.last + 1 == offset => span.last = offset,
                _ => spans.push(Span::new(offset, offset)),
            }
        }
        Copies {
            batch: batch.build(),
            spans,
            cut,
        }
    }
}

/// The headers of one copy.
struct Head<'a> {
    origin: &'a Origin<'a>,
    partition: String,
    offset: String,
    count: String,
    message: &'static str,
}

impl<'a> Head<'a> {
    fn new(origin: &'a Origin<'a>, letter: &DeadLetter, offset: i64) -> Self {
        Head {
            origin,
            partition: origin.partition.to_string(),
            offset: offset.to_string(),
            count: letter.delivery_count.to_string(),
            message: letter.cause.message(),
        }
    }

    fn headers(&self) -> [(&[u8], Option<&[u8]>); 6] {
        let headers = [
            ("__dlq.errors.topic", self.origin.topic),
            ("__dlq.errors.partition", &self.partition),
            ("__dlq.errors.offset", &self.offset),
            ("__dlq.errors.group", self.origin.group),
            ("__dlq.errors.delivery.count", &self.count),
            ("__dlq.errors.message", self.message),
        ];
        headers.map(|(name, value)| (name.as_bytes(), Some(value.as_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackord_share_partition::DeadLetterCause;

    /// Batches as Kafka 4.4.0 has written them: two rejected records, the second without a key.
    const REJECTED: &str = "0000000000000000000001c50000000002473b2ffe000000000001000001a2296baf82000001a2296baf82ff\
        ffffffffffffffffffffffffff000000029203000000046b300476300c245f5f646c712e6572726f72732e74\
        6f7069631c7372632d636f70793333383236332c5f5f646c712e6572726f72732e706172746974696f6e0230\
        265f5f646c712e6572726f72732e6f66667365740230245f5f646c712e6572726f72732e67726f757018672d\
        636f7079333338323633365f5f646c712e6572726f72732e64656c69766572792e636f756e740231285f5f64\
        6c712e6572726f72732e6d657373616765344f66667365742072656a656374656420627920636c69656e742e\
        8e03000002010476310c245f5f646c712e6572726f72732e746f7069631c7372632d636f7079333338323633\
        2c5f5f646c712e6572726f72732e706172746974696f6e0230265f5f646c712e6572726f72732e6f66667365\
        740231245f5f646c712e6572726f72732e67726f757018672d636f7079333338323633365f5f646c712e6572\
        726f72732e64656c69766572792e636f756e740231285f5f646c712e6572726f72732e6d657373616765344f\
        66667365742072656a656374656420627920636c69656e742e";
    /// One record at the delivery limit.
    const LIMIT: &str = "0000000000000000000001160000000002522b48c0000000000000000001a2296bf871000001a2296bf871ff\
        ffffffffffffffffffffffffff00000001c6030000001072656c656173656402760c245f5f646c712e657272\
        6f72732e746f7069631e7372632d6c696d69743333383236332c5f5f646c712e6572726f72732e7061727469\
        74696f6e0230265f5f646c712e6572726f72732e6f66667365740230245f5f646c712e6572726f72732e6772\
        6f75701a672d6c696d6974333338323633365f5f646c712e6572726f72732e64656c69766572792e636f756e\
        740232285f5f646c712e6572726f72732e6d6573736167655a4f66667365742064656c697665727920636f75\
        6e7420657863656564656420746865207468726573686f6c642e";
    /// Magic, checksum and all behind it: what stands before is given by the log.
    const FROM_MAGIC: usize = 16;

    fn letter(first: i64, last: i64, delivery_count: i16, cause: DeadLetterCause) -> DeadLetter {
        DeadLetter {
            span: Span::new(first, last),
            delivery_count,
            cause,
        }
    }

    /// Key and value.
    type KeyValue<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

    fn log(base: i64, records: &[KeyValue<'_>]) -> Bytes {
        let mut batch = BatchBuilder::new(base);
        for (key, value) in records {
            batch.push_with_headers(1000, *key, *value, &[(b"own", Some(b"x"))]);
        }
        batch.build()
    }

    fn unhex(hex: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digit).collect()
    }

    #[test]
    fn copies_are_those_of_kafka_byte_for_byte() {
        let origin = |name| Origin {
            topic: if name {
                "src-copy338263"
            } else {
                "src-limit338263"
            },
            partition: 0,
            group: if name {
                "g-copy338263"
            } else {
                "g-limit338263"
            },
        };
        let letters = [letter(0, 1, 1, DeadLetterCause::Rejected)];
        let source = log(0, &[(Some(b"k0"), Some(b"v0")), (None, Some(b"v1"))]);
        let sources = Sources::of_batches(source, &letters, 1 << 20);
        let own = Copies::make(
            &origin(true),
            1_795_991_252_866,
            &letters,
            &sources,
            1 << 20,
        );
        assert_eq!(own.batch[FROM_MAGIC..], unhex(REJECTED)[FROM_MAGIC..]);
        assert_eq!(own.spans, [Span::new(0, 1)]);

        let letters = [letter(0, 0, 2, DeadLetterCause::LimitReached)];
        let source = log(0, &[(Some(b"released"), Some(b"v"))]);
        let sources = Sources::of_batches(source, &letters, 1 << 20);
        let own = Copies::make(
            &origin(false),
            1_795_991_271_537,
            &letters,
            &sources,
            1 << 20,
        );
        assert_eq!(own.batch[FROM_MAGIC..], unhex(LIMIT)[FROM_MAGIC..]);
    }

    const ORIGIN: Origin<'static> = Origin {
        topic: "t",
        partition: 0,
        group: "g",
    };

    fn values(copies: &Copies) -> Vec<Option<Bytes>> {
        let records = RecordIter::new(&copies.batch).unwrap();
        records.map(|record| record.unwrap().value).collect()
    }

    #[test]
    fn a_batch_of_copies_keeps_to_the_limit_and_to_what_was_read() {
        let letters = [
            letter(2, 3, 1, DeadLetterCause::Rejected),
            letter(5, 9, 1, DeadLetterCause::Rejected),
        ];
        let value: &[u8] = &[7; 50];
        let source = log(2, &[(None, Some(value)); 5]);
        let sources = Sources::of_batches(source, &letters, 1 << 20);
        let all = Copies::make(&ORIGIN, 0, &letters, &sources, 1 << 20);
        // The read went to offset 6.
        assert_eq!(all.spans, [Span::new(2, 3), Span::new(5, 6)]);
        assert_eq!(values(&all).len(), 4);
        let two = Copies::make(&ORIGIN, 0, &letters, &sources, 560);
        assert!(two.batch.len() <= 560);
        assert_eq!(
            (two.spans.as_slice(), two.cut.len()),
            ([Span::new(2, 3)].as_slice(), 0)
        );
        // Too large even alone: the copy goes without.
        let none = Copies::make(&ORIGIN, 0, &letters, &sources, 230);
        assert_eq!(
            (none.spans.as_slice(), none.cut.as_slice()),
            ([Span::new(2, 2)].as_slice(), [2].as_slice())
        );
        assert_eq!(values(&none), [None]);
    }

    #[test]
    fn what_cannot_be_read_is_copied_without_key_and_value() {
        let letters = [letter(0, 1, 1, DeadLetterCause::Rejected)];
        let mut damaged = log(0, &[(None, Some(b"v")), (None, Some(b"w"))]).to_vec();
        damaged.truncate(damaged.len() - 3);
        for bytes in [
            Bytes::from(damaged),
            Bytes::new(),
            log(1, &[(None, Some(b"w"))]),
        ] {
            let sources = Sources::of_batches(bytes, &letters, 1 << 20);
            let copies = Copies::make(&ORIGIN, 0, &letters, &sources, 1 << 20);
            assert_eq!(copies.spans, [Span::new(0, 1)]);
            assert_eq!(values(&copies)[0], None);
        }
    }
}
