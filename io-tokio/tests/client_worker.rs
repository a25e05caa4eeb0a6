//! The client on tokio against the broker itself.

#[path = "../../client-core/tests/broker/mod.rs"]
mod broker;

use ackord_io_tokio::client::Tokio;

const BROKER: &str = env!("CARGO_BIN_EXE_ackord");

macro_rules! cases {
    ($($case:ident($($program:expr)?);)*) => {
        $(
            #[tokio::test]
            async fn $case() {
                broker::$case::<Tokio>($($program)?).await;
            }
        )*
    };
}

cases! {
    a_client_of_nobody_ends_in_time();
    a_dropped_commit_still_commits(BROKER);
    a_second_producer_fences_the_first(BROKER);
    a_worker_that_aborts_every_third_time_copies_each_record_once(BROKER);
    an_acknowledger_without_output(BROKER);
    an_older_broker_is_told_apart_or_fallen_back_from(BROKER);
    an_explicit_consumer_accepts_releases_and_rejects(BROKER);
    dropped_polls_lose_nothing(BROKER);
    results_of_acknowledgements_are_told(BROKER);
    the_stream_of_an_implicit_consumer(BROKER);
    what_an_acknowledger_prepared_is_completed_by_the_next(BROKER);
}
