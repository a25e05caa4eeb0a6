//! `Ids`: a short list of broker ids without an allocation.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

use crate::message::EncodeError;
use crate::printer::{Print, Printer};
use crate::reader::{Fault, Reader};
use crate::wire::{Fixed, Layout, Nullable, Wire};
use crate::writer::Sink;

/// How many ids live inside the value: the replicas of a partition, as a rule.
const INLINE: usize = 3;

/// Ids of brokers, such as the replicas of a partition. Up to three live inside the value.
#[derive(Clone)]
pub struct Ids(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, ids: [i32; INLINE] },
    Heap(Vec<i32>),
}

impl Ids {
    /// The ids as a slice.
    #[inline]
    pub fn as_slice(&self) -> &[i32] {
        match &self.0 {
            Repr::Inline { len, ids } => ids.get(..usize::from(*len)).unwrap_or_default(),
            Repr::Heap(ids) => ids,
        }
    }

    /// The ids one behind the other, if they fit.
    fn inline(list: &[i32]) -> Option<Self> {
        let mut ids = [0; INLINE];
        ids.get_mut(..list.len())?.copy_from_slice(list);
        let len = u8::try_from(list.len()).ok()?;
        Some(Self(Repr::Inline { len, ids }))
    }

    /// Reads up to three ids behind a compact length in one step, where so many bytes are left
    /// that nothing can be missing.
    #[inline]
    fn read_short(r: &mut Reader, v: Layout) -> Option<Self> {
        let bytes = r.peek::<13>().filter(|_| v.flexible)?;
        let len = bytes[0]
            .checked_sub(1)
            .filter(|len| usize::from(*len) <= INLINE)?;
        let ids = [i32::at(bytes, 1), i32::at(bytes, 5), i32::at(bytes, 9)];
        r.advance(1 + usize::from(len) * size_of::<i32>());
        Some(Self(Repr::Inline { len, ids }))
    }

    /// Reads so many ids; the count has been checked.
    fn read_count(r: &mut Reader, v: Layout, count: usize) -> Result<Self, Fault> {
        let id = |bytes: &[u8], index| i32::at(bytes, index * size_of::<i32>());
        let (len, ids) = match count {
            0 => (0, [0; INLINE]),
            1 => (1, [id(&r.array::<4>()?, 0), 0, 0]),
            2 => {
                let bytes = r.array::<8>()?;
                (2, [id(&bytes, 0), id(&bytes, 1), 0])
            }
            3 => {
                let bytes = r.array::<12>()?;
                (3, [id(&bytes, 0), id(&bytes, 1), id(&bytes, 2)])
            }
            _ => return i32::read_many(r, v, count).map(|ids| Self(Repr::Heap(ids))),
        };
        Ok(Self(Repr::Inline { len, ids }))
    }
}

impl Default for Ids {
    fn default() -> Self {
        Self(Repr::Inline {
            len: 0,
            ids: [0; INLINE],
        })
    }
}

impl Deref for Ids {
    type Target = [i32];

    fn deref(&self) -> &[i32] {
        self.as_slice()
    }
}

impl From<Vec<i32>> for Ids {
    fn from(ids: Vec<i32>) -> Self {
        Self::inline(&ids).unwrap_or(Self(Repr::Heap(ids)))
    }
}

impl<const N: usize> From<[i32; N]> for Ids {
    fn from(ids: [i32; N]) -> Self {
        Self::from(ids.as_slice())
    }
}

impl From<&[i32]> for Ids {
    fn from(ids: &[i32]) -> Self {
        Self::inline(ids).unwrap_or_else(|| Self(Repr::Heap(ids.to_vec())))
    }
}

impl FromIterator<i32> for Ids {
    fn from_iter<I: IntoIterator<Item = i32>>(ids: I) -> Self {
        Self::from(ids.into_iter().collect::<Vec<_>>())
    }
}

impl<'a> IntoIterator for &'a Ids {
    type Item = &'a i32;
    type IntoIter = core::slice::Iter<'a, i32>;

    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}

impl PartialEq for Ids {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Ids {}

impl PartialEq<Vec<i32>> for Ids {
    fn eq(&self, other: &Vec<i32>) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<const N: usize> PartialEq<[i32; N]> for Ids {
    fn eq(&self, other: &[i32; N]) -> bool {
        self.as_slice() == other
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_slice(), f)
    }
}

impl Print for Ids {
    fn print(&self, p: &mut Printer, v: Layout) {
        p.open_list();
        for id in self {
            p.item();
            id.print(p, v);
        }
        p.close_list();
    }
}

impl Wire for Ids {
    fn min_size(v: Layout) -> usize {
        Self::null_size(v)
    }

    #[inline]
    fn read(r: &mut Reader, v: Layout) -> Result<Self, Fault> {
        if let Some(ids) = Self::read_short(r, v) {
            return Ok(ids);
        }
        let count = r.array_length(v.flexible, size_of::<i32>())?;
        let count = r.not_null(count)?;
        Self::read_count(r, v, count)
    }

    #[inline]
    fn write<S: Sink>(&self, s: &mut S, v: Layout) -> Result<(), EncodeError> {
        match &self.0 {
            Repr::Inline { len, ids } if v.flexible => {
                // All three, and those beyond the end taken back: without a loop.
                let [a, b, c] = ids.map(i32::to_be_bytes);
                let unused = INLINE.saturating_sub(usize::from(*len)) * size_of::<i32>();
                s.put_run::<13>(|run| {
                    run.add([len + 1]);
                    run.add(a);
                    run.add(b);
                    run.add(c);
                    run.take_back(unused);
                    Ok(())
                })
            }
            _ => Self::write_nullable(Some(self), s, v),
        }
    }
}

impl Nullable for Ids {
    fn null_size(v: Layout) -> usize {
        Vec::<i32>::null_size(v)
    }

    fn read_nullable(r: &mut Reader, v: Layout) -> Result<Option<Self>, Fault> {
        let count = r.array_length(v.flexible, size_of::<i32>())?;
        count.map(|count| Self::read_count(r, v, count)).transpose()
    }

    fn write_nullable<S: Sink>(
        this: Option<&Self>,
        s: &mut S,
        v: Layout,
    ) -> Result<(), EncodeError> {
        let ids = this.map(Self::as_slice);
        crate::wire::write_length(s, ids.map(<[i32]>::len), v)?;
        i32::write_many(ids.unwrap_or_default(), s, v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_lists_are_the_same_to_the_outside() {
        for len in 0..8 {
            let list: Vec<i32> = (0..len).collect();
            let ids = Ids::from(list.clone());
            assert_eq!(ids, list);
            assert_eq!(ids, list.iter().copied().collect::<Ids>());
            assert_eq!(matches!(ids.0, Repr::Inline { .. }), len <= 3);
            assert_eq!(
                (ids.len(), ids.iter().sum::<i32>()),
                (list.len(), list.iter().sum())
            );
        }
        assert_eq!(Ids::from([7, 8]), [7, 8]);
        assert_eq!(Ids::default(), []);
    }

    #[test]
    fn a_value_takes_three_words() {
        assert_eq!(size_of::<Ids>(), 24);
    }
}
