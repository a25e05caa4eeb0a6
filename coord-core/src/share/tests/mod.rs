//! Tests of the share coordinator, by subject.

mod merging;
mod snapshots;
