//! Scripts on a server in this process, over loopback. The host is the one of the binaries, on a
//! store on disk, except that its clock is turned by hand and that tests may look into its core.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use ackord_conformance::arm::{self, Arm, Received, ShareView};
use ackord_conformance::core_arm::WALL_START_MS;
use ackord_conformance::core_view;
use ackord_conformance::frame_stream::FrameStream;
use ackord_conformance::script::{Keep, Needs, Pairs, StorageStep};
use ackord_conformance::transcript::FrameText;
use ackord_coord_core::Broker;
use ackord_coord_core::contract::ConnId;
use ackord_machine::{Limits, LogId, MonoTime, Now, WallTime};
use ackord_proto::uuid::Uuid;
use ackord_server::{
    Address, Clock, Durability, Errand, Exchange, Host, Level, Logger, Rest, Startup,
};
use bytes::Bytes;
use tempfile::TempDir;

use crate::Serve;

/// A server that runs.
struct Running {
    host: Host,
    address: String,
    server: JoinHandle<io::Result<()>>,
    /// Connections are numbered as they are accepted; one is opened at a time.
    accepted: u64,
}

struct Conn {
    id: ConnId,
    stream: FrameStream,
    sent: u64,
    received: u64,
}

/// See the module.
pub(crate) struct ServerArm {
    serve: Serve,
    root: TempDir,
    starts: u8,
    configs: Pairs,
    limits: Limits,
    wall_millis: i64,
    running: Option<Running>,
    /// Stays bound over a crash, so that clients find the broker again where it was.
    listener: Option<TcpListener>,
    conns: BTreeMap<String, Conn>,
    frames: FrameText,
    log: Vec<String>,
}

impl ServerArm {
    pub(crate) fn new(serve: Serve) -> Self {
        Self::at(serve, WALL_START_MS)
    }

    /// Its wall clock begins here, in milliseconds since the Unix epoch.
    pub(crate) fn at(serve: Serve, wall_millis: i64) -> Self {
        ServerArm {
            serve,
            root: tempfile::tempdir().expect("a directory"),
            starts: 0,
            configs: Vec::new(),
            limits: Limits::default(),
            wall_millis,
            running: None,
            listener: None,
            conns: BTreeMap::new(),
            frames: FrameText::default(),
            log: Vec::new(),
        }
    }

    /// Each start has a directory of its own: what the start before left behind when it crashed.
    fn data_dir(&self, start: u8) -> PathBuf {
        self.root.path().join(start.to_string())
    }

    fn boot(&mut self) -> Result<(), String> {
        let started = |error: io::Error| format!("cannot start: {error}");
        let listener = match self.listener.take() {
            Some(listener) => listener,
            None => TcpListener::bind("127.0.0.1:0").map_err(started)?,
        };
        self.listener = Some(listener.try_clone().map_err(started)?);
        let port = listener.local_addr().map_err(started)?.port();
        let logger = Logger::new(Level::Error);
        let startup = |now| Startup {
            advertised: Address {
                host: "127.0.0.1".to_string(),
                port,
            },
            configs: self.configs.clone(),
            limits: self.limits.clone(),
            logger,
            now,
            seed: [self.starts; 32],
        };
        let clock = Clock::manual(Now {
            mono: MonoTime::ZERO,
            wall: WallTime::from_millis(self.wall_millis),
        });
        let host = Host::start_at(
            clock,
            &self.data_dir(self.starts),
            Durability::Os,
            &self.limits,
            logger,
            |now| ackord_server::broker(startup(now)),
        )
        .map_err(|error| error.to_string())?;
        if !host.wait_ready() {
            return Err(format!("it is not ready: {:?}", host.wait_finished(None)));
        }
        let (serve, served) = (self.serve, host.clone());
        self.running = Some(Running {
            host,
            address: format!("127.0.0.1:{port}"),
            server: thread::spawn(move || serve(listener, served)),
            accepted: 0,
        });
        Ok(())
    }

    /// Waits until nothing is under way, turns the clock, waits again, and looks.
    fn look<T: Send + 'static>(
        &self,
        mut errand: Errand,
        look: impl FnOnce(&Broker, Rest) -> T + Send + 'static,
    ) -> Option<T> {
        let sent = self.conns.values().map(|conn| (conn.id, conn.sent));
        errand.sent.extend(sent);
        self.running.as_ref()?.host.errand(errand, look)
    }

    /// Where it listens; `None` while it is down.
    pub(crate) fn address(&self) -> Option<String> {
        self.running.as_ref().map(|own| own.address.clone())
    }

    pub(crate) fn rest(&mut self, errand: Errand) -> Result<Rest, String> {
        let rest = self.look(errand, |_: &Broker, rest| rest);
        let rest = rest.ok_or("the server does not come to rest")?;
        self.wall_millis = rest.now.wall.as_millis();
        Ok(rest)
    }

    fn connection(&mut self, client: &str) -> Result<&mut Conn, String> {
        let running = self.running.as_mut().ok_or("the broker is down")?;
        if !self.conns.contains_key(client) {
            running.accepted += 1;
            let conn = Conn {
                id: ConnId(running.accepted),
                stream: FrameStream::connect(&running.address)?,
                sent: 0,
                received: 0,
            };
            self.conns.insert(client.to_string(), conn);
            self.rest(Errand::default())?;
        }
        self.conns
            .get_mut(client)
            .ok_or_else(|| "no connection".to_string())
    }

    /// What came, where the core says that something did.
    fn arrived(&mut self, client: &str) -> Result<Received, String> {
        if !self.conns.contains_key(client) {
            return Ok(Received::Closed);
        }
        let rest = self.rest(Errand::default())?;
        let Some(conn) = self.conns.get_mut(client) else {
            return Ok(Received::Closed);
        };
        let exchange = rest.exchanges.get(&conn.id).copied().unwrap_or_default();
        let Exchange {
            replies, ending, ..
        } = exchange;
        if replies == conn.received && !ending {
            return Ok(Received::Waiting);
        }
        let received = conn.stream.receive()?;
        match &received {
            Received::Frame(frame) => {
                conn.received += 1;
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

    /// Ends the server and waits for its threads.
    fn end(&mut self) -> Result<(), String> {
        self.conns.clear();
        let Some(running) = self.running.take() else {
            return Ok(());
        };
        running.host.crash();
        let served = running.server.join().map_err(|_| "it panicked")?;
        served.map_err(|error| error.to_string())?;
        running.host.wait_finished(None).unwrap_or(Ok(()))
    }
}

impl Drop for ServerArm {
    fn drop(&mut self) {
        // The script has its outcome already.
        let _ = self.end();
    }
}

/// The files as they are, although someone has them open.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            let bytes = fs::read(entry.path())?;
            // Journals are laid out ahead; the zeros stay a hole.
            let used = bytes
                .iter()
                .rposition(|byte| *byte != 0)
                .map_or(0, |at| at + 1);
            let mut file = File::create(to)?;
            file.write_all(&bytes[..used])?;
            file.set_len(bytes.len() as u64)?;
        }
    }
    Ok(())
}

