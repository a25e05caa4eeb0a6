//! What a run looks like: text with stable names, and a digest of every byte.

use std::collections::BTreeMap;

use ackord_machine::{Completion, LogId, OpKind, Outcome, StorageOp};
use ackord_proto::api::{ApiKey, Request, RequestHeader, Response, ResponseHeader};
use ackord_proto::printer::Printer;
use ackord_proto::reader::Reader;
use bytes::Bytes;

/// Tells equal runs from different ones (64-bit FNV-1a).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Takes bytes in.
    pub fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Turns frames into text; remembers which request an answer belongs to.
#[derive(Debug, Default)]
pub struct FrameText {
    requests: BTreeMap<(String, i32), (ApiKey, i16)>,
}

impl FrameText {
    /// A request frame without its size.
    pub fn request(&mut self, client: &str, frame: &Bytes) -> String {
        let mut reader = Reader::new(frame.clone());
        let Ok(header) = RequestHeader::decode(&mut reader) else {
            return format!("{client} -> a frame of {} bytes", frame.len());
        };
        let (api, version) = (header.api_key, header.api_version);
        self.requests
            .insert((client.to_string(), header.correlation_id), (api, version));
        match Request::decode(api, version, &mut reader) {
            Ok(request) => {
                let mut printer = Printer::default();
                request.print(version, &mut printer);
                format!("{client} -> {}", printer.finish())
            }
            Err(error) => format!("{client} -> {} v{version}, {error}", api.name()),
        }
    }

    /// A response frame without its size.
    pub fn response(&mut self, client: &str, frame: &Bytes) -> String {
        let correlation = frame
            .first_chunk()
            .map_or(-1, |bytes| i32::from_be_bytes(*bytes));
        let Some((api, version)) = self.requests.remove(&(client.to_string(), correlation)) else {
            return format!("{client} <- a frame of {} bytes", frame.len());
        };
        match decode_response(api, version, frame) {
            Ok(mut response) => {
                // The defaults of all configurations would hide the rest.
                if let Response::CreateTopics(response) = &mut response {
                    response
                        .topics
                        .iter_mut()
                        .for_each(|topic| topic.configs = None);
                }
                let mut printer = Printer::default();
                response.print(version, &mut printer);
                format!("{client} <- {}", printer.finish())
            }
            Err(error) => format!("{client} <- {} v{version}, {error}", api.name()),
        }
    }
}

/// Reads a response frame without its size.
///
/// # Errors
/// A sentence.
pub fn decode_response(api: ApiKey, version: i16, frame: &Bytes) -> Result<Response, String> {
    let mut reader = Reader::new(frame.clone());
    let decode = |reader: &mut Reader| {
        ResponseHeader::decode(api, version, reader)?;
        Response::decode(api, version, reader)
    };
    decode(&mut reader).map_err(|error| format!("{} v{version}: {error}", api.name()))
}

/// An operation as the broker asked for it.
pub fn operation(op: &StorageOp) -> String {
    let mut text = format!("store {} ", op.id);
    match &op.kind {
        OpKind::Append { parts } => {
            let part = |part: &ackord_machine::LogAppend| {
                format!("{} [{}..{}]", log_name(part.log), part.base, part.last)
            };
            let parts: Vec<_> = parts.iter().map(part).collect();
            text += &format!("append {}", parts.join(", "));
        }
        OpKind::Checkpoint { log, at, .. } => {
            text += &format!("checkpoint {} at {at}", log_name(*log));
        }
        OpKind::DropLog { log } => text += &format!("drop {}", log_name(*log)),
        OpKind::Find {
            log,
            from,
            timestamp,
        } => {
            text += &format!("find {} from {from} time {timestamp}", log_name(*log));
        }
        OpKind::List => text += "list",
        OpKind::Load { log, .. } => text += &format!("load {}", log_name(*log)),
        OpKind::Read { log, from, .. } => text += &format!("read {} from {from}", log_name(*log)),
        OpKind::Trim { log, before } => text += &format!("trim {} to {before}", log_name(*log)),
    }
    if let Some(after) = op.after {
        text += &format!(" after {after}");
    }
    text
}

/// The end of an operation.
pub fn completion(done: &Completion) -> String {
    let outcome = match &done.outcome {
        Ok(Outcome::Done) => "done".to_string(),
        Ok(Outcome::Found(found)) => found.as_ref().map_or("nothing".to_string(), |found| {
            format!("found the batch at {}", found.batch.base)
        }),
        Ok(Outcome::Listed(logs)) => format!("{} logs", logs.len()),
        Ok(Outcome::Loaded(log)) => {
            format!(
                "[{}..{}) in {} batches",
                log.start,
                log.end,
                log.batches.len()
            )
        }
        Ok(Outcome::Read(batches)) => format!("{} batches", batches.len()),
        Err(fault) => format!("failed: {fault}"),
    };
    format!("{} {outcome}", done.id)
}

fn log_name(log: LogId) -> String {
    if log == ackord_coord_core::metadata::CLUSTER_LOG {
        return "cluster".to_string();
    }
    format!("{}-{}", log.topic, log.partition)
}

/// Replaces ids by names, so that a transcript does not depend on chance.
#[derive(Clone, Debug, Default)]
pub struct Names {
    known: Vec<(String, String)>,
}

impl Names {
    /// From now on `id` reads as `name`.
    pub fn add(&mut self, id: String, name: &str) {
        if !self.known.iter().any(|(own, _)| *own == id) {
            self.known.push((id, name.to_string()));
        }
    }

    /// The text with names.
    pub fn apply(&self, text: &str) -> String {
        self.known
            .iter()
            .fold(text.to_string(), |text, (id, name)| text.replace(id, name))
    }
}
