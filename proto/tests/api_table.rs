//! The table of APIs in the documentation is that of the descriptions.

use std::fmt::Write;

use ackord_proto::api::ApiKey;

const TABLE: &str = include_str!("../src/api/versions.md");

fn table() -> String {
    let mut text = String::from(
        "| key | API | versions | flexible from | announced |\n|--:|---|---|--:|---|\n",
    );
    for api in ApiKey::ALL {
        let range = |(from, to): (i16, i16)| match from == to {
            true => from.to_string(),
            false => format!("{from}-{to}"),
        };
        let both = |versions: std::ops::RangeInclusive<i16>| range(versions.into_inner());
        let flexible = api.flexible_from().map(|version| version.to_string());
        writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            api.key(),
            api.name(),
            both(api.versions()),
            flexible.as_deref().unwrap_or("never"),
            both(api.announced_versions()),
        )
        .unwrap();
    }
    text
}

#[test]
fn the_table_in_the_documentation_is_current() {
    let table = table();
    assert!(TABLE == table, "src/api/versions.md should be:\n{table}");
}
