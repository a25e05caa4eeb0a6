//! One connection of a client: connects, reads frames, writes chunks.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io::{self, IoSlice};

use ackord_proto::frame::FrameBuffer;
use bytes::{Buf, Bytes, BytesMut};

use super::runtime::Runtime;
use crate::Endpoint;

/// Largest reply in bytes: more than any `fetch.max.bytes` in use, and one large batch on top.
const FRAME_LIMIT: usize = 256 * 1024 * 1024;

/// Room to read into, in bytes: at least, and at most ahead of what has arrived.
const LEAST_ROOM: usize = 4 * 1024;
const MOST_ROOM: usize = 256 * 1024;

/// Chunks in one vectored write.
const WRITE_CHUNKS: usize = 64;

type Connecting<S> = Pin<Box<dyn Future<Output = io::Result<S>> + Send>>;

/// How far a connection is.
enum State<S> {
    Connecting(Connecting<S>),
    Open(S),
}

/// What happened at a connection. After `ConnectFailed` and `Closed` it is over.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Happened {
    Connected,
    ConnectFailed,
    Frame(Bytes),
    Closed,
}

/// A connection. Dropping it closes it, also while it is being opened.
pub(super) struct Link<R: Runtime> {
    state: State<R::Socket>,
    outgoing: VecDeque<Bytes>,
    frames: FrameBuffer,
    buffer: BytesMut,
}

impl<R: Runtime> Link<R> {
    /// Begins to connect.
    pub(super) fn open(to: &Endpoint) -> Self {
        Link {
            state: State::Connecting(Box::pin(R::connect(to.host.to_string(), to.port))),
            outgoing: VecDeque::new(),
            frames: FrameBuffer::new(FRAME_LIMIT),
            buffer: BytesMut::new(),
        }
    }

    /// Queues a frame.
    pub(super) fn send(&mut self, chunks: Vec<Bytes>) {
        let chunks = chunks.into_iter();
        self.outgoing
            .extend(chunks.filter(|chunk| !chunk.is_empty()));
    }

    /// The next thing that happens.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Happened> {
        match &mut self.state {
            State::Connecting(connecting) => match ready!(connecting.as_mut().poll(context)) {
                Ok(socket) => {
                    self.state = State::Open(socket);
                    Poll::Ready(Happened::Connected)
                }
                Err(_) => Poll::Ready(Happened::ConnectFailed),
            },
            State::Open(socket) => {
                let written = write::<R>(socket, context, &mut self.outgoing);
                if let Poll::Ready(Err(_)) = written {
                    return Poll::Ready(Happened::Closed);
                }
                let frame = read::<R>(socket, context, &mut self.frames, &mut self.buffer);
                Poll::Ready(match ready!(frame) {
                    Ok(Some(frame)) => Happened::Frame(frame),
                    Ok(None) | Err(_) => Happened::Closed,
                })
            }
        }
    }
}

/// The next frame; `None` where the other side has closed.
fn read<R: Runtime>(
    socket: &mut R::Socket,
    context: &mut Context<'_>,
    frames: &mut FrameBuffer,
    buffer: &mut BytesMut,
) -> Poll<io::Result<Option<Bytes>>> {
    loop {
        if let Some(frame) = frames.next_frame().map_err(io::Error::other)? {
            return Poll::Ready(Ok(Some(frame)));
        }
        let wanted = frames.missing().clamp(LEAST_ROOM, MOST_ROOM);
        if buffer.capacity() < wanted {
            buffer.reserve(wanted);
        }
        if ready!(R::poll_read(socket, context, buffer))? == 0 {
            return Poll::Ready(Ok(None));
        }
        frames.push(buffer.split().freeze());
    }
}

/// Ready when nothing is left to write.
fn write<R: Runtime>(
    socket: &mut R::Socket,
    context: &mut Context<'_>,
    outgoing: &mut VecDeque<Bytes>,
) -> Poll<io::Result<()>> {
    while !outgoing.is_empty() {
        let mut slices = [IoSlice::new(&[]); WRITE_CHUNKS];
        let mut count = 0;
        for (slice, chunk) in slices.iter_mut().zip(&*outgoing) {
            *slice = IoSlice::new(chunk);
            count += 1;
        }
        let chunks = slices.get(..count).unwrap_or_default();
        let written = ready!(R::poll_write(socket, context, chunks))?;
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        consume(outgoing, written);
    }
    Poll::Ready(Ok(()))
}

fn consume(outgoing: &mut VecDeque<Bytes>, mut written: usize) {
    while let Some(first) = outgoing.front_mut() {
        if first.len() > written {
            first.advance(written);
            return;
        }
        written -= first.len();
        outgoing.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_write_leaves_the_rest() {
        let mut outgoing: VecDeque<Bytes> = ["abc", "", "de", "f"].map(Bytes::from).into();
        consume(&mut outgoing, 4);
        assert_eq!(outgoing, ["e", "f"].map(Bytes::from));
        consume(&mut outgoing, 2);
        assert!(outgoing.is_empty());
    }
}
