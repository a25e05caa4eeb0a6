//! Tagged fields that nobody knows, kept so that a message can be passed on whole.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::ops::RangeBounds;

use crate::message::EncodeError;
use crate::printer::Printer;
use crate::wire::Layout;
use crate::writer::Sink;

/// Unknown tagged fields of one struct, in the order of their tags. None of them cost nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownTags(Option<Box<Fields>>);

/// Behind a box, so that each struct carries one pointer. A map, so that a hostile order of
/// tags costs no more than any other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Fields(BTreeMap<u32, Box<[u8]>>);

static NONE: UnknownTags = UnknownTags(None);

impl UnknownTags {
    /// No fields, for structs that keep none.
    pub fn none() -> &'static Self {
        &NONE
    }

    /// Adds a field; of two with one tag the later stays.
    pub fn insert(&mut self, tag: u32, content: Box<[u8]>) {
        self.0.get_or_insert_default().0.insert(tag, content);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |fields| fields.0.len())
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Tags and contents in the range, by tag.
    pub fn range(&self, tags: impl RangeBounds<u32>) -> impl Iterator<Item = (u32, &[u8])> {
        let fields = self.0.as_ref().map(|fields| fields.0.range(tags));
        fields
            .into_iter()
            .flatten()
            .map(|(tag, content)| (*tag, &**content))
    }

    /// Writes those whose tags lie in the range.
    pub fn write_range<S: Sink>(&self, s: &mut S, tags: impl RangeBounds<u32>) {
        for (tag, content) in self.range(tags) {
            write_tag_start(s, tag, content.len());
            s.put(content);
        }
    }

    /// Prints them, if there are any.
    pub fn print(&self, p: &mut Printer) {
        if self.is_empty() {
            return;
        }
        p.name("unknown_tags");
        p.open_list();
        for (tag, content) in self.range(..) {
            p.item();
            p.text(format_args!("{tag}: "));
            p.bytes(content);
        }
        p.close_list();
    }
}

/// For the derive: the section of a struct that knows no tagged fields.
///
/// # Errors
/// `FieldNotInVersion` where there are some and the version has no place for them.
#[inline]
pub fn write_unknown<S: Sink>(s: &mut S, tags: &UnknownTags, v: Layout) -> Result<(), EncodeError> {
    if tags.is_empty() {
        write_none(s, v);
        return Ok(());
    }
    write_some(s, tags, v)
}

#[cold]
fn write_some<S: Sink>(s: &mut S, tags: &UnknownTags, v: Layout) -> Result<(), EncodeError> {
    if v.flexible {
        write_tag_count(s, tags.len());
        tags.write_range(s, ..);
        Ok(())
    } else {
        Err(EncodeError::field_not_in_version("unknown_tags", v))
    }
}

/// For the derive: the section of a struct that has no tagged fields at all.
#[inline]
pub fn write_none<S: Sink>(s: &mut S, v: Layout) {
    if v.flexible {
        s.put(&[0]);
    }
}

/// Writes the number of tagged fields.
pub fn write_tag_count<S: Sink>(s: &mut S, count: usize) {
    s.put_unsigned_varint(u32::try_from(count).unwrap_or(u32::MAX));
}

/// Writes what stands before the content of a tagged field.
pub fn write_tag_start<S: Sink>(s: &mut S, tag: u32, size: usize) {
    s.put_unsigned_varint(tag);
    s.put_unsigned_varint(u32::try_from(size).unwrap_or(u32::MAX));
}
