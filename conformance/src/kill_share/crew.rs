//! A producer and share consumers at work on one topic.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ackord_machine::Entropy;
use ackord_proto::api::Response;
use ackord_proto::messages::ProduceResponse;
use ackord_proto::uuid::Uuid;

use super::account::Account;
use super::member::Member;
use super::topic::{BATCH, Topic};
use crate::caller::Caller;

/// What the threads share.
pub(crate) struct Shared {
    pub(super) topic: Topic,
    pub(super) id: Uuid,
    /// How many records are still to be appended.
    to_append: AtomicI64,
    pub(super) stop: AtomicBool,
    pub(super) joined_again: AtomicU32,
    /// Why the last connection of a member ended.
    trouble: Mutex<String>,
    account: Mutex<Account>,
}

impl Shared {
    pub(crate) fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the last connection of a member ended.
    pub(crate) fn trouble(&self) -> MutexGuard<'_, String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The threads.
pub(crate) struct Crew {
    shared: Arc<Shared>,
    members: Vec<JoinHandle<()>>,
    producer: JoinHandle<()>,
}

impl Crew {
    /// Starts them; about `records` are appended.
    pub(crate) fn start(
        topic: Topic,
        id: Uuid,
        members: u32,
        records: i64,
        chance: &Entropy,
    ) -> Self {
        let shared = Arc::new(Shared {
            topic,
            id,
            to_append: AtomicI64::new(records),
            stop: AtomicBool::new(false),
            joined_again: AtomicU32::new(0),
            trouble: Mutex::default(),
            account: Mutex::default(),
        });
        let start = |number| {
            let id = format!("member-{number}");
            let member = Member::new(id.clone(), chance.fork(&id), Arc::clone(&shared));
            thread::spawn(move || member.work())
        };
        let members = (0..members).map(start).collect();
        let with = Arc::clone(&shared);
        Crew {
            members,
            producer: thread::spawn(move || produce(&with)),
            shared,
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// How often a member had to join again.
    pub(crate) fn joined_again(&self) -> u32 {
        self.shared.joined_again.load(Ordering::SeqCst)
    }

    /// Whether everything is appended.
    pub(crate) fn is_filled(&self) -> bool {
        self.producer.is_finished()
    }

    /// Nothing more is appended.
    pub(crate) fn fill_no_more(&self) {
        self.shared.to_append.store(0, Ordering::SeqCst);
    }

    /// Ends all threads.
    pub(crate) fn end(self) {
        self.fill_no_more();
        self.shared.stop.store(true, Ordering::SeqCst);
        join(self.producer);
        self.members.into_iter().for_each(join);
    }
}

fn join(thread: JoinHandle<()>) {
    if thread.join().is_err() {
        println!("a thread ended badly");
    }
}

/// Appends batches to the partitions in turn.
fn produce(shared: &Shared) {
    let mut caller = None;
    for number in 0_i32.. {
        if shared.to_append.load(Ordering::SeqCst) <= 0 {
            return;
        }
        if caller.is_none() {
            caller = Caller::connect(&shared.topic.address, "producer").ok();
        }
        let batch = shared.topic.batch(number % shared.topic.partitions);
        match caller.as_mut().map(|own| own.call(batch, 12)) {
            Some(Ok(Response::Produce(response))) if is_appended(&response) => {
                shared.to_append.fetch_sub(BATCH, Ordering::SeqCst);
            }
            Some(Ok(_)) => {}
            _ => caller = None,
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn is_appended(response: &ProduceResponse) -> bool {
    let mut parts = response
        .responses
        .iter()
        .flat_map(|topic| &topic.partition_responses);
    parts.all(|part| !part.error_code.is_error())
}
