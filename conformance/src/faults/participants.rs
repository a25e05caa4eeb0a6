//! Participants of two-phase commit have no timeout: what a script leaves of them, the operator ends.

use super::{Account, END_ATTEMPTS, END_PAUSE_MS};
use crate::answers::Codes;
use crate::script::{Expected, Step, TwoPhase, Verb};
use crate::steps::Session;

/// A client that no script has.
const OPERATOR: &str = "operator-at-the-end";

impl Account {
    /// Takes note of a producer that takes part.
    pub(super) fn note_participant(&mut self, verb: &Verb) {
        if let Verb::Init {
            transactional_id,
            two_phase,
            ..
        } = verb
            && two_phase.enable
        {
            self.participants.insert(transactional_id.clone());
        }
    }

    /// Asks for each until its last transaction is over.
    pub(super) fn free_participants(&mut self, session: &mut Session<'_>) -> Result<(), String> {
        for transactional_id in core::mem::take(&mut self.participants) {
            let verb = Verb::Init {
                transactional_id,
                timeout_ms: 60_000,
                two_phase: TwoPhase::default(),
            };
            for _ in 0..END_ATTEMPTS {
                session.drain(OPERATOR);
                let _ = session.step(&Step::Client {
                    client: OPERATOR.to_string(),
                    verb: verb.clone(),
                    expected: Expected::Anything,
                });
                if session
                    .answered
                    .take()
                    .is_some_and(|codes: Codes| codes.is_success())
                {
                    break;
                }
                self.revive(session)?;
                session.arm.advance(END_PAUSE_MS)?;
            }
        }
        Ok(())
    }
}
