//! What is to go wrong at which operation.

use std::collections::BTreeMap;
use std::fmt;

use ackord_machine::{OpKind, StorageFault};

use crate::script::AppendFault;

/// What is planned for one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// The broker ends.
    Crash(Crash),
    /// It fails; what changes nothing cannot have landed.
    Fail(AppendFault),
}

/// How far an operation is when the broker ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// Nothing of it is carried out.
    Before,
    /// The broker is told of it; what follows from that reaches clients, and the store in vain.
    Told,
    /// It is carried out, and so are the next `kept` of those that were issued; the broker is told of
    /// none.
    Untold {
        /// Operations behind it.
        kept: usize,
    },
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Plan::Crash(Crash::Before) => f.write_str("is not begun: crash"),
            Plan::Crash(Crash::Told) => f.write_str("is answered: crash"),
            Plan::Crash(Crash::Untold { kept }) => write!(f, "and {kept} more are stored: crash"),
            Plan::Fail(AppendFault { fault, landed }) => {
                let landed = if *landed { " landed" } else { "" };
                write!(f, "fails: {fault}{landed}")
            }
        }
    }
}

/// The kind of an operation, as far as its faults depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Append.
    Append,
    /// Checkpoint, drop, trim.
    Change,
    /// Find, list, read.
    Look,
    /// Load.
    Load,
}

impl Kind {
    pub(crate) fn of(kind: &OpKind) -> Self {
        match kind {
            OpKind::Append { .. } => Kind::Append,
            OpKind::Checkpoint { .. } | OpKind::DropLog { .. } | OpKind::Trim { .. } => {
                Kind::Change
            }
            OpKind::Find { .. } | OpKind::List | OpKind::Read { .. } => Kind::Look,
            OpKind::Load { .. } => Kind::Load,
        }
    }

    /// Every way in which a store can fail such an operation. What follows another one that failed
    /// gets `Conflict` besides.
    pub fn faults(self) -> &'static [AppendFault] {
        const fn lost(fault: StorageFault) -> AppendFault {
            AppendFault {
                fault,
                landed: false,
            }
        }
        const CHANGES: [AppendFault; 5] = [
            lost(StorageFault::Retriable),
            lost(StorageFault::Indeterminate),
            AppendFault {
                fault: StorageFault::Indeterminate,
                landed: true,
            },
            lost(StorageFault::Full),
            lost(StorageFault::Corrupt),
        ];
        const LOOKS: [AppendFault; 2] =
            [lost(StorageFault::Retriable), lost(StorageFault::Corrupt)];
        match self {
            Kind::Append | Kind::Change => &CHANGES,
            Kind::Load | Kind::Look => &LOOKS,
        }
    }
}

/// One operation that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// What it was.
    pub kind: Kind,
    /// How many were issued behind it.
    pub behind: usize,
}

/// Plans by the number of an operation, from 0 in the order in which they are carried out.
#[derive(Clone, Debug, Default)]
pub(super) struct Plans {
    operations: usize,
    at: BTreeMap<usize, Plan>,
    appends: usize,
    at_append: BTreeMap<usize, AppendFault>,
    crash_due: Option<Crash>,
    trace: Option<Vec<Traced>>,
}

impl Plans {
    pub(super) fn add(&mut self, operation: usize, plan: Plan) {
        self.at.insert(operation, plan);
    }

    pub(super) fn add_at_append(&mut self, ahead: usize, fault: AppendFault) {
        self.at_append.insert(self.appends + ahead, fault);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    pub(super) fn operations(&self) -> usize {
        self.operations
    }

    pub(super) fn appends(&self) -> usize {
        self.appends
    }

    pub(super) fn forget(&mut self) {
        self.at.clear();
        self.at_append.clear();
        self.crash_due = None;
    }

    pub(super) fn record(&mut self) {
        self.trace = Some(Vec::new());
    }

    pub(super) fn trace(&self) -> &[Traced] {
        self.trace.as_deref().unwrap_or_default()
    }

    pub(super) fn take_crash(&mut self) -> Option<Crash> {
        self.crash_due.take()
    }

    /// The next operation begins: what is planned for it. `None` where the broker ends before it.
    pub(super) fn begin(&mut self, kind: &OpKind, behind: usize) -> Option<Option<AppendFault>> {
        let kind = Kind::of(kind);
        if let Some(trace) = &mut self.trace {
            trace.push(Traced { kind, behind });
        }
        let plan = self.at.remove(&self.operations);
        self.operations += 1;
        let mut fault = None;
        match plan {
            Some(Plan::Crash(crash)) => {
                self.crash_due = Some(crash);
                if crash == Crash::Before {
                    return None;
                }
            }
            Some(Plan::Fail(own)) => fault = Some(own),
            None => {}
        }
        if kind == Kind::Append {
            let own = self.at_append.remove(&self.appends);
            self.appends += 1;
            fault = fault.or(own);
        }
        Some(fault)
    }
}
