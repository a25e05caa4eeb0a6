//! What a topic may be called.

use alloc::format;
use alloc::string::{String, ToString};

/// Checks a topic name by Kafka's rules.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn check_topic_name(name: &str) -> Result<(), String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() {
        return Err("Topic name is invalid: the empty string is not allowed".to_string());
    }
    if name == "." || name == ".." {
        return Err(format!("Topic name is invalid: '{name}' is not allowed"));
    }
    if name.len() > 249 {
        return Err(format!(
            "Topic name is invalid: the length of '{name}' is longer than the max allowed length 249"
        ));
    }
    if !name.chars().all(legal) {
        return Err(format!(
            "Topic name is invalid: '{name}' contains one or more characters other than ASCII \
             alphanumerics, '.', '_' and '-'"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_as_by_kafka() {
        for good in ["a", "A.b_c-9", "__x", &"x".repeat(249)] {
            assert_eq!(check_topic_name(good), Ok(()));
        }
        for bad in ["", ".", "..", "a b", "a/b", "ä", &"x".repeat(250)] {
            assert!(check_topic_name(bad).is_err(), "{bad}");
        }
    }
}
