//! The thread that reads.

use std::sync::Arc;

use ackord_machine::{Completion, OpKind, Outcome, StorageFault};

use crate::engine::{View, guarded};
use crate::queue::Queue;
use crate::store::{Events, StoreEvent};

/// Answers reads until the store closes.
pub(crate) fn run(queue: &Queue, events: &Events) {
    while let Some((read, view)) = queue.take_read() {
        let outcome = guarded(
            || StorageFault::Corrupt,
            || answer(view.as_ref(), read.kind),
        );
        let idle = queue.return_view(view);
        events(StoreEvent::Completed(Completion {
            id: read.id,
            outcome,
        }));
        events(StoreEvent::Settled { idle });
    }
}

fn answer(view: Option<&Arc<dyn View>>, kind: OpKind) -> Result<Outcome, StorageFault> {
    let view = view.ok_or(StorageFault::Retriable)?;
    match kind {
        OpKind::Find {
            log,
            from,
            timestamp,
        } => view.find(log, from, timestamp).map(Outcome::Found),
        OpKind::List => view.list().map(Outcome::Listed),
        OpKind::Load { log, detail } => view.load(log, detail).map(Outcome::Loaded),
        OpKind::Read {
            log,
            from,
            max_bytes,
        } => view.read(log, from, max_bytes).map(Outcome::Read),
        // The queue gives these to the writer.
        OpKind::Append { .. }
        | OpKind::Checkpoint { .. }
        | OpKind::DropLog { .. }
        | OpKind::Trim { .. } => Err(StorageFault::Retriable),
    }
}
