//! The server side: accept, read, write.

use std::io::{self, IoSlice};
use std::net;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ackord_server::{Host, Stream};
use bytes::BytesMut;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

/// Accepting goes on after this time where the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// One core of the broker cannot keep more threads busy.
const MOST_WORKERS: usize = 8;

/// Accepts and serves connections until the host has finished.
///
/// # Errors
///
/// The runtime cannot be started, or the listener cannot be used.
pub fn serve(listener: net::TcpListener, host: Host) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers())
        .enable_io()
        .enable_time()
        .build()?;
    let served = runtime.block_on(accept(listener, host));
    // Tasks of connections that outlived the stop are not waited for.
    runtime.shutdown_background();
    served
}

/// The core and the store have a thread each that is as busy; on a small machine more threads for
/// sockets only wake each other.
fn workers() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.saturating_sub(2).clamp(1, MOST_WORKERS)
}

async fn accept(listener: net::TcpListener, host: Host) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        tokio::select! {
            biased;
            () = host.stopping() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => open(&host, stream, peer),
                Err(error) => {
                    host.logger().warn(format_args!("a connection cannot be accepted: {error}"));
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    host.finished().await;
    Ok(())
}

fn open(host: &Host, stream: TcpStream, peer: net::SocketAddr) {
    // Replies are whole writes: waiting for more only delays them.
    let _ = stream.set_nodelay(true);
    if let Some(connection) = host.open(peer.ip().to_string()) {
        tokio::spawn(connection.serve(Socket(stream)));
    }
}

struct Socket(TcpStream);

impl Stream for Socket {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        into: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_read_ready(context))?;
            match self.0.try_read_buf(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        chunks: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(context))?;
            match self.0.try_write_vectored(chunks) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }
}
