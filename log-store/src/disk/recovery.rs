//! Reading the journal back after a start, from the place up to which the database knows it.
//!
//! The journal ends at the first entry that is not whole. Where that entry had been on the disk
//! once, which a later one says, its bytes have changed since: then the store does not open. Else
//! the write was interrupted, and what is behind it was never promised to survive.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::OpenError;
use crate::disk::recent::{Applied, Place};
use crate::disk::segment::{self, HEADER, Segment};
use crate::disk::window::Window;

/// The end of the journal.
pub(crate) struct End {
    pub(crate) segment: Arc<Segment>,
    pub(crate) mark: u64,
    pub(crate) place: Place,
    /// What is said of whole entries that are cut off.
    pub(crate) warning: Option<String>,
}

/// A segment of the journal that is read.
struct Opened {
    segment: Arc<Segment>,
    window: Window,
    mark: u64,
}

/// Reads the segments of the journal in order from `from`; `apply` gets the parts of whole entries.
/// Nothing is changed. `None`: there is no segment with a header.
pub(crate) fn read(
    dir: &Path,
    segments: &[Arc<Segment>],
    from: Place,
    apply: &mut dyn FnMut(u64, Applied) -> Result<(), OpenError>,
) -> Result<Option<End>, OpenError> {
    let mut opened = Vec::new();
    for segment in segments {
        opened.extend(open(dir, segment)?);
    }
    let mut place = from;
    for index in 0..opened.len() {
        let one = &mut opened[index];
        place.position = match one.segment.id == from.segment {
            true => from.position,
            false => HEADER,
        };
        place.segment = one.segment.id;
        if one.window.length() < place.position {
            let text = format!(
                "{} ends before position {}, up to which it was written",
                one.segment.path.display(),
                place.position
            );
            return Err(OpenError::damaged(dir, text));
        }
        let io = |error| OpenError::io(dir, error);
        while let Some(entry) = one
            .window
            .entry(place.position, one.mark, place.number)
            .map_err(io)?
        {
            for part in entry.parts {
                apply(place.segment, part)?;
            }
            place.position = entry.end;
            place.number += 1;
        }
        if let Some(next) = opened.get_mut(index + 1) {
            let head = next.window.head(HEADER, next.mark).map_err(io)?;
            if head.is_some_and(|head| head.number == place.number) {
                continue;
            }
        }
        let warning = judge(dir, &mut opened[index..], place)?;
        let one = opened.swap_remove(index);
        return Ok(Some(End {
            segment: one.segment,
            mark: one.mark,
            place,
            warning,
        }));
    }
    Ok(None)
}

/// A segment without a header is one whose creation was interrupted, if nothing is in it.
fn open(dir: &Path, segment: &Arc<Segment>) -> Result<Option<Opened>, OpenError> {
    let io = |error| OpenError::io(dir, error);
    let file = File::open(&segment.path).map_err(io)?;
    let mark = segment::read_mark(&file, segment.id).map_err(io)?;
    let window = Window::new(file).map_err(io)?;
    match mark {
        Some(mark) => Ok(Some(Opened {
            segment: segment.clone(),
            window,
            mark,
        })),
        None if window.length() <= HEADER => Ok(None),
        None => Err(damaged(dir, segment, 0, "the header of the file")),
    }
}

/// What comes behind the end of the journal: an error if the entry at the end was on the disk once.
fn judge(dir: &Path, rest: &mut [Opened], end: Place) -> Result<Option<String>, OpenError> {
    let io = |error| OpenError::io(dir, error);
    let mut behind = 0_u64;
    for (index, one) in rest.iter_mut().enumerate() {
        let mut at = if index == 0 { end.position } else { HEADER };
        while let Some((found, head)) = one.window.search(at, one.mark).map_err(io)? {
            if head.synced > end.number {
                return Err(damaged(dir, &rest[0].segment, end.position, "an entry"));
            }
            behind += u64::from(head.number > end.number);
            at = found + 1;
        }
    }
    Ok((behind > 0).then(|| {
        format!(
            "the journal is cut at position {} of {}, where a write was interrupted; {behind} later \
             writes that had not been synced either are gone with it",
            end.position,
            rest[0].segment.path.display()
        )
    }))
}

fn damaged(dir: &Path, segment: &Segment, position: u64, what: &str) -> OpenError {
    let file = segment.path.display();
    OpenError::damaged(
        dir,
        format!("{what} at position {position} of {file} has changed since it was written"),
    )
}
