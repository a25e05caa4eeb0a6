//! What a script runs against: the cores in this process, or a server behind a socket.

use ackord_machine::{Limits, LogId};
use ackord_proto::uuid::Uuid;
use bytes::Bytes;

use crate::core_arm::WALL_START_MS;
use crate::script::{Keep, Needs, Pairs, Step, StorageStep};
use crate::traffic::Traffic;

/// What came from the broker on one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// The broker closed the connection.
    Closed,
    /// One whole frame without its size.
    Frame(Bytes),
    /// Nothing yet.
    Waiting,
}

/// Offsets of a share partition that are in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateRange {
    /// First offset.
    pub first: i64,
    /// Last offset.
    pub last: i64,
    /// Kafka's name of the delivery state, or TX_PENDING (KIP-1289).
    pub state: String,
    /// Deliveries so far.
    pub delivery_count: i16,
}

/// A share partition as somebody outside sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareView {
    /// Everything below is done.
    pub start: i64,
    /// Ascending. Offsets behind the last range were never delivered.
    pub ranges: Vec<StateRange>,
    /// Whether records that a member or a transaction holds are shown; else they look available.
    pub shows_held: bool,
}

impl ShareView {
    /// State and delivery count of an offset; DONE and no count below the start.
    pub fn state_of(&self, offset: i64) -> (&str, Option<i16>) {
        if offset < self.start {
            return ("DONE", None);
        }
        let holds = |range: &&StateRange| range.first <= offset && offset <= range.last;
        match self.ranges.iter().find(holds) {
            Some(range) => (&range.state, Some(range.delivery_count)),
            None => ("AVAILABLE", Some(0)),
        }
    }

    /// The first offset that is not done. Where only what is stored is seen, the start offset may lag
    /// behind it: Kafka moves that with the next acknowledgement.
    pub fn first_open(&self) -> i64 {
        if self.shows_held {
            return self.start;
        }
        let past = |start: i64, range: &StateRange| match range.state.as_str() {
            "ACKNOWLEDGED" | "ARCHIVED" if range.first <= start => start.max(range.last + 1),
            _ => start,
        };
        self.ranges.iter().fold(self.start, past)
    }

    /// Whether the record is never delivered again.
    pub fn is_done(&self, offset: i64) -> bool {
        matches!(
            self.state_of(offset).0,
            "DONE" | "ACKNOWLEDGED" | "ARCHIVED"
        )
    }
}

/// Bounds of a broker by the names that scripts give them.
///
/// # Errors
/// A name that scripts do not have, or no number.
pub fn limits(pairs: &Pairs) -> Result<Limits, String> {
    let mut limits = Limits {
        // Hours pass while clients sit still.
        idle_ms: None,
        ..Default::default()
    };
    for (name, value) in pairs {
        let number = value
            .parse()
            .map_err(|_| format!("`{value}` is no limit"))?;
        match name.as_str() {
            "checkpoint.appends" => limits.checkpoint_appends = number,
            "tail.bytes" => {
                limits.tail_bytes = usize::try_from(number).unwrap_or(usize::MAX);
                limits.tail_bytes_per_log = limits.tail_bytes;
            }
            other => return Err(format!("there is no limit `{other}`")),
        }
    }
    Ok(limits)
}

/// Configurations of the broker of a script before its own: without them a member would wait for the
/// assignment that the one before it has begun an interval with.
const UNLESS_IT_SAYS: [(&str, &str); 2] = [
    ("group.consumer.assignment.interval.ms", "0"),
    ("group.share.assignment.interval.ms", "0"),
];

/// All configurations of the broker of a script that has these of its own.
pub fn broker_configs(own: &Pairs) -> Pairs {
    let before = UNLESS_IT_SAYS.map(|(name, value)| (name.to_string(), value.to_string()));
    before.into_iter().chain(own.iter().cloned()).collect()
}

/// Who carries out a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The runner, by requests.
    No,
    /// The arm has created a topic; its id.
    Topic(Uuid),
    /// The arm has carried it out.
    Yes,
}

/// A broker under test. Clients are named; the first request of a name opens its connection.
pub trait Arm {
    /// Why this arm cannot run a script with such steps; `None` where it can.
    fn refuses(&self, needs: Needs) -> Option<&'static str>;

    /// Starts the broker, where it is not running by itself.
    ///
    /// # Errors
    /// It does not start.
    fn start(&mut self, configs: &Pairs, limits: &Pairs) -> Result<(), String>;

