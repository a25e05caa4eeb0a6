//! Scripts said by our own client: what the steps ask of a producer, a member or an operator is
//! done with the public handles of the client library, on a runtime, against a server in this
//! process whose clock is turned by hand. The client's own clock goes on by itself; a script that
//! turns the server's finds the client standing still, as after a long pause of its machine.

mod members;
mod readers;
mod senders;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use ackord_client_core::client::{Producer, Runtime, ShareConsumer};
use ackord_client_core::{
    ClientError, ConfigResource, ConsumerRecord, Endpoint, GapRange, PolledRecords,
    ShareGroupMetadata,
};
use ackord_conformance::arm::{Arm, Received, ShareView, Taken};
use ackord_conformance::client_speech::{Reader, Speech};
use ackord_conformance::frame_stream::FrameStream;
use ackord_conformance::script::{Expected, Fact, Keep, Needs, Pairs, Step, StorageStep, Verb};
use ackord_conformance::transcript::FrameText;
use ackord_coord_core::contract::ConnId;
use ackord_proto::uuid::Uuid;
use ackord_server::{Errand, Rest};
use bytes::Bytes;
use futures_channel::oneshot;

use crate::Serve;
use crate::server_arm::ServerArm;
use readers::done;

/// Longer than anything takes that comes at all.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a poll asks that shall bring nothing.
const EMPTY_POLL: Duration = Duration::from_millis(20);
/// Looks in a row at which nothing moved.
const QUIET_LOOKS: usize = 20;

/// A runtime that a test can enter.
pub(crate) trait Entered: Runtime {
    /// Runs a future to its end, its tasks on the runtime.
    fn block_on<T>(future: impl Future<Output = T>) -> T;
}

/// How members take records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taking {
    Polls,
    Stream,
}

/// A producer with its application.
struct Sender<R> {
    producer: Producer<R>,
    /// What the script expects of the registration that comes with the next stage.
    registration: Option<Expected>,
}

/// A share consumer with its application.
struct Member<R> {
    consumer: Arc<ShareConsumer<R>>,
    group: ShareGroupMetadata,
    records: BTreeMap<(String, i32, i64), ConsumerRecord>,
    gaps: Vec<GapRange>,
    /// A poll that has not come back.
    waits: Option<oneshot::Receiver<Result<PolledRecords, ClientError>>>,
}

/// See the module.
pub(crate) struct ClientArm<R> {
    server: ServerArm,
    taking: Taking,
    speech: Speech,
    senders: BTreeMap<String, Sender<R>>,
    members: BTreeMap<String, Member<R>>,
    /// Connections that were seen, with the client whose step brought them.
    conns: BTreeMap<ConnId, String>,
    /// What the library has no call for: records outside of transactions.
    raw: BTreeMap<String, FrameStream>,
    frames: FrameText,
    log: Vec<String>,
}

impl<R: Entered> ClientArm<R> {
    pub(crate) fn new(serve: Serve, taking: Taking, speech: Speech) -> Self {
        // The clients stamp their records by the clock of the machine.
        let wall = UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
        let wall_millis = i64::try_from(wall).unwrap_or(i64::MAX);
        ClientArm {
            server: ServerArm::at(serve, wall_millis),
            taking,
            speech,
            senders: BTreeMap::new(),
            members: BTreeMap::new(),
            conns: BTreeMap::new(),
            raw: BTreeMap::new(),
            frames: FrameText::default(),
            log: Vec::new(),
        }
    }

    fn reader(&self, client: &str) -> Reader {
        self.speech.readers.get(client).copied().unwrap_or_default()
    }

    fn bootstrap(&self) -> Result<[Endpoint; 1], String> {
        let address = self.server.address().ok_or("the broker is down")?;
        let endpoint = address.parse();
        Ok([endpoint.map_err(|error| format!("{address}: {error}"))?])
    }

    fn rest(&mut self) -> Result<Rest, String> {
        self.server.rest(Errand::default())
    }

    /// Waits until every request of the clients has its answer, and none is on its way.
    fn settle(&mut self) -> Result<(), String> {
        let (mut quiet, mut last) = (0, None);
        while quiet < QUIET_LOOKS {
            let rest = self.rest()?;
            let open = rest.exchanges.values().filter(|own| !own.gone);
            let open: Vec<_> = open.map(|own| (own.frames, own.replies)).collect();
            let answered = open.iter().all(|(frames, replies)| frames == replies);
            quiet = match answered && last.as_ref() == Some(&open) {
                true => quiet + 1,
                false => 0,
            };
            last = Some(open);
        }
        Ok(())
    }

    /// Whose step brought which connections.
    fn attribute(&mut self, client: &str) -> Result<(), String> {
        for conn in self.rest()?.exchanges.into_keys() {
            self.conns.entry(conn).or_insert_with(|| client.to_string());
        }
        Ok(())
    }

