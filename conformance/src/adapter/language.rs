//! What clients of the probe say. A frame is a verb, a space, an argument, a space, and anything.

use bytes::Bytes;

/// One frame, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// Send so many KiB, then close the connection.
    Bye(usize),
    /// Send the frame back, in several chunks.
    Echo,
    /// Answer when all that was sent to the named connection has left.
    Flushed(String),
    /// Answer when the named connection is gone.
    Gone(String),
    /// Answer, and give credit, only at a release of this name.
    Hold(String),
    /// Give the connection a name.
    Name(String),
    /// Answer what is held under this name.
    Release(String),
    /// Run the storage case.
    Store,
    /// Answer after so many milliseconds.
    Timer(i64),
}

impl Verb {
    /// `None` for anything else, which only a broken adapter makes of our frames.
    pub(super) fn parse(frame: &Bytes) -> Option<Verb> {
        let mut parts = frame.splitn(3, |byte| *byte == b' ');
        let verb = std::str::from_utf8(parts.next()?).ok()?;
        let argument = std::str::from_utf8(parts.next()?).ok()?;
        Some(match verb {
            "bye" => Verb::Bye(argument.parse().ok()?),
            "echo" => Verb::Echo,
            "flushed" => Verb::Flushed(argument.into()),
            "gone" => Verb::Gone(argument.into()),
            "hold" => Verb::Hold(argument.into()),
            "name" => Verb::Name(argument.into()),
            "release" => Verb::Release(argument.into()),
            "store" => Verb::Store,
            "timer" => Verb::Timer(argument.parse().ok()?),
            _ => return None,
        })
    }
}

/// What [`Verb::Bye`] sends: bytes that differ from place to place.
pub(super) fn farewell(kibibytes: usize) -> Vec<u8> {
    (0..kibibytes * 1024)
        .map(|index| (index % 251) as u8)
        .collect()
}
