//! Printing messages on one line, for people and for snapshots.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use bytes::Bytes;

use crate::error_code::ErrorCode;
use crate::records::Records;
use crate::str::Str;
use crate::uuid::Uuid;
use crate::wire::Layout;

/// Longer bytes are shown by their number only.
const SHOWN: usize = 64;

/// Something that can be printed in a version.
pub trait Print {
    /// Prints what exists in the version.
    fn print(&self, p: &mut Printer, v: Layout);
}

/// Collects the text; knows where a comma is due.
#[derive(Debug, Default)]
pub struct Printer {
    text: String,
    first: bool,
}

impl Printer {
    /// The text so far.
    pub fn finish(self) -> String {
        self.text
    }

    /// Appends text as it is.
    pub fn text(&mut self, arguments: fmt::Arguments<'_>) {
        // Writing into a String cannot fail.
        let _ = self.text.write_fmt(arguments);
    }

    /// Begins a struct.
    pub fn open(&mut self) {
        self.text.push('{');
        self.first = true;
    }

    /// Ends a struct.
    pub fn close(&mut self) {
        self.text.push('}');
        self.first = false;
    }

    /// Begins a list.
    pub fn open_list(&mut self) {
        self.text.push('[');
        self.first = true;
    }

    /// Ends a list.
    pub fn close_list(&mut self) {
        self.text.push(']');
        self.first = false;
    }

    /// Begins the next element of a list.
    pub fn item(&mut self) {
        if !self.first {
            self.text.push_str(", ");
        }
        self.first = false;
    }

    /// Begins a field.
    pub fn name(&mut self, name: &str) {
        self.item();
        self.text.push_str(name);
        self.text.push_str(": ");
    }

    /// Short bytes in hex, long ones by their number.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if bytes.len() > SHOWN {
            return self.text(format_args!("<{} bytes>", bytes.len()));
        }
        self.text.push_str("0x");
        for byte in bytes {
            self.text(format_args!("{byte:02x}"));
        }
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
print_as_text!("{:?}": Str);

impl Print for Bytes {
    fn print(&self, p: &mut Printer, _: Layout) {
        p.bytes(self);
    }
}

impl Print for Records {
    fn print(&self, p: &mut Printer, _: Layout) {
        p.text(format_args!("<{} bytes>", self.len()));
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
