//! Which steps applications say, and why others are left out.

use super::*;

const WORLD: &str = "# T\ntopic orders\nc1 produce orders-0 a b\nm1 join g orders\n\
                     m1 fetch orders-0 -> 0-1\np1 init txn-a ; p1 begin\n";

fn speech(steps: &str) -> Result<Speech, String> {
    client_speech(&Script::parse(&format!("{WORLD}{steps}")).expect("a script"))
}

fn acknowledging(steps: &str) -> Acknowledging {
    let speech = speech(steps).expect("a speech");
    speech.readers["m1"].acknowledging
}

#[test]
fn who_acknowledges_shows_in_the_steps() {
    let stage = "p1 add-acks g orders-0 ; p1 stage g m1 orders-0 0-1 accept ; p1 commit";
    assert_eq!(acknowledging(stage), Acknowledging::Transactional);
    assert_eq!(
        acknowledging("m1 ack orders-0 0-1 accept"),
        Acknowledging::Implicit
    );
    for explicit in [
        "m1 ack orders-0 0 accept",
        "m1 ack orders-0 0 accept 1 reject",
        "m1 fetch orders-0 ack orders-0 0-1 release -> 0-1",
    ] {
        assert_eq!(acknowledging(explicit), Acknowledging::Explicit);
    }
}

#[test]
fn what_no_application_says_is_named() {
    for (steps, why) in [
        ("p1 repeat", "cannot repeat"),
        ("p2 copy p1", "cannot be copied"),
        ("p1 commit epoch=+1", "speaks for itself"),
        ("p1 commit v4", "newest version"),
        ("p1 commit -> waiting", "in a call"),
        ("p1 commit -> COORDINATOR_NOT_AVAILABLE", "by itself"),
        ("p1 add-acks g orders-0 ; p1 commit", "where it stages"),
        ("p1 add-acks g orders-0", "where it stages"),
        ("p1 stage g m1 orders-0 0 accept v0", "says who it is"),
        ("p1 stage g m1 orders-0 7 accept", "what it has polled"),
        ("p1 stage h m1 orders-0 0 accept", "polled in"),
        ("p1 send e-0 x -> MESSAGE_TOO_LARGE ; p1 commit", "aborts"),
        ("p1 begin", "is open"),
        ("p1 commit ; p1 send e-0 x", "begins"),
        ("op write-markers p1 e-0 abort", "does not send"),
        ("m1 heartbeat", "own affair"),
        ("m1 join g orders", "already"),
        ("m1 fetch orders-0 max=1 -> nothing", "same settings"),
        ("m1 ack orders-0 5 accept", "what it holds"),
        ("m1 ack orders-0 0 gap", "gaps"),
        (
            "m1 ack orders-0 0 accept ; m1 fetch orders-0 -> nothing",
            "before the next",
        ),
        ("storage hold", "cannot be held"),
    ] {
        let reason = speech(steps).expect_err(steps);
        assert!(reason.contains(why), "{steps}: {reason}");
    }
    let nobody = Script::parse("# T\ntopic orders\n").expect("a script");
    assert!(client_speech(&nobody).is_err());
}
