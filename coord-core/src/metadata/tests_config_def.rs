//! The tables of configurations.

use super::config_def::*;

#[test]
fn every_default_is_a_valid_value_and_names_are_sorted() {
    for defs in [TOPIC_CONFIGS, super::GROUP_CONFIGS, BROKER_CONFIGS] {
        for def in defs.iter().filter(|def| !def.default.is_empty()) {
            assert_eq!(def.check(def.default), Ok(()), "{}", def.name);
        }
        assert!(defs.windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}

#[test]
fn a_bad_value_names_itself_and_its_bounds() {
    let def = find(TOPIC_CONFIGS, "retention.bytes").unwrap();
    assert_eq!(
        def.check("-2").unwrap_err(),
        "Invalid value -2 for configuration retention.bytes: Value must be at least -1"
    );
    let ratio = find(TOPIC_CONFIGS, "min.cleanable.dirty.ratio").unwrap();
    assert!(ratio.check("1.0").is_ok() && ratio.check("0.25").is_ok());
    for bad in ["1.5", ".", "-1", "2", "x", "1.01"] {
        assert!(ratio.check(bad).is_err(), "{bad}");
    }
}
