//! What held and what did not, a line each.

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Checks {
    passed: usize,
    failed: usize,
}

impl Checks {
    /// Notes a check by its name: it passed where nothing speaks against it.
    pub(super) fn note(&mut self, name: &str, against: Option<String>) {
        match against {
            None => {
                self.passed += 1;
                println!("PASS {name}");
            }
            Some(sentence) => {
                self.failed += 1;
                println!("FAIL {name}: {sentence}");
            }
        }
    }

    /// How many passed, and how many failed.
    pub(super) fn totals(&self) -> (usize, usize) {
        (self.passed, self.failed)
    }
}

/// Speaks against a check where a count is not 0.
pub(super) fn none_of(count: u64, what: &str) -> Option<String> {
    (count > 0).then(|| format!("{count} {what}"))
}

/// Speaks against a check where a list is not empty, and names its first items.
pub(super) fn none_in<T: ToString>(list: &[T], what: &str) -> Option<String> {
    let some: Vec<_> = list.iter().take(5).map(T::to_string).collect();
    none_of(list.len() as u64, what).map(|sentence| format!("{sentence}: {}", some.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::{Checks, none_in, none_of};

    #[test]
    fn what_speaks_against_a_check_fails_it() {
        let mut checks = Checks::default();
        checks.note("nothing lost", none_of(0, "lost"));
        checks.note("nothing doubled", none_of(2, "doubled"));
        assert_eq!(checks.totals(), (1, 1));
        assert_eq!(none_of(2, "doubled").as_deref(), Some("2 doubled"));
        assert_eq!(
            none_in(&["a", "b"], "left").as_deref(),
            Some("2 left: a; b")
        );
        assert_eq!(none_in::<String>(&[], "left"), None);
    }
}
