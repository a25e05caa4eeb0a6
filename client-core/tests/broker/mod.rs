//! The clients against the broker itself, for any runtime: each adapter includes this and runs the
//! cases on its own.

mod acknowledging;
mod bench;
mod cancelling;
mod copying;
mod falling_back;

pub(crate) use acknowledging::{
    an_acknowledger_without_output, an_explicit_consumer_accepts_releases_and_rejects,
    results_of_acknowledgements_are_told, the_stream_of_an_implicit_consumer,
    what_an_acknowledger_prepared_is_completed_by_the_next,
};
pub(crate) use cancelling::{
    a_client_of_nobody_ends_in_time, a_dropped_commit_still_commits, dropped_polls_lose_nothing,
};
pub(crate) use copying::{
    a_second_producer_fences_the_first,
    a_worker_that_aborts_every_third_time_copies_each_record_once,
};
pub(crate) use falling_back::an_older_broker_is_told_apart_or_fallen_back_from;
