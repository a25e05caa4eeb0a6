//! One connection, for any runtime.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ackord_coord_core::contract::{ConnId, Input};
use bytes::{Buf, Bytes, BytesMut};

use crate::allowance::Allowance;
use crate::frame_budget::Share;
use crate::host::Shared;
use crate::inbox::Item;
use crate::incoming::Incoming;
use crate::link::{Course, Link};

/// How many chunks one write takes.
const CHUNKS: usize = 64;
/// Fewer bytes than this change nothing for the core, which bounds what a client leaves unread.
const FEW: usize = 16 * 1024;

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
        let closed = Input::Closed { conn: self.conn };
        self.shared.inbox.push(Item::Input(closed));
    }
}

impl Connection {
    pub(crate) fn new(conn: ConnId, shared: Arc<Shared>, link: Arc<Link>) -> Self {
        Connection { conn, shared, link }
    }

    /// Serves the connection until either side ends it. The socket closes when the future ends.
    pub async fn serve(self, stream: impl Stream) {
        let incoming = Incoming::new(self.shared.frame_bytes);
        let allowance = Allowance::new(self.shared.early_bytes.clone());
        let share = Share::new(self.shared.budget.clone());
        let mut driver = Driver {
            connection: self,
            stream,
            incoming,
            outgoing: VecDeque::new(),
            allowance,
            share,
            ended: false,
            stalled: false,
            short: false,
            owed: Owed::default(),
            news: Vec::new(),
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

/// Bytes that left and of which the core has not heard. Few are told with whatever comes next: the core
/// need not be woken for each small reply.
#[derive(Debug, Default)]
struct Owed {
    bytes: usize,
    /// Bytes since nothing was left to write.
    run: usize,
    due: bool,
}

impl Owed {
    fn written(&mut self, bytes: usize, all: bool) {
        self.bytes += bytes;
        self.run += bytes;
        self.due |= self.run >= FEW || self.bytes >= FEW;
        if all {
            self.run = 0;
        }
    }

    /// What to tell; few bytes only where the core is to hear of them `now`.
    fn take(&mut self, now: bool) -> Option<usize> {
        if self.bytes == 0 || !(self.due || now) {
            return None;
        }
        self.due = false;
        Some(std::mem::take(&mut self.bytes))
    }
}

struct Driver<S> {
    connection: Connection,
    stream: S,
    incoming: Incoming,
    outgoing: VecDeque<Bytes>,
    allowance: Allowance,
    share: Share,
    /// The peer sends no more, which counts once the core asks for more.
    ended: bool,
    /// Nothing is read before a credit comes.
    stalled: bool,
    /// Nothing is read before there is room for it.
    short: bool,
    owed: Owed,
    /// What the core is to hear of, at the end of a turn.
    news: Vec<Item>,
}

impl<S: Stream> Driver<S> {
    fn log(&self, text: impl std::fmt::Display) {
        self.connection.shared.logger.debug(text);
    }

    /// Writes and reads what is possible, then tells the core of all of it at once.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<End>> {
        let turned = self.turn(context);
        if self.tell() && turned.is_pending() {
            // The core has had its turn right here: its replies need not wait for another poll.
            let turned = self.turn(context);
            self.tell();
            return turned;
        }
        turned
    }

    /// Tells the core the news. Whether it has heard them already.
    fn tell(&mut self) -> bool {
        self.allowance.count(self.incoming.buffered());
        // A core that has not asked may wait for just this before it does.
        let now = !self.news.is_empty() || !self.allowance.is_asked();
        if let Some(bytes) = self.owed.take(now) {
            let conn = self.connection.conn;
            self.news.push(Item::Input(Input::Sent { conn, bytes }));
        }
        if self.news.is_empty() {
            return false;
        }
        let shared = &self.connection.shared;
        shared.inbox.put(self.news.drain(..));
        shared.turn()
    }

    fn turn(&mut self, context: &mut Context<'_>) -> Poll<io::Result<End>> {
        loop {
            let turned = self.once(context);
            // Credits that came meanwhile woke nobody.
            let goes_on = turned.is_pending() && self.stalled && !self.connection.link.stall();
            if !goes_on {
                self.connection.link.activity.waits(self.waits());
                return turned;
            }
        }
    }

    /// Whether it is the broker who has to do something: to answer, or to find room. A peer that does
    /// not read its replies is asked to do that first.
    fn waits(&self) -> bool {
        self.outgoing.is_empty() && (self.short || !self.allowance.is_asked())
    }

    fn once(&mut self, context: &mut Context<'_>) -> Poll<io::Result<End>> {
        (self.stalled, self.short) = (false, false);
        let link = self.connection.link.clone();
        let (course, credits) = link.pull(context, &mut self.outgoing);
        self.allowance.grant(credits);
        if course == Course::Cut {
            return Poll::Ready(Ok(End::Closed));
        }
        let mut sent = 0;
        let written = self.write(context, &mut sent);
        self.owed.written(sent, self.outgoing.is_empty());
        if sent > 0 {
            self.connection.link.activity.passed();
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

    /// Reads what the core asks for, and a little ahead of it.
    fn read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<End>> {
        loop {
            // What is wrong counts once the core asks for it: replies to what came before go out.
            let allowed = match self.incoming.announced() {
                Ok(size) => self.allowance.allows(size),
                Err(_) => self.allowance.is_asked(),
            };
            if !allowed {
                self.stalled = true;
                return Poll::Pending;
            }
            match self.incoming.next_frame() {
                Ok(Some(bytes)) => {
                    let counted = self.share.pass(self.allowance.is_asked());
                    self.allowance.passed(bytes.len());
                    let conn = self.connection.conn;
                    self.news.push(Item::Frame {
                        conn,
                        bytes,
                        counted,
                    });
                    continue;
                }
                Ok(None) => {}
                Err(error) => {
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
                }
            }
            if !self.ended {
                if !self.share.grow(self.incoming.wanted(), context) {
                    self.short = true;
                    return Poll::Pending;
                }
                match self.stream.poll_read(context, self.incoming.room()) {
                    Poll::Ready(Ok(0)) => self.ended = true,
                    Poll::Ready(Ok(_)) => self.connection.link.activity.passed(),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => {
                        self.incoming.release();
                        return Poll::Pending;
                    }
                }
            }
            if self.ended {
                self.stalled = !self.allowance.is_asked();
                return match self.stalled {
                    false => Poll::Ready(Ok(End::Peer)),
                    true => Poll::Pending,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Waker;

    use ackord_machine::Limits;

    use super::*;
    use crate::logging::{Level, Logger};

    const FRAME: usize = 1 << 20;
    const CLIENTS: usize = 6;

    /// A client that has announced a frame and sent all but its last byte.
    struct HalfSent {
        left: usize,
        begun: bool,
        taken: Arc<AtomicUsize>,
    }

    impl Stream for HalfSent {
        fn poll_read(
            &mut self,
            _context: &mut Context<'_>,
            into: &mut BytesMut,
        ) -> Poll<io::Result<usize>> {
            if !std::mem::replace(&mut self.begun, true) {
                into.extend_from_slice(&u32::try_from(FRAME).unwrap_or(0).to_be_bytes());
                return Poll::Ready(Ok(4));
            }
            let count = self.left.min(into.capacity() - into.len());
            if count == 0 {
                return Poll::Pending;
            }
            into.resize(into.len() + count, 0);
            self.left -= count;
            self.taken.fetch_add(count, Ordering::Relaxed);
            Poll::Ready(Ok(count))
        }

        fn poll_write(
            &mut self,
            _context: &mut Context<'_>,
            _chunks: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            Poll::Pending
        }
    }

    #[test]
    fn half_sent_frames_take_no_more_than_the_bound_and_one_frame() {
        let limits = Limits {
            frame_bytes: FRAME,
            request_bytes: 2 * FRAME,
            ..Limits::default()
        };
        let shared = Arc::new(Shared::new(&limits, Logger::new(Level::Error)));
        let taken: Vec<Arc<AtomicUsize>> = (0..CLIENTS).map(|_| Arc::default()).collect();
        let mut served: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
        for (id, taken) in taken.iter().enumerate() {
            let link = Arc::new(Link::default());
            link.grant();
            let conn = ConnId(id as u64);
            let stream = HalfSent {
                left: FRAME - 1,
                begun: false,
                taken: taken.clone(),
            };
            served.push(Box::pin(
                Connection::new(conn, shared.clone(), link).serve(stream),
            ));
        }
        let mut context = Context::from_waker(Waker::noop());
        let mut turn = |served: &mut Vec<Pin<Box<dyn Future<Output = ()>>>>| {
            for own in served.iter_mut() {
                assert!(pin!(own).poll(&mut context).is_pending());
            }
        };
        let held = |from: usize| -> usize {
            let held = taken[from..].iter();
            held.map(|own| own.load(Ordering::Relaxed)).sum()
        };
        turn(&mut served);
        assert!(held(0) >= FRAME, "{}", held(0));
        assert!(held(0) <= 3 * FRAME, "{}", held(0));
        // Where some end, others go on, and at last all have had their turn.
        for ended in 1..CLIENTS {
            drop(served.remove(0));
            turn(&mut served);
            let bound = 3.min(CLIENTS - ended) * FRAME;
            assert!(held(ended) <= bound, "{}", held(ended));
        }
        assert_eq!(held(CLIENTS - 1), FRAME - 1);
    }

    #[test]
    fn the_core_hears_of_small_replies_along_with_something_else() {
        let mut owed = Owed::default();
        assert_eq!(owed.take(true), None);
        owed.written(100, true);
        assert_eq!(owed.take(false), None);
        assert_eq!(owed.take(true), Some(100));
        owed.written(FEW - 1, true);
        assert_eq!(owed.take(false), None);
        owed.written(1, true);
        assert_eq!(owed.take(false), Some(FEW), "they add up");
    }

    #[test]
    fn the_core_hears_of_the_end_of_a_large_reply() {
        let mut owed = Owed::default();
        owed.written(FEW, false);
        assert_eq!(owed.take(false), Some(FEW));
        owed.written(1, true);
        assert_eq!(owed.take(false), Some(1));
        owed.written(1, true);
        assert_eq!(owed.take(false), None, "that was another one");
    }
}
