//! Frames that were read before the core asked for them, beside the core.

use std::collections::VecDeque;

use bytes::Bytes;

/// Those of one connection, or the credits that found none.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    credits: usize,
    frames: VecDeque<Bytes>,
}

impl Waiting {
    /// A frame came: it is handed back where the core waits for it.
    pub(crate) fn arrived(&mut self, frame: Bytes) -> Option<Bytes> {
        if self.credits > 0 {
            self.credits -= 1;
            return Some(frame);
        }
        self.frames.push_back(frame);
        None
    }

    /// The core asks for a frame.
    pub(crate) fn asked(&mut self) -> Option<Bytes> {
        let frame = self.frames.pop_front();
        if frame.is_none() {
            self.credits += 1;
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_gets_one_frame_for_each_credit_in_order() {
        let frame = |text: &'static str| Bytes::from_static(text.as_bytes());
        let mut waiting = Waiting::default();
        assert_eq!(waiting.arrived(frame("a")), None);
        assert_eq!(waiting.arrived(frame("b")), None);
        assert_eq!(waiting.asked(), Some(frame("a")));
        assert_eq!(waiting.asked(), Some(frame("b")));
        assert_eq!(waiting.asked(), None);
        assert_eq!(waiting.arrived(frame("c")), Some(frame("c")));
        assert_eq!(waiting.arrived(frame("d")), None);
    }
}
