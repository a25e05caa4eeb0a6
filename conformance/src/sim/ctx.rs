//! What a client has of the world: it can ask, wait and hang up. Clients are futures without a
//! runtime: each is a state machine that the compiler writes, and the world polls it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use ackord_proto::api::{Request, Response};
use bytes::Bytes;

use super::chance::Chance;
use super::ledger::Ledger;

/// No answer came: the connection is gone, and whether the request was carried out is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

/// What a client wants.
#[derive(Clone, Debug)]
pub enum Wish {
    /// An answer.
    Call(Box<Request>, i16),
    /// Another connection for its next request.
    HangUp,
    /// Bytes that may be no request, on a connection of their own.
    Raw(Bytes),
    /// Time to pass, in milliseconds.
    Sleep(u64),
}

/// What it gets.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A reply, or none.
    Called(Result<Box<Response>, Lost>),
    /// It is done.
    Done,
}

/// State that client and world share.
#[derive(Debug)]
pub struct Shared {
    pub(super) wish: RefCell<Option<Wish>>,
    pub(super) answer: RefCell<Option<Answer>>,
    /// Faults are over, clients come to an end.
    pub(super) stopping: Cell<bool>,
    pub(super) now_ms: Cell<u64>,
}

/// A client's view.
#[derive(Clone, Debug)]
pub struct Ctx {
    /// Its name.
    pub name: String,
    /// Its own chance.
    pub chance: Rc<RefCell<Chance>>,
    /// What was promised to all clients so far.
    pub ledger: Rc<RefCell<Ledger>>,
    pub(super) shared: Rc<Shared>,
}

impl Ctx {
    /// For the client `name`.
    pub fn new(name: String, chance: Chance, ledger: Rc<RefCell<Ledger>>) -> Self {
        let shared = Shared {
            wish: RefCell::new(None),
            answer: RefCell::new(None),
            stopping: Cell::new(false),
            now_ms: Cell::new(0),
        };
        Ctx {
            name,
            chance: Rc::new(RefCell::new(chance)),
            ledger,
            shared: Rc::new(shared),
        }
    }

    async fn wish(&self, wish: Wish) -> Answer {
        *self.shared.wish.borrow_mut() = Some(wish);
        // The first poll of a client brings an answer that nobody asked for.
        self.shared.answer.borrow_mut().take();
        poll_fn(|_| match self.shared.answer.borrow_mut().take() {
            Some(answer) => Poll::Ready(answer),
            None => Poll::Pending,
        })
        .await
    }

    /// Sends a request and waits for what becomes of it.
    pub async fn call(&self, request: impl Into<Request>, version: i16) -> Result<Response, Lost> {
        match self
            .wish(Wish::Call(Box::new(request.into()), version))
            .await
        {
            Answer::Called(result) => result.map(|response| *response),
            Answer::Done => Err(Lost),
        }
    }

    /// Waits.
    pub async fn sleep(&self, millis: u64) {
        self.wish(Wish::Sleep(millis)).await;
    }

    /// Sends bytes that may be no request.
    pub async fn raw(&self, bytes: Bytes) {
        self.wish(Wish::Raw(bytes)).await;
    }

    /// Drops its connection.
    pub async fn hang_up(&self) {
        self.wish(Wish::HangUp).await;
    }

    /// The time, in microseconds.
    pub fn now_us(&self) -> u64 {
        self.shared.now_ms.get() * 1000
    }

    /// The run comes to its end.
    pub fn stopping(&self) -> bool {
        self.shared.stopping.get()
    }

    /// A draw below `bound`.
    pub fn below(&self, bound: u64) -> u64 {
        self.chance.borrow_mut().below(bound)
    }

    /// A draw from `low` to `high`.
    pub fn between(&self, low: u64, high: u64) -> u64 {
        self.chance.borrow_mut().between(low, high)
    }

    /// One of `from`.
    pub fn pick<T: Clone>(&self, from: &[T]) -> T {
        self.chance.borrow_mut().pick(from)
    }

    /// True in `percent` of a hundred cases.
    pub fn percent(&self, percent: u64) -> bool {
        self.chance.borrow_mut().percent(percent)
    }
}

/// Takes the answer apart as one API's.
#[macro_export]
macro_rules! sim_call {
    ($ctx:expr, $api:ident v $version:expr, $request:expr) => {
        match $ctx.call($request, $version).await {
            Ok(ackord_proto::api::Response::$api(response)) => Ok(response),
            _ => Err($crate::sim::ctx::Lost),
        }
    };
}
