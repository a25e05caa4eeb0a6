//! Producer ids, reserved in blocks so that most of them cost no record.

use ackord_proto::error_code::ErrorCode;

use crate::txn::ProducerIds;

const BLOCK: i64 = 1000;

/// In place of the next id while nobody knows it.
const UNKNOWN: i64 = -1;

/// Ids that are reserved and not given out yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProducerIdBlock {
    next: i64,
    end: i64,
    /// A reservation up to here has to be stored before anything that uses its ids.
    unstored: Option<i64>,
}

impl ProducerIdBlock {
    /// Goes on behind what was reserved before; ids of the last block that were not used are lost.
    pub(crate) fn resume(reserved: i64) -> Self {
        ProducerIdBlock {
            next: reserved,
            end: reserved,
            unstored: None,
        }
    }

    /// What was reserved is unknown: no id is given out until it is read back.
    pub(crate) fn forget(&mut self) {
        *self = ProducerIdBlock {
            next: UNKNOWN,
            end: UNKNOWN,
            unstored: None,
        };
    }

    /// The reservation that has to be stored now, if one was made.
    pub(crate) fn take_reservation(&mut self) -> Option<i64> {
        self.unstored.take()
    }
}

impl ProducerIds for ProducerIdBlock {
    fn next(&mut self) -> Result<i64, ErrorCode> {
        if self.next == UNKNOWN {
            return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        }
        if self.next == self.end {
            self.end = self
                .next
                .checked_add(BLOCK)
                .ok_or(ErrorCode::COORDINATOR_NOT_AVAILABLE)?;
            self.unstored = Some(self.end);
        }
        let id = self.next;
        self.next += 1;
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_is_given_out_while_reservations_are_unknown() {
        let mut ids = ProducerIdBlock::resume(5000);
        ids.next().unwrap();
        ids.forget();
        assert_eq!(ids.next(), Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
        assert_eq!(ids.take_reservation(), None);
    }

    #[test]
    fn a_block_is_reserved_once_and_ids_never_repeat() {
        let mut ids = ProducerIdBlock::resume(5000);
        assert_eq!(ids.next(), Ok(5000));
        assert_eq!(ids.take_reservation(), Some(6000));
        assert_eq!(ids.next(), Ok(5001));
        assert_eq!(ids.take_reservation(), None);
        for _ in 2..BLOCK {
            ids.next().unwrap();
        }
        assert_eq!(ids.next(), Ok(6000));
        assert_eq!(ids.take_reservation(), Some(7000));
    }
}
