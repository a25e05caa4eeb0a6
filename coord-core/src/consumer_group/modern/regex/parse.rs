//! From the text of a pattern to its parts.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::PatternError;
use super::class::{self, Class};

/// Groups within groups.
const DEEPEST: usize = 1000;
/// The largest number of repetitions that can be asked for.
const MOST_REPEATS: u32 = 1000;

/// A place between two characters that has to be of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    LineBegin,
    LineEnd,
    NoWordBoundary,
    TextBegin,
    TextEnd,
    WordBoundary,
}

/// A part of a pattern.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// One of several.
    Alternatives(Vec<Node>),
    /// One character.
    One(Class),
    /// A place that takes no character.
    Place(Place),
    /// At least, and at most.
    Repeat(Box<Node>, u32, Option<u32>),
    /// One after the other; none: the empty text.
    Sequence(Vec<Node>),
}

#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    fold_case: bool,
    multi_line: bool,
    dot_matches_newline: bool,
}

/// What a group has so far.
#[derive(Debug, Default)]
struct Level {
    /// Flags to go back to when it closes.
    outer: Flags,
    done: Vec<Node>,
    current: Vec<Node>,
    /// The last part can take no repetition operator.
    repeated: bool,
}

impl Level {
    fn push(&mut self, node: Node) {
        self.current.push(node);
        self.repeated = false;
    }

    fn end_alternative(&mut self) {
        let current = core::mem::take(&mut self.current);
        self.done.push(Node::Sequence(current));
        self.repeated = false;
    }

