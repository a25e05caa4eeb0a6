//! What the host drives.

use std::any::Any;

use ackord_coord_core::contract::{Effect, Input};
use ackord_machine::{ApiMisuse, Deadline, Now};

/// A sans-IO broker: it is told what happened, asked for effects until there are none, and called
/// again when its deadline has passed.
pub trait Core: Any + Send {
    /// Tells it what happened.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse`] where the host broke the contract; nothing has changed then.
    fn handle(&mut self, now: Now, input: Input) -> Result<(), ApiMisuse>;

    /// The next thing to do.
    fn poll_effect(&mut self) -> Option<Effect>;

    /// When to come back.
    fn next_deadline(&self) -> Option<Deadline>;
}
