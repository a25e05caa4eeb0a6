//! `decode`: bytes of the protocol field by field, for people.
//!
//! Standard input holds a frame or record batches, in hex or binary, or lines of a table of golden
//! vectors. A request says itself what it is; what an answer or a record is, flags have to say.

mod input;
mod show;
mod table;

use std::fmt;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use ackord_proto::api::ApiKey;
use clap::{Args, CommandFactory, error::ErrorKind};

use self::input::Input;
use self::show::{Shown, What};
use crate::flags::Cli;

/// More input is refused, in bytes: a frame of the largest size in hex, and then some.
const LONGEST_INPUT: u64 = 512 << 20;

/// Flags of `decode`.
#[derive(Args, Clone, Debug, Default)]
pub struct DecodeFlags {
    /// The bytes are a request (the default, unless they are record batches)
    #[arg(long, conflicts_with = "response")]
    pub request: bool,
    /// The bytes answer this version of an API, by its key or its name
    #[arg(long, num_args = 2, value_names = ["KEY", "VERSION"])]
    pub response: Vec<String>,
    /// The bytes are records of this topic: batches, or in hex a key and on the next line a value
    /// (`null` for none). With --request or --response: the topic that the frame names by an id
    #[arg(long, value_name = "TOPIC")]
    pub record: Option<String>,
}

/// Bytes that cannot be decoded; a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bad(String);

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads standard input and prints it. Bad input ends with 1, bad flags with 2.
pub(crate) fn run(flags: &DecodeFlags) -> ExitCode {
    let what = match what(flags) {
        Ok(what) => what,
        Err(sentence) => Cli::command()
            .error(ErrorKind::ValueValidation, sentence)
            .exit(),
    };
    let shown = decode(io::stdin().lock(), &what, flags.record.as_deref());
    // A reader that is gone has seen enough.
    let _ = io::stdout().lock().write_all(shown.text.as_bytes());
    for Bad(sentence) in &shown.faults {
        let _ = writeln!(io::stderr().lock(), "ackord decode: {sentence}");
    }
    match shown.faults.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn decode(source: impl Read, what: &What, topic: Option<&str>) -> Shown {
    let input = match read(source).and_then(Input::parse) {
        Ok(input) => input,
        Err(bad) => return Shown::fault(bad),
    };
    match input {
        Input::Rows(rows) => rows.iter().map(table::show).collect(),
        Input::Lines(lines) => match (what, lines.as_slice()) {
            (What::Record, [key, value]) => show::record(key, value.as_ref(), topic),
            _ => match input::join(lines) {
                Ok(bytes) => show::bytes(&bytes, what, topic),
                Err(bad) => Shown::fault(bad),
            },
        },
        Input::Binary(bytes) => show::bytes(&bytes, what, topic),
    }
}

fn read(source: impl Read) -> Result<Vec<u8>, Bad> {
    let mut bytes = Vec::new();
    let read = source.take(LONGEST_INPUT + 1).read_to_end(&mut bytes);
    read.map_err(|error| Bad(format!("standard input cannot be read: {error}")))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LONGEST_INPUT {
        return Err(Bad(format!(
            "standard input has more than {LONGEST_INPUT} bytes; give one frame at a time"
        )));
    }
    Ok(bytes)
}

fn what(flags: &DecodeFlags) -> Result<What, String> {
    let [key, version] = flags.response.as_slice() else {
        return Ok(match (flags.request, &flags.record) {
            (true, _) => What::Request,
            (false, Some(_)) => What::Record,
            (false, None) => What::Guess,
        });
    };
    let known = |api: &&ApiKey| {
        api.name().eq_ignore_ascii_case(key) || key.parse().is_ok_and(|key: i16| api.key() == key)
    };
    let api = *ApiKey::ALL.iter().find(known).ok_or_else(|| {
        format!("--response: {key:?} is no API; give its key or its name, such as 3 or Metadata")
    })?;
    let (name, versions) = (api.name(), api.versions());
    match version.parse() {
        Ok(version) if versions.contains(&version) => Ok(What::Response(api, version)),
        _ => Err(format!(
            "--response: {name} has no version {version:?}, but {} to {}",
            versions.start(),
            versions.end()
        )),
    }
}

#[cfg(test)]
mod tests;
