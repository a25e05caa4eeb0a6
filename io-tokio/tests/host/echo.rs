//! A core that stores each frame and echoes it when it is durable.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ackord_coord_core::contract::{CloseReason, ConnId, Effect, Event, Input};
use ackord_coord_core::metrics::{MetricFamily, MetricKind};
use ackord_machine::{
    ApiMisuse, Deadline, DeadlineReason, LogAppend, LogId, MonoTime, Now, OpId, OpKind, StorageOp,
};
use ackord_server::Core;
use bytes::Bytes;

/// Frames with this content do something else than be stored.
pub(crate) const CLOSE: &[u8] = b"close";
pub(crate) const PANIC: &[u8] = b"panic";
pub(crate) const LATER: &[u8] = b"later";
/// Answered with a million bytes.
pub(crate) const LARGE: &[u8] = b"large";

const LOG: LogId = LogId {
    topic: ackord_proto::uuid::Uuid::ZERO,
    partition: 0,
};

/// What a test can see of an echo from outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) open: Arc<AtomicUsize>,
    pub(crate) frames: Arc<AtomicUsize>,
}

#[derive(Debug)]
pub(crate) struct Echo {
    effects: VecDeque<Effect>,
    /// Replies that are under way, in bytes.
    unsent: BTreeMap<ConnId, usize>,
    stored: BTreeMap<OpId, (ConnId, Bytes)>,
    later: Option<(MonoTime, ConnId)>,
    next: u64,
    end: i64,
    seen: Seen,
}

impl Echo {
    /// Ready once the store has said what it holds.
    pub(crate) fn new(seen: Seen) -> Self {
        let mut echo = Echo {
            effects: VecDeque::new(),
            unsent: BTreeMap::new(),
            stored: BTreeMap::new(),
            later: None,
            next: 0,
            end: 0,
            seen,
        };
        echo.store(OpKind::Load {
            log: LOG,
            detail: ackord_machine::LoadDetail::Headers,
        });
        echo
    }

    fn store(&mut self, kind: OpKind) -> OpId {
        let id = OpId(self.next);
        self.next += 1;
        self.effects.push_back(Effect::Store(StorageOp {
            id,
            after: None,
            kind,
        }));
        id
    }

    fn reply(&mut self, conn: ConnId, body: Bytes) {
        let Some(unsent) = self.unsent.get_mut(&conn) else {
            return;
        };
        let size = Bytes::copy_from_slice(&(body.len() as i32).to_be_bytes());
        *unsent += size.len() + body.len();
        self.effects.push_back(Effect::Send {
            conn,
            chunks: vec![size, body],
        });
    }

    fn frame(&mut self, now: Now, conn: ConnId, bytes: Bytes) {
        self.seen.frames.fetch_add(1, Ordering::SeqCst);
        match &bytes[..] {
            CLOSE => {
                self.reply(conn, bytes);
                let reason = CloseReason::BadRequest("it says so".into());
                self.effects.push_back(Effect::Close { conn, reason });
            }
            LARGE => self.reply(conn, vec![7; 1_000_000].into()),
            LATER => self.later = Some((now.mono.plus_millis(20), conn)),
            PANIC => panic!("planned by the test"),
            _ => {
                let (base, body) = (self.end, bytes.clone());
                self.end += 1;
                let part = LogAppend {
                    log: LOG,
                    base,
                    last: base,
                    head: Bytes::new(),
                    body,
                };
                let id = self.store(OpKind::Append { parts: vec![part] });
                self.stored.insert(id, (conn, bytes));
            }
        }
    }

    fn sent(&mut self, conn: ConnId, bytes: usize) -> Result<(), ApiMisuse> {
        let unsent = self
            .unsent
            .get_mut(&conn)
            .ok_or(ApiMisuse::UnknownConnection(conn.0))?;
        *unsent = unsent.checked_sub(bytes).expect("no more than was given");
        if *unsent == 0 {
            self.effects.push_back(Effect::Read { conn });
        }
        Ok(())
    }
}

impl Core for Echo {
    fn handle(&mut self, now: Now, input: Input) -> Result<(), ApiMisuse> {
        match input {
            Input::Admin(_) => self.effects.push_back(Effect::Emit(Event::Drained)),
            Input::Closed { conn } => {
                self.unsent
                    .remove(&conn)
                    .ok_or(ApiMisuse::UnknownConnection(conn.0))?;
                self.seen.open.fetch_sub(1, Ordering::SeqCst);
            }
            Input::Completed(completion) => match self.stored.remove(&completion.id) {
                Some((conn, bytes)) => self.reply(conn, bytes),
                None => {
                    let loaded = completion.outcome.expect("loaded");
                    let ackord_machine::Outcome::Loaded(loaded) = loaded else {
                        panic!()
                    };
                    self.end = loaded.end;
                    self.effects.push_back(Effect::Emit(Event::Ready));
                }
            },
            Input::Frame { conn, bytes } => self.frame(now, conn, bytes),
            Input::Opened { conn, host, .. } => {
                assert_eq!(host, "127.0.0.1");
                self.unsent.insert(conn, 0);
                self.seen.open.fetch_add(1, Ordering::SeqCst);
                self.effects.push_back(Effect::Read { conn });
            }
            Input::Sent { conn, bytes } => self.sent(conn, bytes)?,
            Input::Timeout => {
                if let Some((_, conn)) = self.later.take_if(|(at, _)| *at <= now.mono) {
                    self.reply(conn, Bytes::from_static(LATER));
                }
            }
        }
        Ok(())
    }

    fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    fn next_deadline(&self) -> Option<Deadline> {
        self.later.map(|(at, _)| Deadline {
            at,
            reason: DeadlineReason::FetchWait,
        })
    }

    fn metrics(&self, _now: Now) -> Vec<MetricFamily> {
        let served = MetricFamily::new(MetricKind::Gauge, "echo_served", "Connections.");
        vec![served.single(self.unsent.len() as i64)]
    }
}
