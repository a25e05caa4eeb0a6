//! Requests over one connection, one at a time.

use ackord_proto::api::{Request, RequestHeader, Response, encode_request_frame};

use crate::arm::Received;
use crate::frame_stream::FrameStream;
use crate::transcript::decode_response;

/// A connection that asks and waits for the answer.
#[derive(Debug)]
pub struct Caller {
    stream: FrameStream,
    client: String,
    correlation: i32,
}

impl Caller {
    /// Opens a connection to `HOST:PORT` under a client id.
    ///
    /// # Errors
    /// A sentence.
    pub fn connect(address: &str, client: &str) -> Result<Self, String> {
        Ok(Caller {
            stream: FrameStream::connect(address)?,
            client: client.to_string(),
            correlation: 0,
        })
    }

    /// Sends a request in a version and takes its answer.
    ///
    /// # Errors
    /// A sentence; whether the request was carried out is unknown then.
    pub fn call(&mut self, request: impl Into<Request>, version: i16) -> Result<Response, String> {
        let request = request.into();
        self.correlation += 1;
        let header = RequestHeader {
            api_key: request.key(),
            api_version: version,
            correlation_id: self.correlation,
            client_id: Some(self.client.as_str().into()),
            unknown_tags: Default::default(),
        };
        let frame = encode_request_frame(&header, &request).map_err(|error| error.to_string())?;
        self.stream.send(&frame.concat())?;
        match self.stream.receive()? {
            Received::Frame(frame) => decode_response(request.key(), version, &frame),
            Received::Closed | Received::Waiting => Err("the connection is closed".to_string()),
        }
    }
}
