//! What a broker's code means for a transaction.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

use crate::ClientError;

/// What to do after a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The transaction can only be aborted.
    Abort,
    /// The producer cannot go on.
    Fatal,
    /// Another producer has taken over.
    Fenced,
    /// Done.
    Fine,
    /// Send it again.
    Retry,
}

/// The request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// AddPartitionsToTxn or AddShareAcksToTxn: of the transaction coordinator.
    Register,
    /// EndTxn.
    End,
    /// InitProducerId.
    Init,
    /// Produce.
    Produce,
    /// TxnShareAcknowledge: of the group coordinator.
    Stage,
}

/// One table for all requests of a transaction.
pub(super) fn verdict(asked: Asked, code: ErrorCode) -> Verdict {
    use ErrorCode as E;
    match (asked, code) {
        (_, E::NONE) => Verdict::Fine,
        (Asked::Produce, E::DUPLICATE_SEQUENCE_NUMBER) => Verdict::Fine,
        // A leader or group coordinator only knows that the epoch is not current; whether the
        // producer was fenced or its transaction timed out shows when it aborts.
        (Asked::Produce | Asked::Stage, E::INVALID_PRODUCER_EPOCH) => Verdict::Abort,
        (_, E::INVALID_PRODUCER_EPOCH | E::PRODUCER_FENCED) => Verdict::Fenced,
        (
            _,
            E::INVALID_PRODUCER_ID_MAPPING
            | E::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            | E::CLUSTER_AUTHORIZATION_FAILED
            | E::UNSUPPORTED_VERSION
            | E::INVALID_TRANSACTION_TIMEOUT,
        ) => Verdict::Fatal,
        (_, code) if code.is_retriable() => Verdict::Retry,
        (Asked::Init, _) => Verdict::Fatal,
        _ => Verdict::Abort,
    }
}

/// The error of a verdict that is neither fine nor a retry.
pub(super) fn error(verdict: &Verdict, code: ErrorCode, message: &str) -> ClientError {
    let message = Str::from(message);
    match verdict {
        Verdict::Fatal => ClientError::Fatal { code, message },
        Verdict::Fenced => ClientError::Fenced { code },
        _ => ClientError::Abortable { code, message },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fencing_shows_at_the_coordinator_only() {
        let epoch = ErrorCode::INVALID_PRODUCER_EPOCH;
        assert_eq!(verdict(Asked::Produce, epoch), Verdict::Abort);
        assert_eq!(verdict(Asked::Stage, epoch), Verdict::Abort);
        assert_eq!(verdict(Asked::End, epoch), Verdict::Fenced);
        assert_eq!(
            verdict(Asked::Init, ErrorCode::PRODUCER_FENCED),
            Verdict::Fenced
        );
    }

    #[test]
    fn every_code_ends_in_something() {
        for asked in [
            Asked::Register,
            Asked::End,
            Asked::Init,
            Asked::Produce,
            Asked::Stage,
        ] {
            for code in ErrorCode::ALL {
                let fine = verdict(asked, *code) == Verdict::Fine;
                assert_eq!(
                    fine,
                    matches!(code.0, 0) || (asked == Asked::Produce && code.0 == 46)
                );
            }
            assert_eq!(
                verdict(asked, ErrorCode::CONCURRENT_TRANSACTIONS),
                Verdict::Retry
            );
            assert_eq!(verdict(asked, ErrorCode::NOT_COORDINATOR), Verdict::Retry);
        }
        assert_eq!(verdict(Asked::Init, ErrorCode(999)), Verdict::Fatal);
        assert_eq!(
            verdict(Asked::Stage, ErrorCode::INVALID_RECORD_STATE),
            Verdict::Abort
        );
    }
}
