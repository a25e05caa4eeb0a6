//! Scripts on a server behind a socket. Its clock, its storage and its end are out of reach, so
//! scripts with such steps are left out.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ackord_proto::api::{ApiKey, Response};
use ackord_proto::messages::ApiVersionsRequest;
use ackord_proto::uuid::Uuid;
use bytes::Bytes;

use crate::arm::{Arm, Received, ShareView};
use crate::caller::Caller;
use crate::frame_stream::FrameStream;
use crate::script::{Keep, Needs, Pairs, StorageStep};
use crate::transcript::FrameText;

/// Tells the names of one run from those of another on the same server.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// A server by its address.
#[derive(Debug)]
pub struct TcpArm {
    address: String,
    suffix: String,
    wall_start_ms: i64,
    conns: BTreeMap<String, FrameStream>,
    frames: FrameText,
    log: Vec<String>,
    peer: Peer,
}

/// What the broker behind an address serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Peer {
    /// Acknowledgements in transactions, too.
    #[default]
    Ackord,
    /// What Apache Kafka serves.
    Kafka,
}

impl Peer {
    /// Asks a broker which keys it serves.
    ///
    /// # Errors
    /// A sentence.
    pub fn of(address: &str) -> Result<Peer, String> {
        let mut caller = Caller::connect(address, "ackord-conformance")?;
        let response = caller.call(ApiVersionsRequest::default(), 0)?;
        let Response::ApiVersions(response) = response else {
            return Err(format!("{address} does not answer ApiVersions"));
        };
        let own = ApiKey::AddShareAcksToTxn.key();
        let serves = response.api_keys.iter().any(|api| api.api_key == own);
        Ok(if serves { Peer::Ackord } else { Peer::Kafka })
    }
}

impl TcpArm {
    /// `HOST:PORT`; nothing is opened yet.
    pub fn new(address: &str) -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        TcpArm {
            address: address.to_string(),
            suffix: format!("-{:x}-{run}", since.as_micros()),
            wall_start_ms: i64::try_from(since.as_millis()).unwrap_or_default(),
            conns: BTreeMap::new(),
            frames: FrameText::default(),
            log: Vec::new(),
            peer: Peer::default(),
        }
    }

    /// The same for a broker of this kind.
    #[must_use]
    pub fn of_peer(self, peer: Peer) -> Self {
        TcpArm { peer, ..self }
    }

    fn connection(&mut self, client: &str) -> Result<&mut FrameStream, String> {
        if !self.conns.contains_key(client) {
            let conn = FrameStream::connect(&self.address)?;
            self.conns.insert(client.to_string(), conn);
        }
        self.conns
            .get_mut(client)
            .ok_or_else(|| "no connection".to_string())
    }

    fn out_of_reach(what: &str) -> Result<(), String> {
        Err(format!("{what} of a server is out of reach"))
    }
}

impl Arm for TcpArm {
    fn refuses(&self, needs: Needs) -> Option<&'static str> {
        match needs {
            Needs { storage: true, .. } => Some("storage of a server cannot be held or broken"),
            Needs { crash: true, .. } => Some("a server cannot be crashed over the wire"),
            Needs { clock: true, .. } => Some("the clock of a server cannot be turned"),
            Needs {
                principals: true, ..
            } => Some("nobody authenticates there"),
            Needs { configs: true, .. } => Some("the server has its own configuration"),
            Needs {
                share_acks: true, ..
            } if self.peer == Peer::Kafka => Some("Kafka has no acknowledgements in transactions"),
            _ => None,
        }
    }

    fn start(&mut self, _configs: &Pairs, _limits: &Pairs) -> Result<(), String> {
        Ok(())
    }

    fn suffix(&self) -> String {
        self.suffix.clone()
    }

    fn wall_start_ms(&self) -> i64 {
        self.wall_start_ms
    }

    fn patience_ms(&self) -> i32 {
        10_000
    }

    fn settles(&self) -> bool {
        true
    }

    fn pause(&mut self) {
        std::thread::sleep(Duration::from_millis(50));
    }

    fn send(&mut self, client: &str, frame: &[Bytes]) -> Result<(), String> {
        let whole: Vec<u8> = frame
            .iter()
            .flat_map(|chunk| chunk.iter().copied())
            .collect();
        let text = self
            .frames
            .request(client, &Bytes::copy_from_slice(&whole[4..]));
        self.log.push(format!("  {text}"));
        self.connection(client)?.send(&whole)
    }

    fn receive(&mut self, client: &str) -> Result<Received, String> {
        let received = self.connection(client)?.receive()?;
        match &received {
            Received::Frame(frame) => {
                let text = self.frames.response(client, frame);
                self.log.push(format!("  {text}"));
            }
            Received::Closed => {
                self.conns.remove(client);
                self.log.push(format!("  {client} closed"));
            }
            Received::Waiting => {}
        }
        Ok(received)
    }

    fn sees_waiting(&self) -> bool {
        false
    }

    /// What has not arrived may still be under way, so nothing is said.
    fn poll(&mut self, _client: &str) -> Received {
        Received::Waiting
    }

    fn disconnect(&mut self, client: &str) -> Result<(), String> {
        self.conns.remove(client);
        Ok(())
    }

    fn advance(&mut self, _millis: u64) -> Result<(), String> {
        Self::out_of_reach("the clock")
    }

    fn storage(&mut self, _step: &StorageStep) -> Result<(), String> {
        Self::out_of_reach("storage")
    }

    fn crash(&mut self, _keep: Keep) -> Result<(), String> {
        Self::out_of_reach("the end")
    }

    fn restart(&mut self, _wall_shift_ms: i64) -> Result<(), String> {
        Self::out_of_reach("the start")
    }

    fn share_view(&self, _group: &str, _topic: Uuid, _partition: i32) -> Option<ShareView> {
        None
    }

    fn open_items(&self) -> Option<Vec<String>> {
        None
    }

    fn transaction_state(&self, _transactional_id: &str) -> Option<String> {
        None
    }

    fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }
}
