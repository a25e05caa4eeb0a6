//! The one list of what we refuse although Kafka accepts it. No real client sends any of it.

/// Something that Kafka lets pass and we refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stricter {
    /// The table, without its ending.
    pub table: &'static str,
    /// Parts of the name of the vector, or of its path and fault.
    pub what: &'static [&'static str],
    /// Why.
    pub reason: &'static str,
}

const fn rule(
    table: &'static str,
    what: &'static [&'static str],
    reason: &'static str,
) -> Stricter {
    Stricter {
        table,
        what,
        reason,
    }
}

const UTF8: &str = "Kafka replaces what is not UTF-8, so a name would come back as another one";
const TAG_SIZE: &str = "the size of a tagged field has to be that of its content";
const LENGTH: &str = "only -1 means null in a record";
const DELTAS: &str = "the records of a client count up from 0";

/// The list.
pub const STRICTER: [Stricter; 17] = [
    rule("malformed", &["not valid UTF-8"], UTF8),
    rule("odd-frames", &["client-id-not-utf8"], UTF8),
    rule("malformed", &["tag size one too many"], TAG_SIZE),
    rule("malformed", &["tag size zero"], TAG_SIZE),
    rule("malformed", &["tag size 2147483647"], TAG_SIZE),
    rule(
        "malformed",
        &["with a size smaller than its content"],
        TAG_SIZE,
    ),
    rule(
        "malformed",
        &["with a size larger than its content"],
        TAG_SIZE,
    ),
    rule(
        "malformed",
        &["tags.", "content left out"],
        "content left out contradicts the size of a tagged field",
    ),
    rule(
        "corrupt-batches",
        &["trailing/7-zero-bytes"],
        "nothing may follow the batch of a partition",
    ),
    rule(
        "corrupt-batches",
        &["base-offset/"],
        "refused by Kafka too, at a later place",
    ),
    rule(
        "corrupt-batches",
        &["attributes/transactional-without-producer"],
        "a transaction belongs to a producer",
    ),
    rule(
        "corrupt-batches",
        &["producer/id-minus-2"],
        "only -1 means no producer",
    ),
    rule("corrupt-batches", &["key-length-minus-2"], LENGTH),
    rule("corrupt-batches", &["value-length-minus-2"], LENGTH),
    rule("corrupt-batches", &["header-value-minus-2"], LENGTH),
    rule("corrupt-batches", &["record/offset-delta-5"], DELTAS),
    rule("corrupt-batches", &["record/offset-delta-negative"], DELTAS),
];

/// Whether the list names it.
pub(super) fn is_stricter(table: &str, what: &str) -> bool {
    STRICTER
        .iter()
        .any(|rule| rule.table == table && rule.what.iter().all(|part| what.contains(part)))
}
