//! The caller's end of a machine, and the future of a command.

use alloc::sync::Arc;
use core::fmt;
use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll, ready};

use futures_channel::mpsc::{UnboundedSender, unbounded};
use futures_channel::oneshot;

use super::driver::{Answer, Ask, drive};
use super::runtime::Runtime;
use crate::{CallId, ClientError, Machine};

/// The caller's end of a machine that a task drives.
pub(super) struct Handle<M: Machine> {
    asks: UnboundedSender<Ask<M>>,
    next: Arc<AtomicU64>,
    ended: oneshot::Receiver<()>,
}

impl<M> Handle<M>
where
    M: Machine + Send + 'static,
    M::Command: Send + 'static,
    M::Output: Send + 'static,
{
    /// Spawns the task.
    pub(super) fn new<R: Runtime>(machine: M) -> Self {
        let (asks, receiver) = unbounded();
        let (ending, ended) = oneshot::channel();
        R::spawn(drive::<R, M>(machine, receiver, ending));
        Handle {
            asks,
            next: Arc::default(),
            ended,
        }
    }

    /// Hands the command over at once; the future only waits for the result. Dropping it changes
    /// nothing but that nobody hears of it.
    pub(super) fn call(&self, command: M::Command) -> Calling<M> {
        let call = CallId(self.next.fetch_add(1, Ordering::Relaxed));
        let (answer, result) = oneshot::channel();
        // Where the task is gone the answer is dropped, which the future takes for the end.
        let _ = self.asks.unbounded_send(Ask::Call {
            call,
            command,
            answer,
        });
        Calling {
            call,
            result,
            give_up: None,
        }
    }

    /// As [`call`](Self::call), but dropping the future takes the command back: the machine has
    /// what it found for the next one.
    pub(super) fn revocable(&self, command: M::Command) -> Calling<M> {
        let mut calling = self.call(command);
        calling.give_up = Some(self.asks.clone());
        calling
    }

    /// Sends the command that closes and waits until the task and its sockets are gone.
    pub(super) async fn close(self, command: M::Command) -> Result<(), ClientError> {
        let result = self.call(command).await;
        drop(self.asks);
        let _ = self.ended.await;
        result.map(drop)
    }
}

impl<M: Machine> fmt::Debug for Handle<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

/// Waits for the result of a command.
pub(super) struct Calling<M: Machine> {
    call: CallId,
    result: oneshot::Receiver<Answer<M>>,
    give_up: Option<UnboundedSender<Ask<M>>>,
}

impl<M: Machine> Future for Calling<M> {
    type Output = Answer<M>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer<M>> {
        let result = ready!(Pin::new(&mut self.result).poll(context));
        self.give_up = None;
        Poll::Ready(result.unwrap_or(Err(ClientError::Closed)))
    }
}

impl<M: Machine> Drop for Calling<M> {
    fn drop(&mut self) {
        let Some(asks) = self.give_up.take() else {
            return;
        };
        self.result.close();
        // An error is lost with the future; the next call meets it again.
        let output = match self.result.try_recv() {
            Ok(Some(answer)) => answer.ok(),
            Ok(None) | Err(oneshot::Canceled) => None,
        };
        let call = self.call;
        let _ = asks.unbounded_send(Ask::Abandon { call, output });
    }
}
