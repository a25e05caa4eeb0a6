//! The oracle of the dead letter queue (KIP-1191): what a group gives up is there, once, and what it
//! acknowledged is not.

use std::collections::{BTreeMap, BTreeSet};

use ackord_proto::error_code::ErrorCode;
use ackord_proto::records::{BatchIter, Record, RecordIter};
use bytes::Bytes;

use super::actors::QUEUE;
use super::ctx::Ctx;
use super::ledger::{Ledger, ShareRecord};
use super::wire;
use crate::sim_call;

/// A copy in the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Letter {
    /// Value of the record.
    pub value: Option<String>,
    /// The delivery limit was the reason, not a reject.
    pub at_limit: bool,
}

/// Copies by the records that they are of.
pub type Letters = BTreeMap<ShareRecord, Vec<Letter>>;

/// How a record ended, as far as its clients know.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// Types with which it ended for certain.
    pub surely: BTreeSet<i8>,
    /// Types with which it may have ended.
    pub perhaps: BTreeSet<i8>,
    /// It had as many deliveries as there may be.
    pub at_limit: bool,
}

impl Ending {
    fn is_accepted(&self) -> bool {
        self.surely.contains(&0) || self.surely.contains(&1)
    }

    /// Somebody or something ended the record, where the group has no queue.
    pub fn is_explained(&self) -> bool {
        self.at_limit || !self.surely.is_empty() || !self.perhaps.is_empty()
    }

    /// What is wrong with a record of a group that has a queue; `value` where the end of the run sees
    /// one.
    pub fn judge(
        &self,
        letters: &[Letter],
        value: Option<&String>,
        copies: bool,
    ) -> Option<String> {
        let rejected = self.surely.contains(&3);
        let Some(letter) = letters.first() else {
            let accepted = self.is_accepted() || self.perhaps.iter().any(|kind| *kind != 3);
            return match value {
                _ if rejected => Some("was rejected and is not in the queue".to_string()),
                Some(_) if !accepted => Some("is done, and nobody finished it".to_string()),
                _ => None,
            };
        };
        let wanted = value.filter(|_| copies);
        if letters.len() > 1 {
            Some(format!("is in the queue {} times", letters.len()))
        } else if self.is_accepted() {
            Some("was acknowledged and is in the queue".to_string())
        } else if letter.at_limit && !self.at_limit {
            Some("is in the queue before its deliveries were used up".to_string())
        } else if !letter.at_limit && !rejected && !self.perhaps.contains(&3) {
            Some("is in the queue as rejected, and nobody rejected it".to_string())
        } else if value.is_some() && letter.value.as_ref() != wanted {
            Some(format!("is in the queue as {letter:?}, and was {value:?}"))
        } else {
            None
        }
    }
}

/// Reads all of the queue.
pub async fn read(ctx: Ctx, partitions: i32) {
    for partition in 0..partitions {
        if let Err(error) = read_partition(&ctx, partition).await {
            let problem = format!("{QUEUE}-{partition}: {error}");
            ctx.ledger.borrow_mut().problem(problem);
        }
    }
}

async fn read_partition(ctx: &Ctx, partition: i32) -> Result<(), String> {
    let mut from = 0;
    loop {
        let request = wire::read_from(QUEUE, partition, from);
        let response = sim_call!(ctx, Fetch v 12, request);
        let response = response.map_err(|_| "nobody can read".to_string())?;
        let mut parts = response.responses.iter().flat_map(|own| &own.partitions);
        let part = parts.next().ok_or("no answer")?;
        if part.error_code != ErrorCode::NONE {
            return Err(format!("{}", part.error_code));
        }
        let bytes = part.records.as_ref().map(|records| records.to_bytes());
        let next = take(&mut ctx.ledger.borrow_mut(), bytes.unwrap_or_default())?;
        match next {
            Some(next) => from = next,
            None if from >= part.high_watermark => return Ok(()),
            None => return Err(format!("nothing at {from} of {}", part.high_watermark)),
        }
    }
}

/// Takes letters down; returns where the rest begins.
fn take(ledger: &mut Ledger, bytes: Bytes) -> Result<Option<i64>, String> {
    let mut next = None;
    for batch in BatchIter::new(bytes).flatten() {
        next = Some(batch.header.last_offset() + 1);
        let records = RecordIter::new(&batch.bytes).map_err(|error| error.to_string())?;
        for record in records {
            let record = record.map_err(|error| error.to_string())?;
            let (of, letter) = letter(&record).ok_or(format!("no dead letter: {record:?}"))?;
            ledger.letters.entry(of).or_default().push(letter);
        }
    }
    Ok(next)
}

fn letter(record: &Record) -> Option<(ShareRecord, Letter)> {
    let header = |name: &str| {
        let mut headers = record.headers.iter();
        let header = headers.find(|own| own.key == format!("__dlq.errors.{name}"))?;
        String::from_utf8(header.value?.to_vec()).ok()
    };
    let partition = (header("topic")?, header("partition")?.parse().ok()?);
    let of = (header("group")?, partition, header("offset")?.parse().ok()?);
    let value = record.value.as_ref();
    let letter = Letter {
        value: value.map(|value| String::from_utf8_lossy(value).into_owned()),
        at_limit: !header("message")?.contains("rejected"),
    };
    Some((of, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(surely: &[i8], perhaps: &[i8], at_limit: bool) -> Ending {
        Ending {
            surely: surely.iter().copied().collect(),
            perhaps: perhaps.iter().copied().collect(),
            at_limit,
        }
    }

    #[test]
    fn a_letter_has_to_be_there_once_and_for_a_reason() {
        let value = "v".to_string();
        let judge = |ending: &Ending, letters: &[Letter]| {
            ending.judge(letters, Some(&value), true).is_none()
        };
        let letter = |at_limit| Letter {
            value: Some(value.clone()),
            at_limit,
        };
        assert!(judge(&ending(&[3], &[], false), &[letter(false)]));
        assert!(judge(&ending(&[], &[3], false), &[letter(false)]));
        assert!(judge(&ending(&[], &[], true), &[letter(true)]));
        assert!(judge(&ending(&[1], &[3], true), &[]));
        assert!(judge(&ending(&[], &[1], false), &[]));
        // Lost, doubled, of another cause, or of another value.
        assert!(!judge(&ending(&[3], &[], false), &[]));
        assert!(!judge(&ending(&[], &[], true), &[]));
        assert!(!judge(
            &ending(&[3], &[], true),
            &[letter(false), letter(false)]
        ));
        assert!(!judge(&ending(&[1], &[], true), &[letter(true)]));
        assert!(!judge(&ending(&[], &[3], false), &[letter(true)]));
        assert!(!judge(&ending(&[], &[1], true), &[letter(false)]));
        assert!(!judge(&ending(&[3], &[], false), &[Letter::default()]));
    }
}