    /// Carries a step out in another way than by the requests of the runner, where the arm has one.
    ///
    /// # Errors
    /// What is not as it has to be.
    fn take(&mut self, _step: &Step) -> Result<Taken, String> {
        Ok(Taken::No)
    }

    /// Appended to each name of a topic, group or transactional id.
    fn suffix(&self) -> String {
        String::new()
    }

    /// The wall clock at the start of the script, in milliseconds since the Unix epoch: what is
    /// produced is as old as that, and a broker with a clock of its own deletes what is too old.
    fn wall_start_ms(&self) -> i64 {
        WALL_START_MS
    }

    /// How long a fetch that must bring something may wait, in milliseconds.
    fn patience_ms(&self) -> i32 {
        0
    }

    /// Whether what was done may be visible only a moment later.
    fn settles(&self) -> bool {
        false
    }

    /// Gives the broker a moment before the same is asked again.
    fn pause(&mut self) {}

    /// Sends one frame (with its size) on the connection of a client.
    ///
    /// # Errors
    /// No connection.
    fn send(&mut self, client: &str, frame: &[Bytes]) -> Result<(), String>;

    /// The next frame on the connection of a client, waiting for it where that makes sense.
    ///
    /// # Errors
    /// Nothing came in time, or the stream is broken.
    fn receive(&mut self, client: &str) -> Result<Received, String>;

    /// Whether [`poll`](Arm::poll) knows that nothing came, or only that nothing came so far.
    fn sees_waiting(&self) -> bool {
        true
    }

    /// Whether something came already.
    fn poll(&mut self, client: &str) -> Received;

    /// Has a client open its connection as somebody, perhaps from another address; one that is open
    /// is cut.
    ///
    /// # Errors
    /// Nobody can be told who speaks, or the principal is none.
    fn opens_as(
        &mut self,
        _client: &str,
        _principal: &str,
        _host: Option<&str>,
    ) -> Result<(), String> {
        Err("connections here are of nobody in particular".to_string())
    }

    /// Cuts the connection of a client.
    ///
    /// # Errors
    /// The broker broke its contract.
    fn disconnect(&mut self, client: &str) -> Result<(), String>;

    /// Lets time pass, stopping at each deadline on the way.
    ///
    /// # Errors
    /// The arm has no clock to turn.
    fn advance(&mut self, millis: u64) -> Result<(), String>;

    /// Holds, releases or breaks storage.
    ///
    /// # Errors
    /// The arm has no hold of storage.
    fn storage(&mut self, step: &StorageStep) -> Result<(), String>;

    /// Records with offsets in `gone`, firsts and lasts, leave the stored copy of a log.
    ///
    /// # Errors
    /// The arm has no hold of storage.
    fn compact(&mut self, log: LogId, gone: &[(i64, i64)]) -> Result<(), String> {
        let _ = (log, gone);
        Err("the store of a server is not compacted".to_string())
    }

    /// Ends the broker at once; of the storage operations under way `keep` survive.
    ///
    /// # Errors
    /// The arm cannot do that.
    fn crash(&mut self, keep: Keep) -> Result<(), String>;

    /// Starts it again on what is stored, the wall clock moved by so many milliseconds.
    ///
    /// # Errors
    /// It does not come up.
    fn restart(&mut self, wall_shift_ms: i64) -> Result<(), String>;

    /// Whether the broker has to be started again.
    fn is_down(&self) -> bool {
        false
    }

    /// Delivery states, where they can be seen without a request.
    fn share_view(&self, group: &str, topic: Uuid, partition: i32) -> Option<ShareView>;

    /// What is ongoing, prepared or pending, where that can be seen without a request.
    fn open_items(&self) -> Option<Vec<String>>;

    /// State of a transactional id, where that can be seen without a request.
    fn transaction_state(&self, transactional_id: &str) -> Option<String>;

    /// The sum of a metric's figures that have all these labels, where metrics can be seen.
    fn metric(&self, name: &str, labels: &[(String, String)]) -> Option<i64> {
        let _ = (name, labels);
        None
    }

    /// Storage operations that were carried out, where they are counted.
    fn operations(&self) -> usize {
        0
    }

    /// The first offset of a log, where that can be seen without a request; `None` too where there is
    /// no such log.
    fn log_start(&self, _topic: Uuid, _partition: i32) -> Option<i64> {
        None
    }

    /// What went over the connections, where that is kept.
    fn traffic(&self) -> Option<&Traffic> {
        None
    }

    /// What happened since the last call, for the transcript.
    fn take_log(&mut self) -> Vec<String>;
}
