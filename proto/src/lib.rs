//! Bytes to messages and back: Kafka's wire protocol without a socket.
//!
//! * [`messages`]: one plain struct for each request and response, every version of it.
//! * [`api`]: the table of APIs, the headers, and the enums over all requests and responses.
//! * [`frame`]: cutting a stream of bytes into frames.
//! * [`records`]: record batches (magic 2), their codecs, and control records.
//! * [`coordinator_records`]: what the coordinators write into their internal topics.
//! * [`embedded`]: structures inside bytes fields, such as subscriptions of consumers.
//! * [`kip1289`]: the numbers of transactional share acknowledgement.
//! * [`printer`]: any message on one line, or field by field down to its records, for people.
//!
//! Nothing here holds state or does I/O. A message is a struct with the fields of all versions;
//! which of them travel is said when it is read or written. A field that a version lacks has
//! its default after reading. Writing refuses a value that would get lost, unless Kafka calls
//! the field ignorable.
//!
//! # A request and its answer
//!
//! ```
//! use ackord_proto::api::{self, ApiKey, Request, RequestHeader, Response, ResponseHeader};
//! use ackord_proto::frame::FrameBuffer;
//! use ackord_proto::messages::{EndTxnRequest, EndTxnResponse};
//! use ackord_proto::{ErrorCode, Reader};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let request = EndTxnRequest {
//!     transactional_id: "orders-1".into(),
//!     producer_id: 4000,
//!     producer_epoch: 2,
//!     committed: true,
//!     ..Default::default()
//! };
//! let header = RequestHeader {
//!     api_key: ApiKey::EndTxn,
//!     api_version: 4,
//!     correlation_id: 17,
//!     client_id: Some("example".into()),
//!     unknown_tags: Default::default(),
//! };
//! // A list of chunks, to be written one behind the other.
//! let chunks = api::encode_request_frame(&header, &request)?;
//!
//! // The other side: a stream comes in pieces and is cut into frames.
//! let mut stream = FrameBuffer::new(100 << 20);
//! for chunk in chunks {
//!     stream.push(chunk);
//! }
//! let frame = stream.next_frame()?.expect("a whole frame");
//! let mut r = Reader::new(frame);
//! let header = RequestHeader::decode(&mut r)?;
//! let body = Request::decode(header.api_key, header.api_version, &mut r)?;
//! assert_eq!(body, Request::EndTxn(request));
//!
//! let answer = EndTxnResponse {
//!     error_code: ErrorCode::CONCURRENT_TRANSACTIONS,
//!     ..Default::default()
//! };
//! let (id, key, version) = (header.correlation_id, header.api_key, header.api_version);
//! let chunks = api::encode_response_frame(id, key, version, &answer)?;
//!
//! let mut r = Reader::new(chunks.concat().split_off(4).into());
//! assert_eq!(ResponseHeader::decode(key, version, &mut r)?.correlation_id, 17);
//! assert_eq!(Response::decode(key, version, &mut r)?, Response::EndTxn(answer));
//! # Ok(())
//! # }
//! ```
//!
//! # Printing for people
//!
//! ```
//! use ackord_proto::Message;
//! use ackord_proto::messages::EndTxnRequest;
//! use ackord_proto::printer::Printer;
//!
//! let request = EndTxnRequest { committed: true, ..Default::default() };
//! let mut lines = Printer::by_lines(None, 1 << 20);
//! Message::print(&request, 4, &mut lines);
//! assert!(lines.finish().ends_with("\n  committed: true\n}"));
//! ```
//!
//! Batches are opened down to their records. `ackord decode` prints whole frames that way.
//!
//! # Answering ApiVersions
//!
//! The first request of a client. A version from the future is answered in version 0, so that
//! the client can step down; answers never have tagged fields in their header.
//!
//! ```
//! use ackord_proto::ErrorCode;
//! use ackord_proto::api::ApiKey;
//! use ackord_proto::messages::ApiVersionsResponse;
//! use ackord_proto::messages::api_versions::ApiVersion;
//!
//! fn answer(served: &[ApiKey], version: i16) -> (i16, ApiVersionsResponse) {
//!     let announce = |api: &ApiKey| ApiVersion {
//!         api_key: api.key(),
//!         min_version: *api.announced_versions().start(),
//!         max_version: *api.announced_versions().end(),
//!         ..Default::default()
//!     };
//!     let known = ApiKey::ApiVersions.versions().contains(&version);
//!     let response = ApiVersionsResponse {
//!         error_code: match known {
//!             true => ErrorCode::NONE,
//!             false => ErrorCode::UNSUPPORTED_VERSION,
//!         },
//!         api_keys: served.iter().map(announce).collect(),
//!         ..Default::default()
//!     };
//!     (if known { version } else { 0 }, response)
//! }
//!
//! let served = [ApiKey::Produce, ApiKey::ApiVersions];
//! assert_eq!(answer(&served, 4).0, 4);
//! assert_eq!(answer(&served, 99).0, 0);
//! // Announced from 0 although only 3 and later exist (KAFKA-18659).
//! assert_eq!(answer(&served, 4).1.api_keys[0].min_version, 0);
//! ```
//!
//! # Walking over batches
//!
//! ```
//! use ackord_proto::records::{BatchBuilder, BatchIter, Compression, RecordIter};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut builder = BatchBuilder::new(0);
//! builder.push(1_700_000_000_000, Some(b"key"), Some(b"value"));
//! builder.push(1_700_000_000_005, None, None);
//! # #[cfg(feature = "std")]
//! let batch = builder.build_compressed(Compression::Lz4)?;
//! # #[cfg(not(feature = "std"))]
//! # let batch = builder.build();
//!
//! for batch in BatchIter::new(batch) {
//!     let batch = batch?;
//!     // At most 1 MiB of records, whatever the batch says.
//!     for record in RecordIter::within(&batch.bytes, 1 << 20)? {
//!         let record = record?;
//!         println!("{} {:?}", record.offset, record.value);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What is checked
//!
//! Any bytes can be given to any decoder: it answers with a message or a [`DecodeError`] that
//! says what is wrong, in which field and at which byte. It never panics, and memory is taken
//! only for elements that can be there: a count is compared with the bytes that are left before
//! anything is reserved, so a message takes at most 512 bytes for each byte that arrived (the
//! largest structs are that much larger than their shortest encoding), and a compressed batch no
//! more than the limit that the caller gives. The limits are those of Kafka: 1,000,000 elements in
//! an array, 10,000 tagged fields in a section, 32,767 bytes in a string.
//!
//! Accepted as by Kafka: bytes behind a body, any non-zero byte as true, any negative length as
//! null where null is allowed, varints longer than needed, tagged fields out of order and
//! repeated. Refused although Kafka accepts it, since no real client sends it: text that is not
//! UTF-8, and a tagged field of another size than it says.
//!
//! [`records::validate_for_append`] checks a batch as a broker does before it appends it, with
//! all records, also inside a compressed batch. Here too it refuses what Kafka lets pass and no
//! client sends: bytes behind the batch, a base offset other than 0, a transaction without a
//! producer, a producer id below -1, lengths below -1, offsets of records that do not count up
//! from 0.
//!
//! Not checked: what the fields mean. Whether a topic exists, an epoch is current or an offset is
//! in range is for the reader of the message; so are limits of size, such as
//! `message.max.bytes`, and the codecs that a version of Produce or Fetch allows.
//!
//! # Adding a version
//!
//! One line in the file of the message: the new field with `#[wire(versions = N..)]`, and the new
//! end of the range on the struct. See the derive [`Wire`].
//!
//! # Features
//!
//! * `std` (on by default): the CRC-32C that uses the processor's own instruction, and the codecs
//!   gzip, snappy and lz4.
//! * `zstd` (on by default): the codec zstd, which is C code.
//!
//! Without them the crate needs `alloc` alone, and batches of a codec that is not there are
//! answered with `UNSUPPORTED_COMPRESSION_TYPE`.
#![no_std]

extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

extern crate self as ackord_proto;

pub use ackord_proto_derive::Wire;

pub mod acknowledge_types;
pub mod api;
pub mod coordinator_records;
pub mod embedded;
pub mod error_code;
pub mod frame;
pub mod ids;
pub mod kip1289;
pub mod message;
pub mod messages;
mod parse;
pub mod printer;
pub mod reader;
pub mod records;
pub mod str;
pub mod tags;
pub mod uuid;
pub mod wire;
pub mod writer;

pub use error_code::ErrorCode;
pub use ids::Ids;
pub use message::{DecodeError, DecodeErrorKind, EncodeError, Kind, Message};
pub use reader::Reader;
pub use records::Records;
pub use str::Str;
pub use uuid::Uuid;
pub use writer::Writer;
