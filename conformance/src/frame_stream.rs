//! Frames over TCP, as a client sends and receives them.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use ackord_proto::frame::FrameBuffer;

use crate::arm::Received;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Frames never come near this.
const FRAME_LIMIT: usize = 100 * 1024 * 1024;

/// One connection.
#[derive(Debug)]
pub struct FrameStream {
    stream: TcpStream,
    buffer: FrameBuffer,
}

impl FrameStream {
    /// Opens a connection to `HOST:PORT`.
    ///
    /// # Errors
    /// A sentence.
    pub fn connect(address: &str) -> Result<Self, String> {
        let open = || {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            Ok(stream)
        };
        let stream = open()
            .map_err(|error: std::io::Error| format!("cannot connect to {address}: {error}"))?;
        Ok(FrameStream {
            stream,
            buffer: FrameBuffer::new(FRAME_LIMIT),
        })
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// A sentence.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream
            .write_all(bytes)
            .map_err(|error| format!("cannot send: {error}"))
    }

    /// Waits for the next frame, or for the end of the connection.
    ///
    /// # Errors
    /// Nothing came in time, or the stream is broken.
    pub fn receive(&mut self) -> Result<Received, String> {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            match self.buffer.next_frame() {
                Ok(Some(frame)) => return Ok(Received::Frame(frame)),
                Ok(None) => {}
                Err(error) => return Err(error.to_string()),
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(Received::Closed),
                Ok(count) => self.buffer.push_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    return Ok(Received::Closed);
                }
                Err(error) => return Err(format!("no answer came: {error}")),
            }
        }
    }
}
