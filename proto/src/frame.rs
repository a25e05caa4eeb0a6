//! `FrameBuffer`: cuts a stream of bytes into frames, each led by its size in four bytes.

use alloc::collections::VecDeque;
use core::fmt;

use bytes::{Bytes, BytesMut};

/// The bytes of the size before a frame.
const SIZE: usize = 4;

/// A size that no frame may have. The stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// Below zero.
    Negative(i32),
    /// Above the limit, both in bytes.
    TooLarge {
        /// The size of the frame.
        size: usize,
        /// The limit.
        limit: usize,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Negative(size) => write!(f, "frame of negative size {size}"),
            Self::TooLarge { size, limit } => {
                write!(f, "frame of {size} bytes is above the limit of {limit}")
            }
        }
    }
}

impl core::error::Error for FrameError {}

/// The four bytes before a frame of this size; `None` where they cannot say it.
pub fn encode_size(size: usize) -> Option<[u8; 4]> {
    i32::try_from(size).ok().map(i32::to_be_bytes)
}

/// Received bytes that wait to be cut into frames.
#[derive(Debug)]
pub struct FrameBuffer {
    reads: VecDeque<Bytes>,
    buffered: usize,
    limit: usize,
}

impl FrameBuffer {
    /// A buffer that refuses frames of more than `limit` bytes (Kafka: socket.request.max.bytes).
    pub fn new(limit: usize) -> Self {
        Self {
            reads: VecDeque::new(),
            buffered: 0,
            limit,
        }
    }

    /// Appends what was read. Give a `Bytes` to avoid a copy.
    pub fn push(&mut self, read: impl Into<Bytes>) {
        let read = read.into();
        if !read.is_empty() {
            self.buffered += read.len();
            self.reads.push_back(read);
        }
    }

    /// Appends a copy of what was read.
    pub fn push_slice(&mut self, read: &[u8]) {
        self.push(Bytes::copy_from_slice(read));
    }

    /// The number of bytes that wait.
    pub fn buffered(&self) -> usize {
        self.buffered
    }

    /// How many bytes are missing to the end of the next frame, as far as known; 0 where the
    /// frame is there or its size is bad.
    pub fn missing(&self) -> usize {
        let size = match self.peek_size() {
            Some(size) => usize::try_from(size).unwrap_or(0),
            None => 0,
        };
        (SIZE + size).saturating_sub(self.buffered)
    }

    /// The next whole frame without its size, or `None` until more bytes come. No copy where
    /// the frame lies in one read.
    ///
    /// # Errors
    /// As soon as the size is known, and again at each later call.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some(raw) = self.peek_size() else {
            return Ok(None);
        };
        let size = usize::try_from(raw).map_err(|_| FrameError::Negative(raw))?;
        if size > self.limit {
            return Err(FrameError::TooLarge {
                size,
                limit: self.limit,
            });
        }
        if self.buffered < SIZE + size {
            return Ok(None);
        }
        self.take(SIZE);
        Ok(Some(self.take(size)))
    }

    fn peek_size(&self) -> Option<i32> {
        let mut bytes = [0; SIZE];
        let mut waiting = self.reads.iter().flatten();
        for byte in &mut bytes {
            *byte = *waiting.next()?;
        }
        Some(i32::from_be_bytes(bytes))
    }

    /// Takes bytes from the front; at most what is there.
    fn take(&mut self, n: usize) -> Bytes {
        let n = n.min(self.buffered);
        self.buffered -= n;
        if let Some(front) = self.reads.front_mut().filter(|front| front.len() > n) {
            return front.split_to(n);
        }
        if self.reads.front().is_some_and(|front| front.len() == n) {
            return self.reads.pop_front().unwrap_or_default();
        }
        let mut joined = BytesMut::with_capacity(n);
        while joined.len() < n {
            let Some(front) = self.reads.front_mut() else {
                break;
            };
            let part = front.split_to(front.len().min(n - joined.len()));
            joined.extend_from_slice(&part);
            if front.is_empty() {
                self.reads.pop_front();
            }
        }
        joined.freeze()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn stream(frames: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for frame in frames {
            bytes.extend_from_slice(&encode_size(frame.len()).unwrap());
            bytes.extend_from_slice(frame);
        }
        bytes
    }

    #[test]
    fn frames_come_out_however_the_stream_is_cut() {
        let frames: [&[u8]; 4] = [b"first", b"", b"a longer third frame", b"x"];
        let bytes = stream(&frames);
        for step in 1..=bytes.len() {
            let mut buffer = FrameBuffer::new(100);
            let mut found = Vec::new();
            for part in bytes.chunks(step) {
                buffer.push_slice(part);
                while let Some(frame) = buffer.next_frame().unwrap() {
                    found.push(frame);
                }
            }
            assert_eq!(found, frames, "cut into pieces of {step}");
            assert_eq!(buffer.buffered(), 0);
        }
    }

    #[test]
    fn a_frame_inside_one_read_is_not_copied() {
        let read = Bytes::from(stream(&[b"one", b"two"]));
        let mut buffer = FrameBuffer::new(100);
        buffer.push(read.clone());
        for at in [4, 11] {
            let frame = buffer.next_frame().unwrap().unwrap();
            assert_eq!(frame.as_ptr(), read[at..].as_ptr());
        }
        assert_eq!(buffer.next_frame(), Ok(None));
    }

    #[test]
    fn bad_sizes_are_refused_before_the_content() {
        let mut buffer = FrameBuffer::new(10);
        buffer.push_slice(&11_i32.to_be_bytes());
        assert_eq!(
            buffer.next_frame(),
            Err(FrameError::TooLarge {
                size: 11,
                limit: 10
            })
        );
        let mut buffer = FrameBuffer::new(10);
        buffer.push_slice(&(-3_i32).to_be_bytes());
        assert_eq!(buffer.next_frame(), Err(FrameError::Negative(-3)));
    }

    #[test]
    fn what_is_missing_is_known() {
        let mut buffer = FrameBuffer::new(10);
        assert_eq!(buffer.missing(), 4);
        buffer.push_slice(&[0, 0]);
        assert_eq!(buffer.missing(), 2);
        buffer.push_slice(&[0, 5, 1]);
        assert_eq!(buffer.missing(), 4);
        buffer.push_slice(&[1, 1, 1, 1]);
        assert_eq!(buffer.missing(), 0);
    }
}
