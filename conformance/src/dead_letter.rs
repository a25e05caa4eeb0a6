//! How a dead letter reads in scripts: `VALUE@TOPIC-PARTITION:OFFSET/GROUP/COUNT/CAUSE`.

use ackord_proto::records::RecordHeaders;

const PREFIX: &str = "__dlq.errors.";
/// The headers in their order, after the prefix.
const NAMES: [&str; 6] = [
    "topic",
    "partition",
    "offset",
    "group",
    "delivery.count",
    "message",
];

/// The text of a record of a dead letter queue, made from its value and its headers; `None` for any
/// other record.
pub fn text(value: Option<&[u8]>, headers: &RecordHeaders) -> Option<String> {
    let headers: Vec<(String, String)> = headers
        .iter()
        .map(|header| {
            (
                string(&header.key),
                string(&header.value.unwrap_or_default()),
            )
        })
        .collect();
    if !headers.iter().any(|(name, _)| name.starts_with(PREFIX)) {
        return None;
    }
    let names = headers.iter().map(|(name, _)| name.strip_prefix(PREFIX));
    let value = value.map_or("null".to_string(), string);
    if !names.eq(NAMES.map(Some)) {
        return Some(format!("{value}@bad headers: {headers:?}"));
    }
    let [topic, partition, offset, group, count, message] =
        [0, 1, 2, 3, 4, 5].map(|n| &headers[n].1);
    let cause = match message.as_str() {
        "Offset rejected by client." => "rejected",
        "Offset delivery count exceeded the threshold." => "limit",
        other => other,
    };
    Some(format!(
        "{value}@{topic}-{partition}:{offset}/{group}/{count}/{cause}"
    ))
}

/// The record that a dead letter is of: group, partition and offset as text.
pub(crate) fn origin(text: &str) -> Option<(String, String, i64)> {
    let (_, rest) = text.rsplit_once('@')?;
    let mut parts = rest.split('/');
    let (partition, offset) = parts.next()?.rsplit_once(':')?;
    let group = parts.next()?;
    Some((
        group.to_string(),
        partition.to_string(),
        offset.parse().ok()?,
    ))
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
