//! Why a store does not open.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why [`LogStore::open`](crate::LogStore::open) failed. The text says what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Stored files do not fit together.
    Damaged {
        /// The data directory.
        dir: PathBuf,
        /// What was found.
        what: String,
    },
    /// Another version of the store wrote the files.
    Format {
        /// The data directory.
        dir: PathBuf,
        /// What the files say about themselves.
        found: String,
    },
    /// The directory cannot be created, read or written.
    Io {
        /// The data directory.
        dir: PathBuf,
        /// What the operating system said.
        error: io::Error,
    },
    /// Another process uses the directory.
    Locked {
        /// The data directory.
        dir: PathBuf,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Damaged { dir, what } => write!(
                f,
                "the data directory {} is damaged ({what}); restore it from a copy, or move it \
                 away to start with an empty one",
                dir.display()
            ),
            OpenError::Format { dir, found } => write!(
                f,
                "the data directory {} has a format that this version does not know ({found}); \
                 use the version that wrote it, or another directory",
                dir.display()
            ),
            OpenError::Io { dir, error } => write!(
                f,
                "the data directory {} cannot be used ({error}); check that it is a directory \
                 that this user may write and that the disk is not full",
                dir.display()
            ),
            OpenError::Locked { dir } => write!(
                f,
                "the data directory {} is in use by another process; stop that process or use \
                 another directory",
                dir.display()
            ),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Io { error, .. } => Some(error),
            OpenError::Damaged { .. } | OpenError::Format { .. } | OpenError::Locked { .. } => None,
        }
    }
}

impl OpenError {
    pub(crate) fn io(dir: &Path, error: io::Error) -> Self {
        match error.kind() {
            // A file that ends too early or holds nonsense is not a matter of permissions.
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => {
                Self::damaged(dir, error.to_string())
            }
            _ => OpenError::Io {
                dir: dir.into(),
                error,
            },
        }
    }

    pub(crate) fn damaged(dir: &Path, what: impl Into<String>) -> Self {
        OpenError::Damaged {
            dir: dir.into(),
            what: what.into(),
        }
    }

    pub(crate) fn database(dir: &Path, error: fjall::Error) -> Self {
        match error {
            fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => {
                Self::io(dir, error)
            }
            fjall::Error::Locked => OpenError::Locked { dir: dir.into() },
            fjall::Error::InvalidVersion(Some(version)) => OpenError::Format {
                dir: dir.into(),
                found: format!("database {version:?}"),
            },
            other => Self::damaged(dir, other.to_string()),
        }
    }
}
