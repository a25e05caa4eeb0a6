//! A pattern as a machine that is in several states at once: no way is ever gone back.

use alloc::vec;
use alloc::vec::Vec;

use super::PatternError;
use super::class::{Class, is_word};
use super::parse::{Node, Place};

/// Steps of one pattern: bounds the memory it takes and the time of a match.
const MOST_STEPS: usize = 10_000;

#[derive(Clone, Debug)]
enum Step {
    /// Takes one character and goes to the next step.
    Take(Class),
    /// Goes on where the place is of this kind.
    At(Place),
    Jump(usize),
    Split(usize, usize),
    Matched,
}

#[derive(Clone, Debug)]
pub(super) struct Program(Vec<Step>);

impl Program {
    pub(super) fn compile(node: &Node) -> Result<Program, PatternError> {
        let mut program = Program(Vec::new());
        program.add(node)?;
        program.push(Step::Matched)?;
        Ok(program)
    }

    fn push(&mut self, step: Step) -> Result<usize, PatternError> {
        if self.0.len() >= MOST_STEPS {
            return Err("expression is too large");
        }
        self.0.push(step);
        Ok(self.0.len() - 1)
    }

    fn set(&mut self, at: usize, step: Step) {
        if let Some(found) = self.0.get_mut(at) {
            *found = step;
        }
    }

    fn add(&mut self, node: &Node) -> Result<(), PatternError> {
        match node {
            Node::One(class) => self.push(Step::Take(*class)).map(drop),
            Node::Place(place) => self.push(Step::At(*place)).map(drop),
            Node::Sequence(parts) => parts.iter().try_for_each(|part| self.add(part)),
            Node::Alternatives(parts) => self.alternatives(parts),
            Node::Repeat(part, least, most) => self.repeat(part, *least, *most),
        }
    }

    fn alternatives(&mut self, parts: &[Node]) -> Result<(), PatternError> {
        let mut ends = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            if index + 1 == parts.len() {
                self.add(part)?;
                break;
            }
            let split = self.push(Step::Matched)?;
            self.add(part)?;
            ends.push(self.push(Step::Matched)?);
            self.set(split, Step::Split(split + 1, self.0.len()));
        }
        for end in ends {
            self.set(end, Step::Jump(self.0.len()));
        }
        Ok(())
    }

    fn repeat(&mut self, part: &Node, least: u32, most: Option<u32>) -> Result<(), PatternError> {
        for _ in 0..least {
            // Something that takes no step ends this too: it costs nothing to have it once more.
            let before = self.0.len();
            self.add(part)?;
            if self.0.len() == before {
                return Ok(());
            }
        }
        let Some(most) = most else {
            let split = self.push(Step::Matched)?;
            self.add(part)?;
            self.push(Step::Jump(split))?;
            self.set(split, Step::Split(split + 1, self.0.len()));
            return Ok(());
        };
        let mut splits = Vec::new();
        for _ in least..most {
            splits.push(self.push(Step::Matched)?);
            self.add(part)?;
        }
        for split in splits {
            self.set(split, Step::Split(split + 1, self.0.len()));
        }
        Ok(())
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        let mut run = Run {
            program: self,
            reached: vec![false; self.0.len()],
            states: Vec::new(),
            stack: Vec::new(),
        };
        let mut before = None;
        let mut chars = name.chars().peekable();
        run.reach(0, before, chars.peek().copied());
        while let Some(c) = chars.next() {
            before = Some(c);
            let states = core::mem::take(&mut run.states);
            run.reached.fill(false);
            for at in states {
                if matches!(self.0.get(at), Some(Step::Take(class)) if class.contains(c)) {
                    run.reach(at + 1, before, chars.peek().copied());
                }
            }
        }
        let matched = |at: &usize| matches!(self.0.get(*at), Some(Step::Matched));
        run.states.iter().any(matched)
    }
}

/// A match under way.
struct Run<'a> {
    program: &'a Program,
    /// Steps that were gone to at this character.
    reached: Vec<bool>,
    /// Those of them that take a character, or are the end.
    states: Vec<usize>,
    stack: Vec<usize>,
}

impl Run<'_> {
    fn reach(&mut self, at: usize, before: Option<char>, after: Option<char>) {
        self.stack.push(at);
        while let Some(at) = self.stack.pop() {
            match self.reached.get_mut(at) {
                Some(reached) if !*reached => *reached = true,
                _ => continue,
            }
            match self.program.0.get(at) {
                Some(Step::Take(_) | Step::Matched) => self.states.push(at),
                Some(Step::At(place)) if place.is_between(before, after) => self.stack.push(at + 1),
                Some(Step::Jump(to)) => self.stack.push(*to),
                Some(Step::Split(one, other)) => self.stack.extend([*one, *other]),
                Some(Step::At(_)) | None => {}
            }
        }
    }
}

impl Place {
    fn is_between(self, before: Option<char>, after: Option<char>) -> bool {
        let boundary = before.is_some_and(is_word) != after.is_some_and(is_word);
        match self {
            Place::LineBegin => before.is_none_or(|c| c == '\n'),
            Place::LineEnd => after.is_none_or(|c| c == '\n'),
            Place::NoWordBoundary => !boundary,
            Place::TextBegin => before.is_none(),
            Place::TextEnd => after.is_none(),
            Place::WordBoundary => boundary,
        }
    }
}
