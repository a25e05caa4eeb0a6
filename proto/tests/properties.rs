//! Arbitrary values of every message in every version: written and read again they are equal,
//! and as long as predicted.
//!
//! Values come from the decoder itself. It is given bytes that grow where it asks for more and
//! change where it refuses them, so whatever it can read is found, without a second description
//! of the messages.

use std::fmt::Debug;

use ackord_proto::api::{ApiKey, Body, Request, Response};
use ackord_proto::coordinator_records::*;
use ackord_proto::embedded::{
    AbortedTxn, ConsumerProtocolAssignment, ConsumerProtocolSubscription, ControlRecordTypeSchema,
    DefaultPrincipalData, EndTxnMarker,
};
use ackord_proto::printer::Printer;
use ackord_proto::records::{
    BatchBuilder, BatchHeader, Compression, RecordIter, validate_for_append,
};
use ackord_proto::{DecodeError, DecodeErrorKind, Message, Reader, Writer};
use bytes::Bytes;

/// A small generator of numbers; the same seed gives the same ones.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }

    /// Bytes as a field might have them: lengths are small, numbers are extreme, text is text.
    fn field(&mut self, size: usize, kinds: u64) -> Vec<u8> {
        match self.below(kinds) {
            0 | 1 => vec![0; size],
            2 | 3 => {
                let mut small = vec![0; size];
                if let Some(last) = small.last_mut() {
                    *last = 1 + self.byte() % if kinds < KINDS { 1 } else { 4 };
                }
                small
            }
            4 => vec![0xff; size],
            5 => (0..size).map(|_| b'a' + self.byte() % 26).collect(),
            6 => (0..size).map(|_| 1 + self.byte() % 2).collect(),
            _ => (0..size).map(|_| self.byte()).collect(),
        }
    }
}

/// The kinds of bytes that a field may have; the first four make empty lists.
const KINDS: u64 = 8;

/// More would only be more of the same.
const LONGEST: usize = 600;

