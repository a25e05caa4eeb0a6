//! Printing messages for people: on one line for snapshots, or field by field.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write};

use bytes::Bytes;

use crate::error_code::ErrorCode;
use crate::records::{Records, print as records};
use crate::str::Str;
use crate::uuid::Uuid;
use crate::wire::Layout;

/// Longer bytes are shown by their number only, or cut.
const SHOWN: usize = 64;

/// Something that can be printed in a version.
pub trait Print {
    /// Prints what exists in the version.
    fn print(&self, p: &mut Printer, v: Layout);
}

/// Collects the text; knows where a comma or a new line is due.
#[derive(Debug, Default)]
pub struct Printer {
    text: String,
    first: bool,
    /// Where every field has its line.
    lines: Option<Lines>,
    fault: Option<String>,
}

/// The state of a text that is spread over lines.
#[derive(Debug, Default)]
struct Lines {
    depth: usize,
    /// An element of a list begins with whatever comes next.
    element: bool,
    /// The last element of the list was a struct.
    after_struct: bool,
    /// The next string names the topic of the records that follow.
    names_topic: bool,
    topic: Option<Str>,
    /// How many bytes compressed batches may still unpack to.
    limit: usize,
}

impl Printer {
    /// A printer that gives each field its line, and opens record batches down to the records:
    /// all compressed batches together may unpack to `limit` bytes. Records of internal topics
    /// are read as such; `topic` names the topic where the message does not.
    pub fn by_lines(topic: Option<Str>, limit: usize) -> Self {
        let lines = Lines {
            topic,
            limit,
            ..Lines::default()
        };
        Self {
            lines: Some(lines),
            ..Self::default()
        }
    }

    pub(crate) fn left_to_unpack(&self) -> usize {
        self.lines.as_ref().map_or(0, |lines| lines.limit)
    }

    pub(crate) fn unpacked(&mut self, bytes: usize) {
        if let Some(lines) = &mut self.lines {
            lines.limit = lines.limit.saturating_sub(bytes);
        }
    }

    /// The text so far.
    pub fn finish(self) -> String {
        self.text
    }

    /// The first thing inside of records that could not be read, in words.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Appends text as it is.
    pub fn text(&mut self, arguments: fmt::Arguments<'_>) {
        self.begin_plain_element();
        // Writing into a String cannot fail.
        let _ = self.text.write_fmt(arguments);
    }

    /// Begins a struct.
    pub fn open(&mut self) {
        if self.lines.as_mut().is_some_and(Lines::take_element) {
            self.new_line();
        }
        self.enter('{');
    }

    /// Ends a struct.
    pub fn close(&mut self) {
        let empty = self.first;
        self.leave('}', !empty);
        if let Some(lines) = &mut self.lines {
            lines.after_struct = true;
        }
    }

    /// Begins a list.
    pub fn open_list(&mut self) {
        self.begin_plain_element();
        self.enter('[');
        if let Some(lines) = &mut self.lines {
            lines.after_struct = false;
        }
    }

    /// Ends a list.
    pub fn close_list(&mut self) {
        let structs = self.lines.as_ref().is_some_and(|lines| lines.after_struct);
        self.leave(']', structs);
        if let Some(lines) = &mut self.lines {
            lines.after_struct = false;
        }
    }

    fn enter(&mut self, bracket: char) {
        self.text.push(bracket);
        self.first = true;
        if let Some(lines) = &mut self.lines {
            lines.depth += 1;
        }
    }

    fn leave(&mut self, bracket: char, own_line: bool) {
        if let Some(lines) = &mut self.lines {
            lines.depth = lines.depth.saturating_sub(1);
            if own_line {
                self.new_line();
            }
        }
        self.text.push(bracket);
        self.first = false;
    }

    /// Begins the next element of a list.
    pub fn item(&mut self) {
        match &mut self.lines {
            Some(lines) => lines.element = true,
            None => self.comma(),
        }
    }

    /// Begins a field.
    pub fn name(&mut self, name: &str) {
        match &mut self.lines {
            Some(lines) => {
                lines.names_topic = matches!(name, "topic" | "name");
                self.first = false;
                self.new_line();
            }
            None => self.comma(),
        }
        self.text.push_str(name);
        self.text.push_str(": ");
    }

    fn comma(&mut self) {
        if !self.first {
            self.text.push_str(", ");
        }
        self.first = false;
    }

    fn new_line(&mut self) {
        let depth = self.lines.as_ref().map_or(0, |lines| lines.depth);
        self.text.push('\n');
        for _ in 0..depth {
            self.text.push_str("  ");
        }
    }

    /// Elements that are no structs stand on one line.
    fn begin_plain_element(&mut self) {
        if self.lines.as_mut().is_some_and(Lines::take_element) {
            self.comma();
        }
    }

    /// Short bytes in hex; long ones by their number, or cut where there is room.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if bytes.len() > SHOWN && self.lines.is_none() {
            return self.text(format_args!("<{} bytes>", bytes.len()));
        }
        let shown = bytes.get(..SHOWN).unwrap_or(bytes);
        self.text(format_args!("0x"));
        for byte in shown {
            self.text(format_args!("{byte:02x}"));
        }
        if shown.len() < bytes.len() {
            self.text(format_args!(".. ({} bytes)", bytes.len()));
        }
    }

    /// Bytes that are likely text as such, others as [`Printer::bytes`].
    pub fn text_or_bytes(&mut self, bytes: &[u8]) {
        match core::str::from_utf8(bytes) {
            Ok(text) if !text.contains(char::is_control) => self.text(format_args!("{text:?}")),
            _ => self.bytes(bytes),
        }
    }

    /// Notes what could not be read, unless something was noted before, and prints it.
    pub fn note_fault(&mut self, fault: impl fmt::Display) {
        self.text(format_args!("<{fault}>"));
        self.fault.get_or_insert_with(|| fault.to_string());
    }
}

impl Lines {
    fn take_element(&mut self) -> bool {
        core::mem::take(&mut self.element)
    }
}

macro_rules! print_as_text {
    ($format:literal: $($ty:ty),*) => {$(
        impl Print for $ty {
            fn print(&self, p: &mut Printer, _: Layout) {
                p.text(format_args!($format, self));
            }
        }
    )*};
}

print_as_text!("{}": bool, i8, i16, i32, i64, u16, u32, f64, Uuid, ErrorCode);

impl Print for Str {
    fn print(&self, p: &mut Printer, _: Layout) {
        p.text(format_args!("{self:?}"));
        if let Some(lines) = p.lines.as_mut().filter(|lines| lines.names_topic) {
            lines.topic = Some(self.clone());
        }
    }
}

impl Print for Bytes {
    fn print(&self, p: &mut Printer, _: Layout) {
        p.bytes(self);
    }
}

impl Print for Records {
    fn print(&self, p: &mut Printer, _: Layout) {
        match &p.lines {
            None => p.text(format_args!("<{} bytes>", self.len())),
            Some(lines) => {
                let topic = lines.topic.clone();
                records::print(self.to_bytes(), topic.as_deref(), p);
            }
        }
    }
}

impl<T: Print> Print for Option<T> {
    fn print(&self, p: &mut Printer, v: Layout) {
        match self {
            Some(value) => value.print(p, v),
            None => p.text(format_args!("null")),
        }
    }
}

impl<T: Print> Print for Vec<T> {
    fn print(&self, p: &mut Printer, v: Layout) {
        p.open_list();
        for element in self {
            p.item();
            element.print(p, v);
        }
        p.close_list();
    }
}
