//! The cases, as the clients of the probe play them.

use std::io;
use std::net::SocketAddr;

use super::client::{Client, frame};
use super::language::farewell;
use super::{Book, Rule};

/// An adapter that reads ahead of its credits takes more than this of a flood, kernel buffers
/// included.
const READ_AHEAD: usize = 32 << 20;
const FLOOD: usize = 64 << 20;

/// More than sockets buffer.
const FAREWELL_KIB: usize = 16 << 10;

/// What a case does; errors are answers that did not come.
type Case = fn(SocketAddr, &Book) -> io::Result<()>;

const CASES: [(Rule, &str, Case); 9] = [
    (
        Rule::Writes,
        "frames and replies however they are cut",
        echoes,
    ),
    (Rule::Writes, "all bytes are reported as sent", reports),
    (
        Rule::Storage,
        "two logs are written, read and dropped",
        storage,
    ),
    (
        Rule::Deadlines,
        "a deadline while nothing else happens",
        lonely_deadline,
    ),
    (
        Rule::Deadlines,
        "an earlier deadline after a later one",
        earlier_deadline,
    ),
    (
        Rule::Deadlines,
        "a deadline while clients are busy",
        busy_deadline,
    ),
    (
        Rule::Writes,
        "what is queued goes out before a close",
        close,
    ),
    (Rule::Writes, "the end of a connection is told", peer_ends),
    (
        Rule::Credits,
        "without a credit the socket is not read",
        flood,
    ),
];

pub(super) fn run(address: SocketAddr, book: &Book) {
    for (rule, name, case) in CASES {
        if let Err(error) = case(address, book) {
            book.note(rule, format!("{name}: no answer ({})", error.kind()));
        }
    }
}

fn echoes(address: SocketAddr, book: &Book) -> io::Result<()> {
    let mut client = Client::connect(address)?;
    let large = [b"echo large ".to_vec(), farewell(300)].concat();
    let texts = [&b"echo a one"[..], b"echo b ", &large, b"echo c four"];
    let stream: Vec<u8> = texts.iter().flat_map(|text| frame(text)).collect();
    // All at once, then cut into odd pieces.
    for piece in [stream.len(), 4093] {
        for part in stream.chunks(piece) {
            client.write(part)?;
        }
        for text in texts {
            if client.receive()? != text {
                book.note(Rule::Writes, "a reply came back changed, or out of order");
            }
        }
    }
    Ok(())
}

fn reports(address: SocketAddr, _book: &Book) -> io::Result<()> {
    let mut client = Client::connect(address)?;
    client.ask(b"name reported ")?;
    client.ask(&[b"echo large ".to_vec(), farewell(300)].concat())?;
    Client::connect(address)?
        .ask(b"flushed reported ")
        .map(drop)
}

fn storage(address: SocketAddr, _book: &Book) -> io::Result<()> {
    Client::connect(address)?.ask(b"store now ").map(drop)
}

fn lonely_deadline(address: SocketAddr, _book: &Book) -> io::Result<()> {
    Client::connect(address)?.ask(b"timer 100 ").map(drop)
}

fn earlier_deadline(address: SocketAddr, _book: &Book) -> io::Result<()> {
    let (mut later, mut earlier) = (Client::connect(address)?, Client::connect(address)?);
    later.send(b"timer 3600000 ")?;
    // Its answer shows that the later one is known.
    Client::connect(address)?.ask(b"echo a ")?;
    earlier.ask(b"timer 100 ").map(drop)
}

fn busy_deadline(address: SocketAddr, _book: &Book) -> io::Result<()> {
    let (mut timed, mut busy) = (Client::connect(address)?, Client::connect(address)?);
    timed.send(b"timer 50 ")?;
    for _ in 0..2_000 {
        busy.ask(b"echo a ")?;
    }
    timed.receive().map(drop)
}

fn close(address: SocketAddr, book: &Book) -> io::Result<()> {
    let mut client = Client::connect(address)?;
    client.ask(b"name closing ")?;
    let bye = format!("bye {FAREWELL_KIB} ");
    client.send(bye.as_bytes())?;
    // Others are served while this one does not read.
    Client::connect(address)?.ask(b"echo a ")?;
    match client.rest() {
        None => book.note(Rule::Writes, "a connection stays open after its close"),
        Some(bytes) if bytes.len() > FAREWELL_KIB << 10 => {
            book.note(Rule::Writes, "something was sent after a close");
        }
        Some(bytes) if bytes != farewell(FAREWELL_KIB) => {
            book.note(Rule::Writes, "a close cut off what was queued");
        }
        Some(_) => {}
    }
    Client::connect(address)?.ask(b"gone closing ").map(drop)
}

fn peer_ends(address: SocketAddr, _book: &Book) -> io::Result<()> {
    let mut client = Client::connect(address)?;
    client.ask(b"name leaving ")?;
    drop(client);
    Client::connect(address)?.ask(b"gone leaving ").map(drop)
}

fn flood(address: SocketAddr, book: &Book) -> io::Result<()> {
    let mut client = Client::connect(address)?;
    client.send(b"hold flood ")?;
    let text = [&b"echo f "[..], &farewell(4)].concat();
    let taken = client.flood(&text, FLOOD)?;
    if taken > READ_AHEAD {
        book.note(Rule::Credits, "a socket is read without a credit");
    }
    let mut other = Client::connect(address)?;
    other.ask(b"echo a ")?;
    other.ask(b"release flood ")?;
    if client.receive()? != b"hold flood " || client.receive()? != text {
        book.note(Rule::Writes, "a reply came back changed, or out of order");
    }
    Ok(())
}
