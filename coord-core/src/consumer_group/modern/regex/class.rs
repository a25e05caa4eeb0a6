//! Sets of characters. Names of topics are ASCII, so no more than that is kept of a set.

use super::PatternError;

/// ASCII characters, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Class(u128);

impl Class {
    pub(super) fn of(ranges: &[(u32, u32)]) -> Class {
        let mut class = Class::default();
        for (low, high) in ranges {
            for code in *low..=(*high).min(0x7f) {
                class.0 |= 1 << code;
            }
        }
        class
    }

    pub(super) fn one(c: char) -> Class {
        Class::range(c, c)
    }

    pub(super) fn range(low: char, high: char) -> Class {
        Class::of(&[(u32::from(low), u32::from(high))])
    }

    pub(super) fn any() -> Class {
        Class(u128::MAX)
    }

    pub(super) fn any_but_newline() -> Class {
        Class::one('\n').negated()
    }

    pub(super) fn with(self, other: Class) -> Class {
        Class(self.0 | other.0)
    }

    pub(super) fn contains(self, c: char) -> bool {
        c.is_ascii() && self.0 >> u32::from(c) & 1 == 1
    }

    pub(super) fn negated(self) -> Class {
        Class(!self.0)
    }

    pub(super) fn negated_if(self, negate: bool) -> Class {
        match negate {
            true => self.negated(),
            false => self,
        }
    }

    /// With the other case of its letters.
    pub(super) fn folded(self) -> Class {
        const STEP: u32 = 0x20;
        let upper = self.0 & Class::of(UPPER).0;
        let lower = self.0 & Class::of(LOWER).0;
        Class(self.0 | upper << STEP | lower >> STEP)
    }
}

const DIGIT: &[(u32, u32)] = &[(0x30, 0x39)];
const LOWER: &[(u32, u32)] = &[(0x61, 0x7a)];
const UPPER: &[(u32, u32)] = &[(0x41, 0x5a)];
const ALPHA: &[(u32, u32)] = &[(0x41, 0x5a), (0x61, 0x7a)];
const ALNUM: &[(u32, u32)] = &[(0x30, 0x39), (0x41, 0x5a), (0x61, 0x7a)];
const WORD: &[(u32, u32)] = &[(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)];
const SPACE: &[(u32, u32)] = &[(0x09, 0x0a), (0x0c, 0x0d), (0x20, 0x20)];
const PUNCT: &[(u32, u32)] = &[(0x21, 0x2f), (0x3a, 0x40), (0x5b, 0x60), (0x7b, 0x7e)];

pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// `\d`, `\s`, `\w` and their opposites.
pub(super) fn perl(letter: char) -> Option<Class> {
    let ranges = match letter.to_ascii_lowercase() {
        'd' => DIGIT,
        's' => SPACE,
        'w' => WORD,
        _ => return None,
    };
    Some(Class::of(ranges).negated_if(letter.is_ascii_uppercase()))
}

/// `[:alpha:]` and so on, by the word between the colons.
pub(super) fn posix(word: &str) -> Result<Class, PatternError> {
    let (word, negate) = match word.strip_prefix('^') {
        Some(word) => (word, true),
        None => (word, false),
    };
    let ranges: &[(u32, u32)] = match word {
        "alnum" => ALNUM,
        "alpha" => ALPHA,
        "ascii" => &[(0, 0x7f)],
        "blank" => &[(0x09, 0x09), (0x20, 0x20)],
        "cntrl" => &[(0, 0x1f), (0x7f, 0x7f)],
        "digit" => DIGIT,
        "graph" => &[(0x21, 0x7e)],
        "lower" => LOWER,
        "print" => &[(0x20, 0x7e)],
        "punct" => PUNCT,
        "space" => &[(0x09, 0x0d), (0x20, 0x20)],
        "upper" => UPPER,
        "word" => WORD,
        "xdigit" => &[(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)],
        _ => return Err("invalid character class range"),
    };
    Ok(Class::of(ranges).negated_if(negate))
}

