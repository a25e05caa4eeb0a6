//! What a share consumer does without a transaction: a record, and plain acknowledgements.

use crate::peer::{Fallible, Peer, Server, take};
use crate::speech::{self, Held, Member, Topic};

/// Acknowledgements beside one record, one range for each record.
pub(crate) const LOADS: [i32; 4] = [1, 10, 100, 1_000];

/// A member of a group in the plain mode, and its output.
pub(crate) struct Worker {
    conn: usize,
    member: Member,
    held: Vec<Held>,
}

impl Worker {
    pub(crate) fn new(server: &mut Server, input: &Topic) -> Fallible<Self> {
        let conn = server.connect()?;
        speech::configure(server, conn, "plain", "share.auto.offset.reset", "latest")?;
        let mut member = Member::join(server, conn, "plain", 0, input)?;
        member.begin(server)?;
        Ok(Worker {
            conn,
            member,
            held: Vec::new(),
        })
    }

    /// Has so many records; what came before of other loads is accepted.
    pub(crate) fn acquire(
        &mut self,
        server: &mut Server,
        input: &Topic,
        count: i32,
    ) -> Fallible<()> {
        while self.member.fetch(server, 10_000)? > 0 {}
        speech::produce(server, self.conn, input, &speech::batch(count, b"value"))?;
        let mut found = 0;
        while found < i64::from(count) {
            found += self.member.fetch(server, count)?;
            self.held.append(&mut self.member.held);
        }
        Ok(())
    }

    /// Sends one record and accepts what it holds; waits when both are sent.
    pub(crate) fn work(&mut self, server: &mut Server, output: &Topic) -> Fallible<()> {
        let record = [(0, speech::batch(1, b"output"))].into_iter();
        let produce = speech::produce_request(output, record);
        let held = std::mem::take(&mut self.held);
        let accept = self.member.accept_request(&held, 1);
        server.send(self.conn, 12, produce.into())?;
        server.send(self.conn, 2, accept.into())?;
        speech::check_produced(&take!(server.answer(self.conn), Produce))?;
        speech::check_acknowledged(&take!(server.answer(self.conn), ShareAcknowledge))
    }
}
