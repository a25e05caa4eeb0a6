//! The acknowledge types of one range: mostly one for all of it.

use core::ops::Deref;

use alloc::vec::Vec;

use smallvec::SmallVec;

use crate::message::EncodeError;
use crate::printer::{Print, Printer};
use crate::reader::{Fault, Reader};
use crate::wire::{Layout, Wire};
use crate::writer::Sink;

/// As many are kept without an allocation of their own; more would make the range larger.
const INLINE: usize = 16;

/// A list of `int8`. A request may have a thousand ranges with one type each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcknowledgeTypes {
    list: SmallVec<[i8; INLINE]>,
}

impl Deref for AcknowledgeTypes {
    type Target = [i8];

    fn deref(&self) -> &[i8] {
        &self.list
    }
}

impl From<i8> for AcknowledgeTypes {
    fn from(one: i8) -> Self {
        AcknowledgeTypes::from(&[one][..])
    }
}

impl From<&[i8]> for AcknowledgeTypes {
    fn from(types: &[i8]) -> Self {
        AcknowledgeTypes {
            list: SmallVec::from_slice(types),
        }
    }
}

impl Wire for AcknowledgeTypes {
    fn min_size(v: Layout) -> usize {
        Vec::<i8>::min_size(v)
    }

    fn read(r: &mut Reader, v: Layout) -> Result<Self, Fault> {
        let count = r.array_length(v.flexible, 1)?;
        let count = r.not_null(count)?;
        let bytes = r.take(count)?;
        let types = bytes.iter().map(|byte| i8::from_be_bytes([*byte]));
        let list = types.collect();
        Ok(AcknowledgeTypes { list })
    }

    fn write<S: Sink>(&self, s: &mut S, v: Layout) -> Result<(), EncodeError> {
        s.expect(self.len().saturating_add(5));
        crate::wire::write_length(s, Some(self.len()), v)?;
        i8::write_many(self, s, v)
    }
}

impl Print for AcknowledgeTypes {
    fn print(&self, p: &mut Printer, v: Layout) {
        p.open_list();
        for element in self.iter() {
            p.item();
            element.print(p, v);
        }
        p.close_list();
    }
}