/// Finds bytes that can be read, and what was read.
fn arbitrary<T>(
    random: &mut Random,
    decode: impl Fn(&mut Reader) -> Result<T, DecodeError>,
) -> Option<T> {
    let mut bytes: Vec<u8> = Vec::new();
    // The lengths before each growth: where to go back to.
    let mut steps: Vec<usize> = Vec::new();
    for round in 0..20_000 {
        // What does not come to an end is made smaller.
        let kinds = if round % 1_000 < 500 { KINDS } else { 4 };
        let mut r = Reader::new(Bytes::copy_from_slice(&bytes));
        let error = match decode(&mut r) {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        match error.kind {
            DecodeErrorKind::Incomplete { needed } if bytes.len() + needed <= LONGEST => {
                steps.push(bytes.len());
                bytes.extend(random.field(needed, kinds));
            }
            kind => {
                // Too long: to anywhere. Else by one step, at times by more, since the fault
                // may lie further ahead.
                let back = match kind {
                    DecodeErrorKind::Incomplete { .. } => random.below(steps.len() as u64 + 1),
                    _ => random.below(3) * random.below(3),
                };
                for _ in 0..=back {
                    bytes.truncate(steps.pop().unwrap_or_default());
                }
            }
        }
    }
    None
}

/// Writes, reads and compares; every prefix is refused.
fn check<T: Body + PartialEq + Debug>(
    name: &str,
    value: &T,
    version: i16,
    decode: impl Fn(&mut Reader) -> Result<T, DecodeError>,
) {
    let mut w = Writer::new();
    value
        .encode(version, &mut w)
        .unwrap_or_else(|error| panic!("{name}: {error}\n{value:?}"));
    let bytes = w.into_bytes();
    assert_eq!(
        value.counted(version).total(),
        bytes.len(),
        "{name}: predicted size"
    );
    let mut r = Reader::new(bytes.clone());
    let again = decode(&mut r).unwrap_or_else(|error| panic!("{name}: {error}\n{value:?}"));
    assert_eq!(r.remaining(), 0, "{name}");
    // A float that is not a number equals nothing.
    assert!(
        again == *value || format!("{value:?}").contains("NaN"),
        "{name}: {value:?}"
    );
    for end in (0..bytes.len()).step_by(1 + bytes.len() / 32) {
        let cut = decode(&mut Reader::new(bytes.slice(..end)));
        assert!(cut.is_err(), "{name} cut to {end} bytes");
    }
}

/// How many values of each version are tried.
const VALUES: u64 = 16;

#[test]
fn every_request_and_response_in_every_version() {
    let mut longest = 0;
    for key in ApiKey::ALL.iter().copied() {
        for version in key.versions() {
            let name = format!("{} v{version}", key.name());
            for seed in 1..=VALUES {
                let mut random = Random::new(seed * 1_000 + u64::from(version.unsigned_abs()));
                let read = |r: &mut Reader| Request::decode(key, version, r);
                let request =
                    arbitrary(&mut random, read).unwrap_or_else(|| panic!("{name} request"));
                check(&name, &request, version, read);
                let mut printer = Printer::default();
                request.print(version, &mut printer);
                longest = longest.max(printer.finish().len());
                let read = |r: &mut Reader| Response::decode(key, version, r);
                let response =
                    arbitrary(&mut random, read).unwrap_or_else(|| panic!("{name} response"));
                check(&name, &response, version, read);
            }
        }
    }
    // Not only empty lists have been tried.
    assert!(longest > 500, "{longest}");
}

fn data<M: Message>() {
    for version in M::VERSIONS {
        for seed in 1..=VALUES {
            let mut random = Random::new(seed);
            let read = |r: &mut Reader| M::decode(version, r);
            let value = arbitrary(&mut random, read).unwrap_or_else(|| panic!("{}", M::NAME));
            check(M::NAME, &value, version, read);
        }
    }
}

macro_rules! all_data {
    ($($ty:ty),* $(,)?) => { $(data::<$ty>();)* };
}

#[test]
fn every_record_of_the_coordinators_and_every_embedded_structure() {
    all_data!(
        LegacyOffsetCommitKey,
        OffsetCommitKey,
        OffsetCommitValue,
        GroupMetadataKey,
        GroupMetadataValue,
        ConsumerGroupMetadataValue,
        ConsumerGroupPartitionMetadataValue,
        ConsumerGroupMemberMetadataValue,
        ConsumerGroupTargetAssignmentMetadataValue,
        ConsumerGroupTargetAssignmentMemberValue,
        ConsumerGroupCurrentMemberAssignmentValue,
        ConsumerGroupRegularExpressionKey,
        ConsumerGroupRegularExpressionValue,
        ShareGroupMemberMetadataValue,
        ShareGroupMetadataValue,
        ShareGroupTargetAssignmentMetadataValue,
        ShareGroupTargetAssignmentMemberValue,
        ShareGroupCurrentMemberAssignmentValue,
        ShareGroupStatePartitionMetadataValue,
        StreamsGroupMetadataValue,
        StreamsGroupMemberMetadataValue,
        StreamsGroupTargetAssignmentMetadataValue,
        StreamsGroupTargetAssignmentMemberValue,
        StreamsGroupCurrentMemberAssignmentValue,
        StreamsGroupTopologyValue,
        TransactionLogKey,
        TransactionLogValue,
        ShareSnapshotKey,
        ShareSnapshotValue,
        ShareUpdateKey,
        ShareUpdateValue,
        ConsumerProtocolSubscription,
        ConsumerProtocolAssignment,
        DefaultPrincipalData,
        AbortedTxn,
        ControlRecordTypeSchema,
        EndTxnMarker,
    );
}

/// Timestamp, key, value and headers.
type Parts = (
    i64,
    Option<Vec<u8>>,
    Option<Vec<u8>>,
    Vec<(Vec<u8>, Option<Vec<u8>>)>,
);

fn arbitrary_bytes(random: &mut Random) -> Vec<u8> {
    let size = [0, 1, 10, 63, 64, 127, 128, 5_000][random.below(8) as usize];
    random.field(size, KINDS)
}

fn arbitrary_record(random: &mut Random) -> Parts {
    let optional = |random: &mut Random| match random.below(4) {
        0 => None,
        _ => Some(arbitrary_bytes(random)),
    };
    let timestamp = random.next().cast_signed() >> random.below(64);
    let (key, value) = (optional(random), optional(random));
    let headers = (0..random.below(4))
        .map(|_| (arbitrary_bytes(random), optional(random)))
        .collect();
    (timestamp, key, value, headers)
}

#[test]
fn any_records_come_out_of_a_batch_of_any_codec() {
    for seed in 1..200 {
        let mut random = Random::new(seed);
        let codec = Compression::from_id((seed % 5) as i16);
        let count = 1 + random.below(20) as usize;
        let records: Vec<_> = (0..count).map(|_| arbitrary_record(&mut random)).collect();
        let mut builder = BatchBuilder::new(0);
        let mut size = builder.size();
        for (timestamp, key, value, headers) in &records {
            let headers: Vec<_> = headers
                .iter()
                .map(|(key, value)| (&key[..], value.as_deref()))
                .collect();
            builder.push_with_headers(*timestamp, key.as_deref(), value.as_deref(), &headers);
            assert!(builder.size() > size);
            size = builder.size();
        }
        let plain = builder.clone().build();
        assert_eq!((plain.len(), builder.len()), (size, count));
        let batch = match codec {
            Compression::None => plain,
            codec => builder.build_compressed(codec).unwrap(),
        };
        let header: BatchHeader = validate_for_append(&batch).unwrap();
        assert_eq!(
            (header.compression(), header.next_offset()),
            (codec, count as i64)
        );
        let found: Vec<Parts> = RecordIter::new(&batch)
            .unwrap()
            .map(|record| {
                let record = record.unwrap();
                let headers = record.headers.iter().map(|header| {
                    (
                        header.key.to_vec(),
                        header.value.map(|value| value.to_vec()),
                    )
                });
                let key = record.key.as_ref().map(|key| key.to_vec());
                let value = record.value.as_ref().map(|value| value.to_vec());
                (record.timestamp, key, value, headers.collect())
            })
            .collect();
        assert_eq!(found, records, "seed {seed}");
        let mut views = RecordIter::new(&batch).unwrap();
        for (timestamp, key, value, headers) in &records {
            let view = views.next_view().unwrap().unwrap();
            assert_eq!(
                (view.timestamp, view.key, view.value),
                (*timestamp, key.as_deref(), value.as_deref())
            );
            let found: Vec<_> = view.headers().collect();
            assert_eq!(
                (found.len(), view.header_count),
                (headers.len(), headers.len())
            );
        }
        assert!(views.next_view().is_none());
    }
}
