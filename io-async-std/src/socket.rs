//! Reads and writes of a socket, as the server and the client want them.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_std::io::{Read, Write};
use async_std::net::TcpStream;
use bytes::BytesMut;

/// Most bytes of one read: the room is filled with zeros first, since the runtime reads into
/// nothing else.
const MOST: usize = 64 * 1024;

pub(crate) fn poll_read(
    socket: &mut TcpStream,
    context: &mut Context<'_>,
    into: &mut BytesMut,
) -> Poll<io::Result<usize>> {
    let here = into.len();
    into.resize(into.capacity().min(here + MOST), 0);
    let room = into.get_mut(here..).unwrap_or_default();
    let read = Pin::new(socket).poll_read(context, room);
    into.truncate(match read {
        Poll::Ready(Ok(count)) => here + count,
        Poll::Ready(Err(_)) | Poll::Pending => here,
    });
    Poll::Ready(ready!(read))
}

pub(crate) fn poll_write(
    socket: &mut TcpStream,
    context: &mut Context<'_>,
    chunks: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    Pin::new(socket).poll_write_vectored(context, chunks)
}
