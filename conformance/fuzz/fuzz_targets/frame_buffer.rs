//! A stream cut into reads in any way gives the same frames as in one read. The input begins with
//! how many bytes a read has, in turns.
#![no_main]

use ackord_fuzz::bounded;
use ackord_proto::frame::{FrameBuffer, FrameError};
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 4096;

fuzz_target!(|data: &[u8]| {
    let [a, b, stream @ ..] = data else {
        return;
    };
    let whole = bounded(data.len(), || cut(stream, [usize::MAX; 2]));
    let parts = bounded(data.len(), || {
        cut(stream, [1 + usize::from(*a), 1 + usize::from(*b)])
    });
    assert_eq!(whole, parts);
});

/// The frames, the error that ended the stream, and what is left.
type Cut = (Vec<Bytes>, Option<FrameError>, usize);

fn cut(mut stream: &[u8], sizes: [usize; 2]) -> Cut {
    let mut buffer = FrameBuffer::new(LIMIT);
    let mut frames = Vec::new();
    for size in sizes.into_iter().cycle() {
        let (read, rest) = stream.split_at(size.min(stream.len()));
        stream = rest;
        buffer.push_slice(read);
        loop {
            let missing = buffer.missing();
            match buffer.next_frame() {
                Ok(Some(frame)) => {
                    assert_eq!(missing, 0);
                    assert!(frame.len() <= LIMIT);
                    frames.push(frame);
                }
                Ok(None) => {
                    assert!(missing > 0);
                    break;
                }
                Err(error) => return (frames, Some(error), 0),
            }
        }
        if stream.is_empty() {
            break;
        }
    }
    (frames, None, buffer.buffered())
}
