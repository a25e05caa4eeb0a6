//! What a client needs of an async runtime.

use std::future::Future;
use std::io::{self, IoSlice};
use std::string::String;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;

/// An async runtime, for the clients of this module. It has no value: the runtime is found as its
/// own functions find it.
///
/// Reads and writes are polled from one task. They wake it when more is possible.
pub trait Runtime: Send + Sync + 'static {
    /// A connected TCP socket; dropping it closes the connection.
    type Socket: Send + 'static;

    /// Runs a task until it ends, whoever holds what.
    fn spawn(task: impl Future<Output = ()> + Send + 'static);

    /// Ends after this time, not before.
    fn sleep(time: Duration) -> impl Future<Output = ()> + Send + 'static;

    /// Connects to a name or an address, without Nagle's delay.
    fn connect(
        host: String,
        port: u16,
    ) -> impl Future<Output = io::Result<Self::Socket>> + Send + 'static;

    /// Appends what has arrived to `into`, at most its free capacity, and returns how many bytes; 0
    /// where the peer sends no more.
    ///
    /// # Errors
    ///
    /// The connection is broken.
    fn poll_read(
        socket: &mut Self::Socket,
        context: &mut Context<'_>,
        into: &mut BytesMut,
    ) -> Poll<io::Result<usize>>;

    /// Writes from the chunks, in order, and returns how many bytes.
    ///
    /// # Errors
    ///
    /// The connection is broken.
    fn poll_write(
        socket: &mut Self::Socket,
        context: &mut Context<'_>,
        chunks: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>>;
}
