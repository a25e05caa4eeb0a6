//! What the bench and the test of allocations share.

pub mod allocations;
pub mod samples;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

use ackord_proto::{Message, Reader, Writer};
use bytes::Bytes;

/// The message as chunks, begun like a frame.
pub fn encode<M: Message>(message: &M, version: i16) -> Vec<Bytes> {
    let mut w = Writer::with_capacity(512);
    message.encode(version, &mut w).expect("can be said");
    w.into_chunks()
}

/// The message from one piece.
pub fn decode<M: Message>(bytes: &Bytes, version: i16) -> M {
    M::decode(version, &mut Reader::new(bytes.clone())).expect("well-formed")
}
