//! Random clients, crashes, lost and repeated messages: whatever comes, a transaction has one
//! outcome, a pair of producer id and epoch has one holder, and in the end everything ends.

use ackord_machine::Entropy;

use super::*;

const IDS: [&str; 2] = ["t", "u"];
const TOPICS: [&str; 3] = ["a", "b", SHARE];

struct Run {
    w: World,
    chance: Entropy,
    /// What each client believes to hold.
    held: [Pair; 2],
    /// Markers that were ever sent.
    markers: Vec<Envelope>,
    /// Outcome and marker epoch by transactional id and ordinal.
    outcomes: BTreeMap<(i64, i64), (i16, bool)>,
    /// Pairs that InitProducerId gave to a producer that starts.
    given: BTreeSet<Pair>,
}

impl Run {
    fn step(&mut self) {
        let n = self.chance.below(2) as usize;
        let (id, pair) = (IDS[n], self.held[n]);
        let topic = TOPICS[self.chance.below(3) as usize];
        let partition = self.chance.below(2) as i32;
        match self.chance.below(12) {
            0 => {
                if let Ok(pair) = self.w.init(id) {
                    assert!(self.given.insert(pair), "{pair:?} given twice");
                    self.keep(n, pair);
                }
            }
            1 => {
                if let Ok(pair) = self.w.init_as(id, pair, 5) {
                    self.keep(n, pair);
                }
            }
            2 => drop(self.w.add(id, pair, &[(topic, partition)])),
            3 => drop(self.w.add_acks(id, pair, &[partition])),
            4 | 5 => {
                let sent = core::mem::take(&mut self.w.sent);
                self.w.produce(id, pair, topic, partition);
                self.w.sent = sent;
            }
            6 | 7 => {
                let version = [3, 5, 5][self.chance.below(3) as usize];
                let slot = self.w.end(id, pair, version, self.chance.below(2) == 0);
                self.deliver();
                if let Some(Ok(pair)) = self.w.ended(slot) {
                    self.keep(n, pair);
                }
            }
            8 => self.w.advance(self.chance.below(20_000) as i64),
            9 => self.w.restart(),
            10 if !self.markers.is_empty() => {
                // An old answer once more.
                let index = self.chance.below(self.markers.len() as u64) as usize;
                let marker = self.markers[index].clone();
                self.w.answer(&marker, ErrorCode::NONE);
            }
            _ => self.deliver(),
        }
        self.note_markers();
    }

    /// The answer may be lost.
    fn keep(&mut self, n: usize, pair: Pair) {
        if self.chance.below(4) > 0 {
            self.held[n] = pair;
        }
    }

    /// Some markers are lost, some refused, the others written, in any order.
    fn deliver(&mut self) {
        self.note_markers();
        let mut sent = core::mem::take(&mut self.w.sent);
        while !sent.is_empty() {
            let envelope = sent.swap_remove(self.chance.below(sent.len() as u64) as usize);
            match self.chance.below(5) {
                0 => {}
                1 => self.w.answer(&envelope, ErrorCode::NOT_LEADER_OR_FOLLOWER),
                _ => self.w.answer(&envelope, ErrorCode::NONE),
            }
        }
    }

    fn note_markers(&mut self) {
        for envelope in &self.w.sent {
            let (pid, epoch, commit, _, ordinal) = marker_of(envelope);
            let before = self.outcomes.insert((pid, ordinal), (epoch, commit));
            assert!(
                before.is_none_or(|before| before == (epoch, commit)),
                "two outcomes"
            );
            self.markers.push(envelope.clone());
        }
    }
}

#[test]
fn any_history_has_one_outcome_each_and_ends() {
    let (mut committed, mut aborted) = (0, 0);
    for seed in 0..60 {
        let mut w = World::new();
        if seed % 3 == 0 {
            super::epochs::at_epoch(&mut w, "t", 32760);
        }
        let mut run = Run {
            w,
            chance: Entropy::from_seed([seed; 32]),
            held: [(500, 32760), (-1, -1)],
            markers: Vec::new(),
            outcomes: BTreeMap::new(),
            given: BTreeSet::new(),
        };
        for _ in 0..300 {
            run.step();
        }
        committed += run.outcomes.values().filter(|(_, commit)| *commit).count();
        aborted += run.outcomes.values().filter(|(_, commit)| !commit).count();
        // The faults stop.
        for _ in 0..3 {
            run.w.advance(60_000);
            run.w.write_markers();
        }
        assert!(
            (run.w.tc.transactions()).all(|t| !run.w.tc.is_under_way(t.producer_id)),
            "seed {seed}"
        );
        assert_eq!(run.w.tc.next_deadline(), None);
        for id in IDS {
            assert!(run.w.init(id).is_ok());
        }
    }
    assert!(
        committed > 100 && aborted > 400,
        "too little happens: {committed}, {aborted}"
    );
}
