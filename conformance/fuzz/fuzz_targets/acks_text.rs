//! Acknowledgements as text: any text is read or refused, in memory that follows its length. What is
//! read is ascending and apart, and the same text comes from no other ranges.
#![no_main]

use ackord_coord_core::share::acks_text::{MAX_BYTES, parse};
use ackord_fuzz::bounded;
use libfuzzer_sys::fuzz_target;

/// Acknowledge types by the names that the text has for them.
const KINDS: [(i8, &str); 3] = [(1, "accept"), (3, "reject"), (0, "gap")];

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let ranges = match bounded(data.len(), || parse(text)) {
        Ok(ranges) => ranges,
        Err(error) => {
            assert!(error.at <= text.len() && !error.reason.is_empty());
            return;
        }
    };
    assert!(text.len() <= MAX_BYTES && !ranges.is_empty());
    let mut before = -1;
    for range in &ranges {
        assert!(before < range.first_offset && range.first_offset <= range.last_offset);
        assert!(range.delivery_count.is_some_and(|count| count > 0));
        before = range.last_offset;
    }
    let mut again = Vec::new();
    for (acknowledge_type, name) in KINDS {
        let own = ranges
            .iter()
            .filter(|it| it.acknowledge_type == acknowledge_type);
        let own: Vec<String> = own
            .map(|range| {
                let count = range.delivery_count.unwrap_or_default();
                format!("{}-{}@{count}", range.first_offset, range.last_offset)
            })
            .collect();
        if !own.is_empty() {
            again.push(format!("{name}={}", own.join(",")));
        }
    }
    let again = format!("acks:{}", again.join(";"));
    // Each range in full may be longer than the text that it came from.
    if again.len() <= MAX_BYTES {
        assert_eq!(parse(&again), Ok(ranges));
    }
});
