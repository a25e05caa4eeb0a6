//! Patterns of topics (`SubscribedTopicRegex`, KIP-848) in the syntax of RE2: no look-around and no
//! references back, so a match takes time linear in the name.
//!
//! A pattern has to match a whole name. Groups capture nothing here and greediness makes no
//! difference, so both are read and forgotten.

mod class;
mod parse;
mod program;

use alloc::string::String;

use program::Program;

/// What is wrong with a pattern, in the words of RE2.
pub(in crate::consumer_group) type PatternError = &'static str;

/// A pattern that can be matched.
#[derive(Clone, Debug)]
pub(in crate::consumer_group) struct TopicPattern(Program);

impl TopicPattern {
    /// # Errors
    /// The pattern breaks the syntax, nests deeper than 1,000 groups or stands for a machine of more
    /// than 10,000 steps.
    pub(in crate::consumer_group) fn new(text: &str) -> Result<Self, PatternError> {
        let parsed = parse::parse(text)?;
        Program::compile(&parsed).map(TopicPattern)
    }

    /// Whether it stands for the whole name.
    pub(in crate::consumer_group) fn matches(&self, name: &str) -> bool {
        self.0.matches(name)
    }
}

/// The sentence for INVALID_REGULAR_EXPRESSION.
pub(in crate::consumer_group) fn complaint(text: &str, error: PatternError) -> String {
    alloc::format!("SubscribedTopicRegex `{text}` is not a valid regular expression: {error}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_names_match() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("orders", &["orders"], &["orders-1", "my-orders", ""]),
            ("a|bc", &["a", "bc"], &["ab", "abc", "c"]),
            ("a(b|c)*d", &["ad", "abd", "abccbd"], &["abe", "a"]),
            ("t[0-9]+", &["t1", "t42"], &["t", "t1a"]),
            ("[^a-c]x", &["dx", "-x"], &["ax", "x"]),
            ("a{2,3}", &["aa", "aaa"], &["a", "aaaa"]),
            ("a{2,}b?", &["aa", "aaaab"], &["ab"]),
            ("(?i)ORDERS", &["orders", "Orders"], &["order"]),
            ("(?i:a)b", &["Ab", "ab"], &["AB"]),
            (r"\Qa.b\E.", &["a.bx"], &["axbx"]),
            (r"\w+\.\d", &["ab_1.5"], &["ab-1.5", "ab_1.x"]),
            ("^a$", &["a"], &["aa"]),
            (r"\bfoo\b.*", &["foo", "foo-bar"], &["foobar"]),
            (r"a\Bb", &["ab"], &["a-b"]),
            (r"[[:alpha:]\d_]+", &["a1_"], &["a-"]),
            (r"\pL\p{Nd}", &["a1"], &["11", "_1"]),
            (r"\PL", &["1"], &["a"]),
            ("(|a)*b", &["b", "aab"], &["a"]),
            ("()", &[""], &["a"]),
            ("", &[""], &["a"]),
            (r"\x61\x{62}\143", &["abc"], &["abd"]),
            ("[]-]+", &["]-]"], &["a"]),
            ("a.*?z", &["az", "abcz"], &["a"]),
            ("a{,3}", &["a{,3}"], &["aa"]),
        ];
        for (pattern, good, bad) in cases {
            let compiled = TopicPattern::new(pattern).unwrap();
            for name in *good {
                assert!(compiled.matches(name), "{pattern} should match {name}");
            }
            for name in *bad {
                assert!(!compiled.matches(name), "{pattern} should not match {name}");
            }
        }
    }

    /// Answers of Apache Kafka 4.4 (error 0: the pattern is taken).
    #[test]
    fn patterns_are_judged_as_by_kafka() {
        let answers = include_str!("judged_by_kafka.txt");
        for line in answers.lines().filter(|line| !line.starts_with('#')) {
            let (pattern, verdict) = line.split_once('\t').unwrap();
            let own = match TopicPattern::new(pattern) {
                Ok(_) => "ok",
                Err(error) => error,
            };
            assert_eq!(own, verdict, "{pattern}");
        }
    }

    #[test]
    fn patterns_are_bounded() {
        assert!(TopicPattern::new(&"(".repeat(2000)).is_err());
        assert!(
            TopicPattern::new(&alloc::format!("{}{}", "(".repeat(900), ")".repeat(900))).is_ok()
        );
        assert!(TopicPattern::new("((a{100}){100}){100}").is_err());
        assert!(TopicPattern::new("((((((a{0,9}){0,9}){0,9}){0,9}){0,9}){0,9}){0,9}").is_err());
    }
}
