//! The example keeps the four rules of an adapter.

use ackord_conformance::adapter;

#[test]
fn the_rules_of_an_adapter_are_kept() {
    let breaches = adapter::check(|listener, probe| {
        let _ = super::serve(listener, |_| probe);
    });
    assert!(breaches.is_empty(), "{breaches:#?}");
}
