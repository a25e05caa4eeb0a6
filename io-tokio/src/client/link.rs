//! One connection of a client: a task that connects, reads frames and writes chunks.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use ackord_client_core::{ConnId, Endpoint, NetworkInput};
use ackord_proto::frame::FrameBuffer;
use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// Largest reply in bytes: more than any `fetch.max.bytes` in use, and one large batch on top.
const FRAME_LIMIT: usize = 256 * 1024 * 1024;

/// Room to read into, in bytes.
const READ_AHEAD: usize = 64 * 1024;

/// Chunks in one vectored write.
const WRITE_CHUNKS: usize = 64;

/// The driver's end of a connection. Dropping it ends the connection.
#[derive(Debug)]
pub(super) struct Link {
    chunks: mpsc::UnboundedSender<Vec<Bytes>>,
    task: AbortHandle,
}

impl Link {
    /// Begins to connect; what happens comes as events.
    pub(super) fn open(conn: ConnId, to: Endpoint, events: mpsc::Sender<NetworkInput>) -> Self {
        let (chunks, outgoing) = mpsc::unbounded_channel();
        let task = tokio::spawn(run(conn, to, events, outgoing)).abort_handle();
        Link { chunks, task }
    }

    /// Queues a frame. Where the connection has ended the event about it is on its way.
    pub(super) fn send(&self, chunks: Vec<Bytes>) {
        let _ = self.chunks.send(chunks);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run(
    conn: ConnId,
    to: Endpoint,
    events: mpsc::Sender<NetworkInput>,
    outgoing: mpsc::UnboundedReceiver<Vec<Bytes>>,
) {
    let Ok(stream) = TcpStream::connect((&*to.host, to.port)).await else {
        let _ = events.send(NetworkInput::ConnectFailed { conn }).await;
        return;
    };
    // Requests are whole writes: waiting for more only delays them.
    let _ = stream.set_nodelay(true);
    if events.send(NetworkInput::Connected { conn }).await.is_err() {
        return;
    }
    let (reader, writer) = stream.into_split();
    tokio::select! {
        _ = read(conn, reader, &events) => {}
        _ = write(writer, outgoing) => {}
    }
    let _ = events.send(NetworkInput::Closed { conn }).await;
}

/// Reads until the other side closes, an error, or a frame that cannot be.
async fn read(
    conn: ConnId,
    mut reader: OwnedReadHalf,
    events: &mpsc::Sender<NetworkInput>,
) -> io::Result<()> {
    let mut frames = FrameBuffer::new(FRAME_LIMIT);
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(READ_AHEAD);
        if reader.read_buf(&mut buffer).await? == 0 {
            return Ok(());
        }
        frames.push(buffer.split().freeze());
        while let Some(bytes) = frames.next_frame().map_err(io::Error::other)? {
            let event = NetworkInput::Frame { conn, bytes };
            events.send(event).await.map_err(io::Error::other)?;
        }
    }
}

async fn write(
    mut writer: OwnedWriteHalf,
    mut outgoing: mpsc::UnboundedReceiver<Vec<Bytes>>,
) -> io::Result<()> {
    let mut waiting = VecDeque::new();
    while let Some(chunks) = outgoing.recv().await {
        waiting.extend(chunks);
        // Whatever else is queued leaves in the same write.
        while let Ok(more) = outgoing.try_recv() {
            waiting.extend(more);
        }
        while !waiting.is_empty() {
            let slices: Vec<IoSlice<'_>> = waiting
                .iter()
                .take(WRITE_CHUNKS)
                .map(|chunk: &Bytes| IoSlice::new(chunk))
                .collect();
            let written = writer.write_vectored(&slices).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            consume(&mut waiting, written);
        }
    }
    Ok(())
}

fn consume(waiting: &mut VecDeque<Bytes>, mut written: usize) {
    while let Some(first) = waiting.front_mut() {
        if first.len() > written {
            first.advance(written);
            return;
        }
        written -= first.len();
        waiting.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_write_leaves_the_rest() {
        let mut waiting: VecDeque<Bytes> = ["abc", "", "de", "f"].map(Bytes::from).into();
        consume(&mut waiting, 4);
        assert_eq!(waiting, ["e", "f"].map(Bytes::from));
        consume(&mut waiting, 2);
        assert!(waiting.is_empty());
    }
}
