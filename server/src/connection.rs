//! One connection, for any runtime.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ackord_coord_core::contract::{ConnId, Input};
use bytes::{Buf, Bytes, BytesMut};

use crate::host::Shared;
use crate::inbox::Item;
use crate::incoming::Incoming;
use crate::link::{Course, Link};

/// How many chunks one write takes.
const CHUNKS: usize = 64;

/// What an adapter gives: a socket of its runtime.
pub trait Stream {
    /// Appends what has arrived to `into`, at most its free capacity, and returns how many bytes;
    /// 0 where the peer sends no more.
    ///
    /// # Errors
    ///
    /// The connection is broken.
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        into: &mut BytesMut,
    ) -> Poll<io::Result<usize>>;

    /// Writes from the chunks, in order, and returns how many bytes.
    ///
    /// # Errors
    ///
    /// The connection is broken.
    fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        chunks: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>>;
}

/// An accepted connection. The core hears of its end when it is dropped.
#[derive(Debug)]
pub struct Connection {
    conn: ConnId,
    shared: Arc<Shared>,
    link: Arc<Link>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.input(Input::Closed { conn: self.conn });
    }
}

impl Connection {
    pub(crate) fn new(conn: ConnId, shared: Arc<Shared>, link: Arc<Link>) -> Self {
        Connection { conn, shared, link }
    }

    fn input(&self, input: Input) {
        self.shared.inbox.push(Item::Input(input));
    }

    /// Serves the connection until either side ends it. The socket closes when the future ends.
    pub async fn serve(self, stream: impl Stream) {
        let incoming = Incoming::new(self.shared.frame_bytes);
        let mut driver = Driver {
            connection: self,
            stream,
            incoming,
            outgoing: VecDeque::new(),
            credits: 0,
        };
        let end = poll_fn(|context| driver.poll(context)).await;
        let conn = driver.connection.conn;
        match end {
            Ok(End::Closed) => {}
            Ok(End::Peer) => driver.log(format_args!("{conn} was closed by its peer")),
            Err(error) => driver.log(format_args!("{conn} is closed: {error}")),
        }
    }
}

/// Who ended a connection.
enum End {
    Closed,
    Peer,
}

struct Driver<S> {
    connection: Connection,
    stream: S,
    incoming: Incoming,
    outgoing: VecDeque<Bytes>,
    credits: usize,
}

impl<S: Stream> Driver<S> {
    fn log(&self, text: impl std::fmt::Display) {
        self.connection.shared.logger.debug(text);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<End>> {
        let link = self.connection.link.clone();
        let course = link.pull(context, &mut self.outgoing, &mut self.credits);
        if course == Course::Cut {
            return Poll::Ready(Ok(End::Closed));
        }
        let mut sent = 0;
        let written = self.write(context, &mut sent);
        if sent > 0 {
            self.connection.input(Input::Sent {
                conn: self.connection.conn,
                bytes: sent,
            });
        }
        if let Poll::Ready(Err(error)) = written {
            return Poll::Ready(Err(error));
        }
        if course == Course::Closing {
            return written.map_ok(|()| End::Closed);
        }
        self.read(context)
    }

    /// Ready when nothing is left to write. Adds to `sent` what went out.
    fn write(&mut self, context: &mut Context<'_>, sent: &mut usize) -> Poll<io::Result<()>> {
        while !self.outgoing.is_empty() {
            let mut slices = [IoSlice::new(&[]); CHUNKS];
            let mut count = 0;
            for (slice, chunk) in slices.iter_mut().zip(&self.outgoing) {
                *slice = IoSlice::new(chunk);
                count += 1;
            }
            let written = ready!(self.stream.poll_write(context, &slices[..count]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *sent += written;
            self.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, mut written: usize) {
        while let Some(chunk) = self.outgoing.front_mut() {
            if chunk.len() > written {
                chunk.advance(written);
                return;
            }
            written -= chunk.len();
            self.outgoing.pop_front();
        }
    }

    /// Reads as long as the core gives credit for frames.
    fn read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<End>> {
        while self.credits > 0 {
            match self.incoming.next_frame() {
                Ok(Some(bytes)) => {
                    self.credits -= 1;
                    self.connection.input(Input::Frame {
                        conn: self.connection.conn,
                        bytes,
                    });
                    continue;
                }
                Ok(None) => {}
                Err(error) => {
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
                }
            }
            match self.stream.poll_read(context, self.incoming.room()) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Ok(End::Peer)),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.incoming.release();
                    return Poll::Pending;
                }
            }
        }
        Poll::Pending
    }
}
