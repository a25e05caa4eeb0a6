//! The states of small worlds of transactional acknowledgement (KIP-1289): a transaction
//! coordinator, a share coordinator with its log, and the leader of a partition, all of them the
//! real machines, with a network between them that loses, repeats, delays and reorders.
//!
//! A step is something that happens (a fetch, a stage, the end of a transaction, a crash, a drop) with all
//! messages that follow from it. At most one of them suffers a fault. Delayed messages and copies
//! are held, at most a given number at one time, and arrive whenever; losses and repeats have no
//! limit. From the first state every step is tried in every state that comes up, breadth first, until
//! nothing new does or a number of steps was tried. Each step is checked; where nothing new is left,
//! also that from every state the world can settle without further faults.

mod check;
mod digest;
mod explore;
mod network;
mod world;

use explore::explore;
use network::Sabotage;
use world::{Scale, UNLIMITED_CRASHES, World};

/// Two of everything, three records; any number of transactions and crashes, no faults of the network.
const FULL: Scale = Scale {
    records: 3,
    members: 2,
    producers: 2,
    transactions: usize::MAX,
    count_limit: 1,
    open: 1,
    losses: false,
    held: 0,
    crashes: UNLIMITED_CRASHES,
    epoch_per_txn: true,
};

const SMALL: Scale = Scale {
    records: 1,
    members: 1,
    producers: 1,
    count_limit: 2,
    losses: true,
    held: 1,
    crashes: 0,
    ..FULL
};

/// Explores to closure.
fn closure(title: &str, scale: Scale) {
    let explored = explore(World::new(scale), u64::MAX).unwrap_or_else(|broken| panic!("{broken}"));
    println!("{title}: {explored}");
    assert!(explored.open == 0 && explored.states > 100, "{explored}");
}

#[test]
fn one_of_everything_with_losses_and_a_delayed_message() {
    closure(
        "1 member, 1 record, 1 producer, losses, 1 delayed message",
        SMALL,
    );
}

/// All transactions of a producer have one epoch, and only their ordinals tell them apart.
#[test]
fn transaction_version_1() {
    let scale = Scale {
        epoch_per_txn: false,
        ..SMALL
    };
    closure("transaction version 1, losses, 1 delayed message", scale);
}

#[test]
fn two_of_everything_with_crashes() {
    let scale = Scale { records: 2, ..FULL };
    closure("2 members, 2 records, 2 producers, crashes", scale);
}

#[test]
#[ignore = "for a release build"]
fn three_records_and_two_of_everything_else_with_crashes() {
    closure("2 members, 3 records, 2 producers, crashes", FULL);
}

#[test]
#[ignore = "for a release build"]
fn two_of_everything_with_losses() {
    let scale = Scale {
        records: 2,
        losses: true,
        crashes: 0,
        ..FULL
    };
    closure("2 members, 2 records, 2 producers, losses", scale);
}

#[test]
#[ignore = "for a release build"]
fn one_of_everything_with_losses_and_crashes() {
    let scale = Scale {
        held: 0,
        crashes: UNLIMITED_CRASHES,
        ..SMALL
    };
    closure("1 member, 1 record, 1 producer, losses, crashes", scale);
}

#[test]
#[ignore = "for a release build"]
fn one_of_everything_with_losses_a_delayed_message_and_a_crash() {
    let scale = Scale {
        crashes: 1,
        count_limit: 1,
        ..SMALL
    };
    let title = "1 member, 1 record, 1 producer, losses, 1 delayed message, 1 crash";
    closure(title, scale);
}

/// The model bites: each of these breaks one rule that the protocol stands on, and is found.
#[test]
fn every_broken_rule_is_found() {
    for sabotage in Sabotage::ALL {
        let scale = Scale {
            epoch_per_txn: sabotage != Sabotage::OrdinalsAreForgotten,
            crashes: u8::from(sabotage.needs_a_crash()),
            open: 2,
            ..SMALL
        };
        let world = World::new(scale).with(sabotage);
        let found = explore(world, 1_000_000);
        let broken = found
            .err()
            .unwrap_or_else(|| panic!("{sabotage:?} is not found"));
        println!("{sabotage:?}: {broken}");
    }
}

/// The machines themselves made wrong, by faults that the simulator plants too. One at a time for the
/// whole process, so it is no test beside others: `.ci/step` runs it alone.
#[cfg(feature = "planted")]
#[test]
#[ignore = "changes what other tests run on"]
fn every_planted_fault_is_found() {
    let crashes = Scale { records: 1, ..FULL };
    for (name, scale) in [("row-38-pending-not-handed-over", crashes)] {
        ackord_machine::planted::choose(ackord_machine::planted::index(name));
        let found = explore(World::new(scale), 1_000_000);
        ackord_machine::planted::choose(0);
        match found {
            Ok(explored) => panic!("{name} is not found: {explored}"),
            Err(broken) => println!("{name}: {broken}"),
        }
    }
}