/// Scripts without an ASCII character, by their Unicode names.
const SCRIPTS: &[&str] = &[
    "Adlam",
    "Ahom",
    "Arabic",
    "Armenian",
    "Avestan",
    "Balinese",
    "Bamum",
    "Batak",
    "Bengali",
    "Bopomofo",
    "Braille",
    "Buginese",
    "Buhid",
    "Carian",
    "Chakma",
    "Cham",
    "Cherokee",
    "Coptic",
    "Cuneiform",
    "Cypriot",
    "Cyrillic",
    "Deseret",
    "Devanagari",
    "Ethiopic",
    "Georgian",
    "Glagolitic",
    "Gothic",
    "Greek",
    "Gujarati",
    "Gurmukhi",
    "Han",
    "Hangul",
    "Hanunoo",
    "Hebrew",
    "Hiragana",
    "Inherited",
    "Javanese",
    "Kaithi",
    "Kannada",
    "Katakana",
    "Kharoshthi",
    "Khmer",
    "Lao",
    "Lepcha",
    "Limbu",
    "Lisu",
    "Lycian",
    "Lydian",
    "Malayalam",
    "Mandaic",
    "Mongolian",
    "Myanmar",
    "Nko",
    "Ogham",
    "Oriya",
    "Osmanya",
    "Phoenician",
    "Rejang",
    "Runic",
    "Samaritan",
    "Saurashtra",
    "Shavian",
    "Sinhala",
    "Sundanese",
    "Syriac",
    "Tagalog",
    "Tagbanwa",
    "Tamil",
    "Telugu",
    "Thaana",
    "Thai",
    "Tibetan",
    "Tifinagh",
    "Ugaritic",
    "Vai",
    "Yi",
];

/// `\p{...}`: the ASCII part of a Unicode category or script; names of topics have no more.
pub(super) fn unicode(name: &str) -> Result<Class, PatternError> {
    let (name, negate) = match name.strip_prefix('^') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let ranges: &[(u32, u32)] = match name {
        "Any" => return Ok(Class::any().negated_if(negate)),
        "L" | "Latin" => ALPHA,
        "Lu" => UPPER,
        "Ll" => LOWER,
        "N" | "Nd" => DIGIT,
        "C" | "Cc" => &[(0, 0x1f), (0x7f, 0x7f)],
        "Z" | "Zs" => &[(0x20, 0x20)],
        "P" => &[
            (0x21, 0x23),
            (0x25, 0x2a),
            (0x2c, 0x2f),
            (0x3a, 0x3b),
            (0x3f, 0x40),
            (0x5b, 0x5d),
            (0x5f, 0x5f),
            (0x7b, 0x7b),
            (0x7d, 0x7d),
        ],
        "Pc" => &[(0x5f, 0x5f)],
        "Pd" => &[(0x2d, 0x2d)],
        "Ps" => &[(0x28, 0x28), (0x5b, 0x5b), (0x7b, 0x7b)],
        "Pe" => &[(0x29, 0x29), (0x5d, 0x5d), (0x7d, 0x7d)],
        "Po" => &[
            (0x21, 0x23),
            (0x25, 0x27),
            (0x2a, 0x2a),
            (0x2c, 0x2c),
            (0x2e, 0x2f),
            (0x3a, 0x3b),
            (0x3f, 0x40),
            (0x5c, 0x5c),
        ],
        "S" => &[
            (0x24, 0x24),
            (0x2b, 0x2b),
            (0x3c, 0x3e),
            (0x5e, 0x5e),
            (0x60, 0x60),
            (0x7c, 0x7c),
            (0x7e, 0x7e),
        ],
        "Sc" => &[(0x24, 0x24)],
        "Sk" => &[(0x5e, 0x5e), (0x60, 0x60)],
        "Sm" => &[(0x2b, 0x2b), (0x3c, 0x3e), (0x7c, 0x7c), (0x7e, 0x7e)],
        "Common" => &[(0, 0x40), (0x5b, 0x60), (0x7b, 0x7f)],
        "Lm" | "Lo" | "Lt" | "M" | "Mc" | "Me" | "Mn" | "Nl" | "No" | "Pf" | "Pi" | "So" | "Zl"
        | "Zp" | "Cf" | "Co" | "Cs" => &[],
        _ if SCRIPTS.contains(&name) => &[],
        _ => return Err("invalid character class range"),
    };
    Ok(Class::of(ranges).negated_if(negate))
}
