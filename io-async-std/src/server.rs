//! The server side: accept, read, write.

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::net;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use ackord_server::{Host, Stream};
use async_std::net::{TcpListener, TcpStream};
use async_std::task;
use bytes::BytesMut;

use crate::socket;

/// Accepting goes on after this time where the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Accepts and serves connections until the host has finished.
///
/// # Errors
///
/// The listener cannot be used.
pub fn serve(listener: net::TcpListener, host: Host) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from(listener);
    task::block_on(async {
        let accepting = accept(&listener, &host);
        until(host.stopping(), accepting).await;
        drop(listener);
        host.finished().await;
    });
    Ok(())
}

/// Polls `work` until `end` ends.
async fn until(end: impl Future<Output = ()>, work: impl Future<Output = ()>) {
    let (mut end, mut work) = (pin!(end), pin!(work));
    poll_fn(|context| match end.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => work.as_mut().poll(context),
    })
    .await;
}

/// Accepts without an end.
async fn accept(listener: &TcpListener, host: &Host) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => open(host, stream, peer),
            Err(error) => {
                host.logger()
                    .warn(format_args!("a connection cannot be accepted: {error}"));
                task::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn open(host: &Host, stream: TcpStream, peer: net::SocketAddr) {
    // Replies are whole writes: waiting for more only delays them.
    let _ = stream.set_nodelay(true);
    if let Some(connection) = host.open(peer.ip().to_string()) {
        drop(task::spawn(connection.serve(Socket(stream))));
    }
}

struct Socket(TcpStream);

impl Stream for Socket {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        into: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        socket::poll_read(&mut self.0, context, into)
    }

    fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        chunks: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        socket::poll_write(&mut self.0, context, chunks)
    }
}
