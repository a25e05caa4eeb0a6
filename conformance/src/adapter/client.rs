//! A client of the probe: frames over a blocking socket.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long anything may take before it counts as not coming.
const PATIENCE: Duration = Duration::from_secs(5);

/// After so long without any progress a write counts as held back.
const STALL: Duration = Duration::from_millis(500);

/// See the module.
#[derive(Debug)]
pub(super) struct Client(TcpStream);

pub(super) fn frame(text: &[u8]) -> Vec<u8> {
    let size = u32::try_from(text.len()).unwrap_or(u32::MAX);
    [&size.to_be_bytes()[..], text].concat()
}

impl Client {
    pub(super) fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Client(stream))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    pub(super) fn send(&mut self, text: &[u8]) -> io::Result<()> {
        self.write(&frame(text))
    }

    /// The next reply.
    pub(super) fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut size = [0; 4];
        self.0.read_exact(&mut size)?;
        let size = usize::try_from(u32::from_be_bytes(size)).unwrap_or(usize::MAX);
        let mut reply = vec![0; size.min(1 << 26)];
        self.0.read_exact(&mut reply)?;
        Ok(reply)
    }

    /// Sends a frame and waits for its reply.
    pub(super) fn ask(&mut self, text: &[u8]) -> io::Result<Vec<u8>> {
        self.send(text)?;
        self.receive()
    }

    /// Everything until the other side closes; `None` where it does not.
    pub(super) fn rest(&mut self) -> Option<Vec<u8>> {
        let mut all = Vec::new();
        match self.0.read_to_end(&mut all) {
            Ok(_) => Some(all),
            // What came before counts; some systems reset where bytes are left unread.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Some(all),
            Err(_) => None,
        }
    }

    /// Writes `text` as often as the other side takes it, at most `limit` bytes; how many it took.
    pub(super) fn flood(&mut self, text: &[u8], limit: usize) -> io::Result<usize> {
        self.0.set_write_timeout(Some(STALL))?;
        let bytes = frame(text).repeat(64);
        let (mut taken, mut at) = (0, 0);
        while taken < limit {
            match self.0.write(&bytes[at..]) {
                Ok(count) => {
                    taken += count;
                    at = (at + count) % bytes.len();
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        self.0.set_write_timeout(Some(PATIENCE))?;
        Ok(taken)
    }
}
