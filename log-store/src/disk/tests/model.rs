//! Any changes, reads, ends and kills give what a simple store in memory gives.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Act {
    Append(Vec<(i32, i64, usize)>),
    Checkpoint(i32, usize),
    Drop(i32),
    Find(i32, i64, i64),
    Kill,
    Read(i32, i64, usize),
    Reopen,
    Settle,
    /// How far of the log, in tenths.
    Trim(i32, i64),
}

fn act() -> impl Strategy<Value = Act> {
    let log = 0..4_i32;
    let batch = (
        log.clone(),
        1..4_i64,
        prop_oneof![61..200_usize, 500..3000_usize],
    );
    prop_oneof![
        12 => vec(batch, 1..5).prop_map(Act::Append),
        2 => (log.clone(), 0..900_usize).prop_map(|(log, size)| Act::Checkpoint(log, size)),
        1 => log.clone().prop_map(Act::Drop),
        3 => (log.clone(), 0..60_i64, 0..600_i64).prop_map(|(log, from, at)| Act::Find(log, from, at)),
        1 => Just(Act::Kill),
        4 => (log.clone(), 0..60_i64, 0..9000_usize).prop_map(|(log, from, max)| Act::Read(log, from, max)),
        1 => Just(Act::Reopen),
        2 => Just(Act::Settle),
        4 => (log, 0..12_i64).prop_map(|(log, tenths)| Act::Trim(log, tenths)),
    ]
}

struct Pair {
    dir: TempDir,
    disk: Option<Opened>,
    memory: Memory,
    sync: bool,
}

impl Pair {
    fn disk(&mut self) -> &mut Opened {
        self.disk.as_mut().expect("open")
    }

    fn commit(&mut self, change: Change) {
        self.memory.commit(vec![change.clone()]).expect("memory");
        self.disk().commit(change);
    }

    fn head(&self, partition: i32) -> Head {
        self.memory.head(log(partition)).expect("memory")
    }

    fn open(&mut self) {
        self.disk = None;
        self.disk = Some(open(self.dir.path(), self.sync, small()).expect("opens"));
        assert_eq!(self.disk().contents(), contents(&self.memory));
    }

    fn append(&mut self, batches: Vec<(i32, i64, usize)>) {
        let mut ends = BTreeMap::new();
        let mut parts = Vec::new();
        for (partition, records, size) in batches {
            let end = ends
                .entry(partition)
                .or_insert_with(|| self.head(partition).end);
            parts.push(part(partition, *end, records, size));
            *end += records;
        }
        self.commit(Change::Append { parts });
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Append(batches) => self.append(batches),
            Act::Checkpoint(partition, size) => {
                let Head { start, end } = self.head(partition);
                let at = start + (end - start) / 2;
                self.commit(Change::Checkpoint {
                    log: log(partition),
                    at,
                    state: vec![size as u8; size].into(),
                });
            }
            Act::Drop(partition) => self.commit(Change::Drop {
                log: log(partition),
            }),
            Act::Find(partition, from, timestamp) => {
                let view = self.disk().disk.view().expect("a view");
                let found = view.find(log(partition), from, timestamp);
                assert_eq!(found, self.memory.find(log(partition), from, timestamp));
            }
            Act::Kill => {
                let image = image(self.dir.path());
                self.disk = None;
                self.dir = image;
                self.open();
            }
            Act::Read(partition, from, max) => {
                let view = self.disk().disk.view().expect("a view");
                let read = view.read(log(partition), from, max);
                assert_eq!(read, self.memory.read(log(partition), from, max));
            }
            Act::Reopen => self.open(),
            Act::Settle => self.disk().settle(),
            Act::Trim(partition, tenths) => {
                let Head { start, end } = self.head(partition);
                let start_now = start + (end - start) * tenths / 10;
                if start_now > start {
                    self.commit(trim(partition, start_now, end.max(start_now)));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_store_is_as_one_in_memory(sync in any::<bool>(), acts in vec(act(), 1..150)) {
        let dir = directory();
        let disk = open(dir.path(), sync, small()).expect("opens");
        let mut pair = Pair { dir, disk: Some(disk), memory: Memory::default(), sync };
        for act in acts {
            // An image is one moment only while nothing works.
            if matches!(act, Act::Kill) {
                pair.disk().quiesce();
            }
            pair.act(act);
        }
        prop_assert_eq!(pair.disk().contents(), contents(&pair.memory));
        pair.open();
    }
}