impl Arm for ServerArm {
    fn refuses(&self, needs: Needs) -> Option<&'static str> {
        match needs {
            Needs { storage: true, .. } => Some("the store of a server cannot be held or broken"),
            Needs {
                principals: true, ..
            } => Some("nobody authenticates on a server"),
            _ => None,
        }
    }

    fn start(&mut self, configs: &Pairs, limits: &Pairs) -> Result<(), String> {
        self.configs = arm::broker_configs(configs);
        self.limits = arm::limits(limits)?;
        self.boot()
    }

    /// The share coordinator may have to be asked first.
    fn patience_ms(&self) -> i32 {
        500
    }

    fn send(&mut self, client: &str, frame: &[Bytes]) -> Result<(), String> {
        let whole = frame.concat();
        let text = self
            .frames
            .request(client, &Bytes::copy_from_slice(&whole[4..]));
        self.log.push(format!("  {text}"));
        let conn = self.connection(client)?;
        conn.stream.send(&whole)?;
        conn.sent += 1;
        self.rest(Errand::default()).map(drop)
    }

    fn receive(&mut self, client: &str) -> Result<Received, String> {
        match self.arrived(client)? {
            Received::Waiting => Err("no answer came".to_string()),
            received => Ok(received),
        }
    }

    fn poll(&mut self, client: &str) -> Received {
        self.arrived(client).unwrap_or(Received::Closed)
    }

    fn disconnect(&mut self, client: &str) -> Result<(), String> {
        let Some(conn) = self.conns.remove(client) else {
            return Ok(());
        };
        drop(conn.stream);
        let cut = vec![conn.id];
        self.rest(Errand {
            cut,
            ..Errand::default()
        })
        .map(drop)
    }

    fn advance(&mut self, millis: u64) -> Result<(), String> {
        if self.is_down() {
            self.wall_millis += i64::try_from(millis).unwrap_or(i64::MAX);
            return Ok(());
        }
        let turn_millis = millis;
        self.rest(Errand {
            turn_millis,
            ..Errand::default()
        })
        .map(drop)
    }

    fn storage(&mut self, _step: &StorageStep) -> Result<(), String> {
        Err("the store of a server cannot be held or broken".to_string())
    }

    /// The files are taken as they are at this moment, so nothing that the store does when it is
    /// closed counts.
    fn crash(&mut self, _keep: Keep) -> Result<(), String> {
        self.rest(Errand::default())?;
        let (from, to) = (self.data_dir(self.starts), self.data_dir(self.starts + 1));
        copy(&from, &to).map_err(|error| format!("the files cannot be kept: {error}"))?;
        self.end()
    }

    fn restart(&mut self, wall_shift_ms: i64) -> Result<(), String> {
        if self.running.is_some() {
            return Err("the broker runs; crash it first".to_string());
        }
        self.starts += 1;
        self.wall_millis = self.wall_millis.saturating_add(wall_shift_ms);
        self.boot()
    }

    fn is_down(&self) -> bool {
        self.running.is_none()
    }

    fn share_view(&self, group: &str, topic: Uuid, partition: i32) -> Option<ShareView> {
        let group = group.to_string();
        self.look(Errand::default(), move |broker, _| {
            core_view::share_view(broker, &group, LogId { topic, partition })
        })
    }

    fn open_items(&self) -> Option<Vec<String>> {
        self.look(Errand::default(), |broker, _| core_view::open_items(broker))
    }

    fn transaction_state(&self, transactional_id: &str) -> Option<String> {
        let id = transactional_id.to_string();
        self.look(Errand::default(), move |broker, _| {
            core_view::transaction_state(broker, &id)
        })
    }

    fn metric(&self, name: &str, labels: &[(String, String)]) -> Option<i64> {
        let (name, labels) = (name.to_string(), labels.to_vec());
        self.look(Errand::default(), move |broker, rest| {
            core_view::metric(broker, rest.now, &name, &labels)
        })
    }

    fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }
}
