//! Cuts what a socket gives into frames, without a copy of whole frames.

use ackord_proto::frame::FrameError;
use bytes::{Bytes, BytesMut};

/// The bytes of the size before a frame.
const SIZE: usize = 4;
/// What is read at least at once; an idle connection holds nothing.
const FIRST_READ: usize = 4096;
/// How far a frame may be ahead of what has arrived of it: a size alone costs no more memory.
const AHEAD: usize = 64 * 1024;

/// Received bytes in one piece, so that a frame that comes in many reads is not put together.
#[derive(Debug)]
pub(crate) struct Incoming {
    buffer: BytesMut,
    limit: usize,
}

impl Incoming {
    pub(crate) fn new(limit: usize) -> Self {
        Incoming {
            buffer: BytesMut::new(),
            limit,
        }
    }

    /// The next whole frame without its size.
    pub(crate) fn next_frame(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some(size) = self.announced()? else {
            return Ok(None);
        };
        if self.buffer.len() < SIZE + size {
            return Ok(None);
        }
        let frame = self.buffer.split_to(SIZE + size).freeze().slice(SIZE..);
        self.release();
        Ok(Some(frame))
    }

    /// How many bytes have arrived that no frame was cut from.
    pub(crate) fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// The size of the next frame, where it is known.
    pub(crate) fn announced(&self) -> Result<Option<usize>, FrameError> {
        let Some(bytes) = self.buffer.first_chunk::<SIZE>() else {
            return Ok(None);
        };
        let raw = i32::from_be_bytes(*bytes);
        let size = usize::try_from(raw).map_err(|_| FrameError::Negative(raw))?;
        if size > self.limit {
            return Err(FrameError::TooLarge {
                size,
                limit: self.limit,
            });
        }
        Ok(Some(size))
    }

    /// How many bytes of the next frame are not here; 0 where that is not known.
    fn missing(&self) -> usize {
        match self.announced() {
            Ok(Some(size)) => (SIZE + size).saturating_sub(self.buffer.len()),
            Ok(None) | Err(_) => 0,
        }
    }

    fn next_room(&self) -> usize {
        self.missing()
            .clamp(FIRST_READ, self.buffer.len().max(AHEAD))
    }

    /// How much memory the buffer has after the next [`Incoming::room`].
    pub(crate) fn wanted(&self) -> usize {
        let wanted = self.buffer.len() + self.next_room();
        wanted.max(self.buffer.capacity())
    }

    /// The buffer to read into, with room for more. Its length says what has arrived.
    pub(crate) fn room(&mut self) -> &mut BytesMut {
        let (here, room) = (self.buffer.len(), self.next_room());
        if self.buffer.capacity() - here < FIRST_READ.min(room) || self.missing() > 0 {
            self.buffer.reserve(room);
        }
        &mut self.buffer
    }

    /// Gives the memory back where nothing waits.
    pub(crate) fn release(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_however_the_stream_is_cut() {
        let frames = [b"first".to_vec(), vec![], vec![7; 10_000], b"x".to_vec()];
        let mut stream = Vec::new();
        for frame in &frames {
            stream.extend_from_slice(&ackord_proto::frame::encode_size(frame.len()).unwrap());
            stream.extend_from_slice(frame);
        }
        for step in [1, 2, 3, 7, 4096, stream.len()] {
            let mut incoming = Incoming::new(10_000);
            let mut found = Vec::new();
            for part in stream.chunks(step) {
                incoming.room().extend_from_slice(part);
                while let Some(frame) = incoming.next_frame().unwrap() {
                    found.push(frame);
                }
            }
            assert_eq!(found, frames, "cut into pieces of {step}");
            assert_eq!(incoming.buffer.capacity(), 0, "nothing is held");
        }
    }

    #[test]
    fn a_size_alone_takes_little_memory() {
        let mut incoming = Incoming::new(100 << 20);
        incoming
            .room()
            .extend_from_slice(&(100_i32 << 20).to_be_bytes());
        assert_eq!(incoming.next_frame(), Ok(None));
        assert!(incoming.room().capacity() <= 2 * AHEAD);
        let here = 1 << 20;
        incoming.room().extend_from_slice(&vec![0; here]);
        assert!(incoming.room().capacity() <= 4 * here);
    }

    #[test]
    fn bad_sizes_are_refused_before_the_content() {
        let mut incoming = Incoming::new(10);
        incoming.room().extend_from_slice(&11_i32.to_be_bytes());
        assert_eq!(
            incoming.next_frame(),
            Err(FrameError::TooLarge {
                size: 11,
                limit: 10
            })
        );
        let mut incoming = Incoming::new(10);
        incoming.room().extend_from_slice(&(-1_i32).to_be_bytes());
        assert_eq!(incoming.next_frame(), Err(FrameError::Negative(-1)));
    }
}