    fn finish(mut self) -> Node {
        self.end_alternative();
        match self.done.len() {
            1 => self.done.remove(0),
            _ => Node::Alternatives(self.done),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    flags: Flags,
    levels: Vec<Level>,
    top: Level,
    names: BTreeSet<String>,
}

pub(super) fn parse(text: &str) -> Result<Node, PatternError> {
    let mut parser = Parser {
        rest: text,
        flags: Flags::default(),
        levels: Vec::new(),
        top: Level::default(),
        names: BTreeSet::new(),
    };
    while !parser.rest.is_empty() {
        parser.step()?;
    }
    match parser.levels.is_empty() {
        true => Ok(parser.top.finish()),
        false => Err("missing closing )"),
    }
}

impl Parser<'_> {
    fn eat(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn take(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    fn one(&mut self, class: Class) {
        let class = match self.flags.fold_case {
            true => class.folded(),
            false => class,
        };
        self.top.push(Node::One(class));
    }

    fn step(&mut self) -> Result<(), PatternError> {
        let Some(c) = self.take() else { return Ok(()) };
        match c {
            '(' => self.open()?,
            '|' => self.top.end_alternative(),
            ')' => self.close()?,
            '^' => self.top.push(Node::Place(match self.flags.multi_line {
                true => Place::LineBegin,
                false => Place::TextBegin,
            })),
            '$' => self.top.push(Node::Place(match self.flags.multi_line {
                true => Place::LineEnd,
                false => Place::TextEnd,
            })),
            '.' => self
                .top
                .push(Node::One(match self.flags.dot_matches_newline {
                    true => Class::any(),
                    false => Class::any_but_newline(),
                })),
            '[' => {
                let class = self.bracket()?;
                self.one(class);
            }
            '*' => self.repeat(0, None)?,
            '+' => self.repeat(1, None)?,
            '?' => self.repeat(0, Some(1))?,
            '{' => match self.counts()? {
                Some((least, most)) => self.repeat(least, most)?,
                None => self.one(Class::one('{')),
            },
            '\\' => self.escape()?,
            c => self.one(Class::one(c)),
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), PatternError> {
        let outer = self.flags;
        if self.eat("?") {
            let named = ["P<", "<"].into_iter().any(|prefix| self.eat(prefix));
            if named {
                self.name()?;
            } else if !self.flags()? {
                // `(?i)` opens nothing.
                return Ok(());
            }
        }
        if self.levels.len() >= DEEPEST {
            return Err("expression nests too deeply");
        }
        let inner = Level {
            outer,
            ..Level::default()
        };
        self.levels.push(core::mem::replace(&mut self.top, inner));
        Ok(())
    }

    fn close(&mut self) -> Result<(), PatternError> {
        let outer = self.levels.pop().ok_or("unexpected )")?;
        let inner = core::mem::replace(&mut self.top, outer);
        self.flags = inner.outer;
        self.top.push(inner.finish());
        Ok(())
    }

    fn name(&mut self) -> Result<(), PatternError> {
        let (name, rest) = self.rest.split_once('>').ok_or("invalid named capture")?;
        if name.is_empty() || !name.chars().all(class::is_word) {
            return Err("invalid named capture");
        }
        self.rest = rest;
        match self.names.insert(name.to_string()) {
            true => Ok(()),
            false => Err("duplicate capture group name"),
        }
    }

    /// Reads `i`, `s-i:` and the like behind `(?`. `true`: a group begins, with these flags.
    fn flags(&mut self) -> Result<bool, PatternError> {
        const WRONG: PatternError = "invalid or unsupported Perl syntax";
        let mut flags = self.flags;
        let (mut on, mut any) = (true, false);
        loop {
            let flag = self.take().ok_or(WRONG)?;
            match flag {
                'i' => flags.fold_case = on,
                'm' => flags.multi_line = on,
                's' => flags.dot_matches_newline = on,
                // Which repetition is greedy makes no difference here.
                'U' => {}
                '-' if on => {
                    (on, any) = (false, false);
                    continue;
                }
                ':' | ')' if on || any => {
                    self.flags = flags;
                    return Ok(flag == ':');
                }
                _ => return Err(WRONG),
            }
            any = true;
        }
    }

    fn repeat(&mut self, least: u32, most: Option<u32>) -> Result<(), PatternError> {
        // A lazy repetition finds the same.
        self.eat("?");
        if self.top.repeated {
            return Err("invalid nested repetition operator");
        }
        let last = self.top.current.pop();
        let last = last.ok_or("missing argument to repetition operator")?;
        self.top.push(Node::Repeat(Box::new(last), least, most));
        self.top.repeated = true;
        Ok(())
    }

    /// `{2}`, `{2,}` or `{2,3}` behind the brace; anything else is text.
    fn counts(&mut self) -> Result<Option<(u32, Option<u32>)>, PatternError> {
        let Some((inside, rest)) = self.rest.split_once('}') else {
            return Ok(None);
        };
        let (least, most) = match inside.split_once(',') {
            Some((least, most)) => (least, Some(most)),
            None => (inside, None),
        };
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(least) || most.is_some_and(|most| !most.is_empty() && !is_number(most)) {
            return Ok(None);
        }
        self.rest = rest;
        let number = |text: &str| {
            let number = text.parse().ok().filter(|count| *count <= MOST_REPEATS);
            number.ok_or("invalid repeat count")
        };
        let least = number(least)?;
        let most = match most {
            None => Some(least),
            Some("") => None,
            Some(most) => Some(number(most)?),
        };
        match most.is_some_and(|most| most < least) {
            true => Err("invalid repeat count"),
            false => Ok(Some((least, most))),
        }
    }

    fn escape(&mut self) -> Result<(), PatternError> {
        if self.eat("Q") {
            let (text, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
            self.rest = rest;
            for c in text.chars() {
                self.one(Class::one(c));
            }
            return Ok(());
        }
        let place = match self.rest.chars().next() {
            Some('A') => Place::TextBegin,
            Some('z') => Place::TextEnd,
            Some('b') => Place::WordBoundary,
            Some('B') => Place::NoWordBoundary,
            _ => {
                let class = self.escaped()?;
                self.one(class);
                return Ok(());
            }
        };
        self.take();
        self.top.push(Node::Place(place));
        Ok(())
    }

    /// A class or a character behind a backslash.
    fn escaped(&mut self) -> Result<Class, PatternError> {
        if let Some(class) = self.escaped_class()? {
            return Ok(class);
        }
        self.escaped_char().map(Class::one)
    }

    fn escaped_class(&mut self) -> Result<Option<Class>, PatternError> {
        let Some(letter) = self.rest.chars().next() else {
            return Ok(None);
        };
        if let Some(class) = class::perl(letter) {
            self.take();
            return Ok(Some(class));
        }
        if letter != 'p' && letter != 'P' {
            return Ok(None);
        }
        self.take();
        const WRONG: PatternError = "invalid character class range";
        let class = if self.eat("{") {
            let (name, rest) = self.rest.split_once('}').ok_or(WRONG)?;
            self.rest = rest;
            class::unicode(name)?
        } else {
            let name = self.take().ok_or(WRONG)?;
            class::unicode(name.encode_utf8(&mut [0; 4]))?
        };
        Ok(Some(class.negated_if(letter == 'P')))
    }

    fn escaped_char(&mut self) -> Result<char, PatternError> {
        const WRONG: PatternError = "invalid escape sequence";
        let c = self
            .take()
            .ok_or("trailing backslash at end of expression")?;
        Ok(match c {
            'a' => '\x07',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => self.hexadecimal().ok_or(WRONG)?,
            // One digit alone would be a reference back.
            '1'..='7' if !self.rest.starts_with(|next| matches!(next, '0'..='7')) => {
                return Err(WRONG);
            }
            '0'..='7' => self.octal(c).ok_or(WRONG)?,
            c if c.is_ascii_alphanumeric() => return Err(WRONG),
            c => c,
        })
    }

    fn hexadecimal(&mut self) -> Option<char> {
        let digits = match self.eat("{") {
            true => {
                let (digits, rest) = self.rest.split_once('}')?;
                self.rest = rest;
                digits
            }
            false => {
                let (digits, rest) = self.rest.split_at_checked(2)?;
                self.rest = rest;
                digits
            }
        };
        let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = u32::from_str_radix(digits, 16).ok().filter(|_| all)?;
        char::from_u32(value)
    }

    /// Up to three digits, of which one is read.
    fn octal(&mut self, first: char) -> Option<char> {
        let mut value = first.to_digit(8)?;
        for _ in 0..2 {
            let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(8)) else {
                break;
            };
            self.take();
            value = value * 8 + digit;
        }
        char::from_u32(value)
    }

    /// A class in brackets, of which the first is read.
    fn bracket(&mut self) -> Result<Class, PatternError> {
        const OPEN: PatternError = "missing closing ]";
        let mut class = Class::default();
        let negate = self.eat("^");
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            if self.rest.is_empty() {
                return Err(OPEN);
            }
            first = false;
            if let Some(inner) = self.rest.strip_prefix("[:")
                && let Some((word, rest)) = inner.split_once(":]")
            {
                class = class.with(class::posix(word)?);
                self.rest = rest;
                continue;
            }
            if self.rest.starts_with('\\') {
                let before = self.rest;
                self.take();
                if let Some(escaped) = self.escaped_class()? {
                    class = class.with(escaped);
                    continue;
                }
                self.rest = before;
            }
            let low = self.bracket_char()?;
            let mut high = low;
            if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.take();
                high = self.bracket_char()?;
            }
            if high < low {
                return Err("invalid character class range");
            }
            class = class.with(Class::range(low, high));
        }
        self.take();
        let class = match self.flags.fold_case {
            true => class.folded(),
            false => class,
        };
        Ok(class.negated_if(negate))
    }

    fn bracket_char(&mut self) -> Result<char, PatternError> {
        match self.eat("\\") {
            true => self.escaped_char(),
            false => self.take().ok_or("missing closing ]"),
        }
    }
}
