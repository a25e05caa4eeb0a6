//! `Str`: a string that keeps short names without an allocation.

use alloc::boxed::Box;
use alloc::string::String;
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// The longest string that is kept inline, in bytes. A Kafka uuid as text has 22.
const INLINE: usize = 22;

/// An immutable string. Up to 22 bytes live inside the value, longer ones in a box.
#[derive(Clone)]
pub struct Str(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, bytes: [u8; INLINE] },
    Boxed(Box<str>),
}

impl Str {
    /// The empty string.
    pub const EMPTY: Self = Self(Repr::Inline {
        len: 0,
        bytes: [0; INLINE],
    });

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // Only whole strings are put here, so the check cannot fail.
            Repr::Inline { .. } => core::str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Repr::Boxed(text) => text,
        }
    }

    /// The text in bytes; cheaper than [`Str::as_str`].
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or_default(),
            Repr::Boxed(text) => text.as_bytes(),
        }
    }

    fn inline(text: &str) -> Option<Self> {
        let mut bytes = [0; INLINE];
        bytes
            .get_mut(..text.len())?
            .copy_from_slice(text.as_bytes());
        let len = u8::try_from(text.len()).ok()?;
        Some(Self(Repr::Inline { len, bytes }))
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Self {
        Self::inline(text).unwrap_or_else(|| Self(Repr::Boxed(text.into())))
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        Self::inline(&text).unwrap_or_else(|| Self(Repr::Boxed(text.into_boxed_str())))
    }
}

impl From<&String> for Str {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Str> for String {
    fn from(text: Str) -> Self {
        match text.0 {
            Repr::Boxed(text) => text.into_string(),
            Repr::Inline { .. } => Self::from(text.as_str()),
        }
    }
}

impl Default for Str {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Deref for Str {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Str {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for Str {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for Str {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Str {}

impl PartialEq<str> for Str {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Str {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<Str> for str {
    fn eq(&self, other: &Str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<Str> for &str {
    fn eq(&self, other: &Str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialOrd for Str {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Str {
    fn cmp(&self, other: &Self) -> Ordering {
        // The order of UTF-8 is that of its bytes.
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Str {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::format;

    use super::*;

    #[test]
    fn short_and_long_strings_read_back() {
        for len in 0..60 {
            let text = "x".repeat(len);
            let short = Str::from(text.as_str());
            assert_eq!(short.as_str(), text);
            assert_eq!(
                matches!(short.0, Repr::Inline { .. }),
                len <= INLINE,
                "{len}"
            );
            assert_eq!(String::from(short), text);
        }
        assert_eq!(Str::from("grün-чат-🦀"), "grün-чат-🦀");
    }

    #[test]
    fn a_value_takes_three_words() {
        assert_eq!(size_of::<Str>(), 24);
        assert_eq!(size_of::<Option<Str>>(), 24);
    }

    #[test]
    fn ordering_and_look_up_are_those_of_str() {
        let long = "a-rather-long-name-of-some-topic";
        let mut sorted = [Str::from("b"), Str::from(long), Str::EMPTY];
        sorted.sort();
        assert_eq!(sorted, ["", long, "b"]);
        let map: BTreeMap<Str, i32> = [(Str::from(long), 1)].into();
        assert_eq!(map.get(long), Some(&1));
        assert_eq!(
            format!("{} {:?}", Str::from("a\"b"), Str::from("a\"b")),
            "a\"b \"a\\\"b\""
        );
    }
}
