//! Taking a ShareUpdate into a state, against a model that knows each offset by itself.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use ackord_proto::messages::write_share_group_state as write;

use super::super::delivery_ranges::Delivery;
use super::super::records::ShareUpdate;
use super::super::state::ShareState;

/// Offsets of the small world.
const OFFSETS: i64 = 3;
const NONE: Option<Delivery> = None;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Model {
    start: i64,
    offsets: BTreeMap<i64, Delivery>,
}

impl Model {
    fn merge(&mut self, batches: &[(i64, i64, Delivery)], start: i64) {
        for (first, last, delivery) in batches {
            for offset in *first..=*last {
                let kept = self.offsets.entry(offset).or_insert(*delivery);
                // The higher count holds, then the later state.
                if (delivery.count, delivery.state) > (kept.count, kept.state) {
                    *kept = *delivery;
                }
            }
        }
        self.start = self.start.max(start);
        self.offsets.retain(|offset, _| *offset >= self.start);
        while self
            .offsets
            .get(&self.start)
            .is_some_and(|delivery| matches!(delivery.state, 2 | 4))
        {
            self.offsets.remove(&self.start);
            self.start += 1;
        }
    }
}

fn deliveries() -> Vec<Option<Delivery>> {
    let mut all = vec![NONE];
    for count in [1, 2] {
        all.extend([0, 4].map(|state| Some(Delivery { count, state })));
    }
    all
}

/// No batch, or one range with one delivery.
fn batches() -> Vec<Option<(i64, i64, Delivery)>> {
    let mut all = vec![None];
    for first in 0..OFFSETS {
        for last in first..OFFSETS {
            let each = deliveries().into_iter().flatten();
            all.extend(each.map(|delivery| Some((first, last, delivery))));
        }
    }
    all
}

fn update(batches: &[(i64, i64, Delivery)], start_offset: i64) -> ShareUpdate {
    let batch = |(first_offset, last_offset, delivery): &(i64, i64, Delivery)| write::StateBatch {
        first_offset: *first_offset,
        last_offset: *last_offset,
        delivery_state: delivery.state,
        delivery_count: delivery.count,
        ..Default::default()
    };
    ShareUpdate::of_write(&write::PartitionData {
        start_offset,
        state_batches: batches.iter().map(batch).collect(),
        ..Default::default()
    })
}

fn seen(state: &ShareState) -> Model {
    let offsets = state
        .deliveries
        .iter()
        .flat_map(|(first, last, delivery)| (first..=last).map(move |offset| (offset, delivery)));
    Model {
        start: state.start_offset,
        offsets: offsets.collect(),
    }
}

/// Every state of three offsets, with every update of up to two batches and every start offset, is
/// what the model makes of it.
#[test]
fn every_update_of_a_small_world_is_merged_offset_by_offset() {
    let (each, batches) = (deliveries(), batches());
    let mut cases = 0_u64;
    for world in 0..each.len().pow(OFFSETS as u32) {
        let offset = |place: i64| each[world / each.len().pow(place as u32) % each.len()];
        let known: BTreeMap<i64, Delivery> = (0..OFFSETS)
            .filter_map(|place| Some((place, offset(place)?)))
            .collect();
        let mut state = ShareState::initial(0, 0, 0);
        for (offset, delivery) in &known {
            state.deliveries.merge(*offset, *offset, *delivery);
        }
        for first in &batches {
            for second in &batches {
                let both: Vec<_> = first.iter().chain(second).copied().collect();
                for start in -1..=OFFSETS {
                    let mut state = state.clone();
                    update(&both, start).merge_into(&mut state);
                    let mut model = Model {
                        start: 0,
                        offsets: known.clone(),
                    };
                    model.merge(&both, start);
                    assert_eq!(seen(&state), model, "{known:?} {both:?} {start}");
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(cases, 125 * 25 * 25 * 5);
}

/// What a batch costs does not depend on how much is known: runs arrive in an order that leaves a hole
/// behind each, then the holes are filled.
#[test]
fn many_runs_join_to_one() {
    let acknowledged = Delivery { count: 1, state: 2 };
    let mut state = ShareState::initial(0, 0, 0);
    let runs = 50_000;
    for odd in (1..runs).step_by(2) {
        update(&[(odd, odd, acknowledged)], -1).merge_into(&mut state);
    }
    assert_eq!(state.deliveries.iter().count(), 25_000);
    for even in (0..runs / 2).map(|half| runs - 2 - 2 * half) {
        update(&[(even, even, acknowledged)], -1).merge_into(&mut state);
    }
    assert_eq!(
        (state.start_offset, state.deliveries.is_empty()),
        (runs, true)
    );
}