    fn client(&mut self, client: &str, verb: &Verb, expected: &Expected) -> Result<Taken, String> {
        // What came since the last step belongs to nobody here.
        self.attribute("")?;
        match verb {
            Verb::Produce { .. } => return Ok(Taken::No),
            Verb::Read {
                partitions, from, ..
            } => self.read(partitions, *from, expected)?,
            Verb::Init {
                transactional_id,
                timeout_ms,
                ..
            } => self.init(client, transactional_id, *timeout_ms, expected)?,
            Verb::Begin
            | Verb::Send { .. }
            | Verb::AddShareAcks { .. }
            | Verb::Stage { .. }
            | Verb::EndTxn { .. } => self.transaction(client, verb, expected)?,
            Verb::Join { group, topics } => self.join(client, group, topics, expected)?,
            Verb::Fetch { acks, .. } => {
                self.acknowledge(client, acks)?;
                self.fetch(client, expected)?;
            }
            Verb::Ack(acks) => {
                self.acknowledge(client, acks)?;
                self.commit_sync(client, expected)?;
            }
            Verb::Answer => self.answer(client, expected)?,
            Verb::Leave => {
                let member = self.members.remove(client).ok_or("no such member")?;
                let consumer = Arc::into_inner(member.consumer).ok_or("a poll is under way")?;
                R::block_on(consumer.close()).map_err(said)?;
            }
            Verb::Disconnect => self.vanish(client)?,
            other => return Err(format!("{other:?} is no call of the client")),
        }
        self.attribute(client)?;
        Ok(Taken::Yes)
    }

    /// The process of a member ends without a word.
    fn vanish(&mut self, client: &str) -> Result<(), String> {
        drop(self.members.remove(client));
        let own = self.conns.iter().filter(|(_, owner)| *owner == client);
        let cut = own.map(|(conn, _)| *conn).collect();
        let gone = Errand {
            cut,
            ..Errand::default()
        };
        self.server.rest(gone).map(drop)
    }
}

fn said(error: ClientError) -> String {
    format!("the client says: {error:?}")
}

impl<R: Entered> Arm for ClientArm<R> {
    fn refuses(&self, needs: Needs) -> Option<&'static str> {
        self.server.refuses(needs)
    }

    fn start(&mut self, configs: &Pairs, limits: &Pairs) -> Result<(), String> {
        self.server.start(configs, limits)
    }

    fn take(&mut self, step: &Step) -> Result<Taken, String> {
        match step {
            Step::Client {
                client,
                verb,
                expected,
            } => {
                self.log.push(format!("  {client} calls"));
                self.client(client, verb, expected)
            }
            Step::DeleteTopic { name, .. } => self.administer(async |admin| {
                done(admin.delete_topics([name.as_str()]).await?)?;
                Ok(Taken::Yes)
            }),
            Step::Expect(Fact::Visible { partition, values }) => {
                let wanted = vec![(partition.clone(), values.clone())];
                let partitions = std::slice::from_ref(partition);
                self.read(partitions, 0, &Expected::Values(wanted))?;
                Ok(Taken::Yes)
            }
            Step::Group { name, configs } => {
                let resource = ConfigResource::Group(name.as_str().into());
                let configs = configs.iter();
                let configs = configs
                    .map(|(name, value)| (name.into(), Some(value.into())))
                    .collect();
                self.administer(async |admin| {
                    admin.incremental_alter_configs(resource, configs).await
                })?;
                Ok(Taken::Yes)
            }
            Step::Topic {
                name,
                partitions,
                configs,
            } => self.create(name, *partitions, configs).map(Taken::Topic),
            _ => Ok(Taken::No),
        }
    }

    fn send(&mut self, client: &str, frame: &[Bytes]) -> Result<(), String> {
        let whole = frame.concat();
        let request = Bytes::copy_from_slice(&whole[4..]);
        let text = self.frames.request(client, &request);
        self.log.push(format!("  {text}"));
        let address = self.server.address().ok_or("the broker is down")?;
        if !self.raw.contains_key(client) {
            let stream = FrameStream::connect(&address)?;
            self.raw.insert(client.to_string(), stream);
        }
        let stream = self.raw.get_mut(client).ok_or("no connection")?;
        stream.send(&whole)
    }

    fn receive(&mut self, client: &str) -> Result<Received, String> {
        let stream = self.raw.get_mut(client).ok_or("no connection")?;
        let received = stream.receive()?;
        if let Received::Frame(frame) = &received {
            let text = self.frames.response(client, frame);
            self.log.push(format!("  {text}"));
        }
        Ok(received)
    }

    fn poll(&mut self, client: &str) -> Received {
        self.receive(client).unwrap_or(Received::Closed)
    }

    fn disconnect(&mut self, client: &str) -> Result<(), String> {
        drop(self.raw.remove(client));
        Ok(())
    }

    fn advance(&mut self, millis: u64) -> Result<(), String> {
        self.server.advance(millis)
    }

    fn storage(&mut self, step: &StorageStep) -> Result<(), String> {
        self.server.storage(step)
    }

    /// The clients live on; they connect again by themselves.
    fn crash(&mut self, keep: Keep) -> Result<(), String> {
        self.raw.clear();
        self.conns.clear();
        self.server.crash(keep)
    }

    fn restart(&mut self, wall_shift_ms: i64) -> Result<(), String> {
        self.server.restart(wall_shift_ms)
    }

    fn is_down(&self) -> bool {
        self.server.is_down()
    }

    fn share_view(&self, group: &str, topic: Uuid, partition: i32) -> Option<ShareView> {
        self.server.share_view(group, topic, partition)
    }

    fn open_items(&self) -> Option<Vec<String>> {
        self.server.open_items()
    }

    fn transaction_state(&self, transactional_id: &str) -> Option<String> {
        self.server.transaction_state(transactional_id)
    }

    fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }
}
