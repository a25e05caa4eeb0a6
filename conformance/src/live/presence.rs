//! Whether the broker is there: asked twice a second, over a connection of its own each time.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ackord_proto::api::Response;
use ackord_proto::messages::{ApiVersionsRequest, ApiVersionsResponse};

use crate::caller::Caller;

/// How long a broker may be away, or mute.
const AWAY: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);

/// See the module.
pub(super) struct Presence {
    address: String,
    heard: Arc<Mutex<Heard>>,
}

struct Heard {
    at: Instant,
    last: Result<(), String>,
    /// Whether it has answered at all.
    ever: bool,
}

impl Presence {
    /// Begins to ask.
    pub(super) fn watch(address: &str) -> Self {
        let heard = Arc::new(Mutex::new(Heard {
            at: Instant::now(),
            last: Err("nobody asked yet".to_string()),
            ever: false,
        }));
        let weak = Arc::downgrade(&heard);
        let asked = address.to_string();
        // Ends with the last look at it, or with the process where a peer holds the line.
        thread::spawn(move || {
            while let Some(heard) = weak.upgrade() {
                let answer = api_versions(&asked).map(drop);
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                if answer.is_ok() {
                    heard.at = Instant::now();
                    heard.ever = true;
                }
                heard.last = answer;
                drop(heard);
                thread::sleep(PAUSE);
            }
        });
        Presence {
            address: address.to_string(),
            heard,
        }
    }

    /// Waits for its first answer.
    ///
    /// # Errors
    /// None came.
    pub(super) fn first_answer(&self) -> Result<(), String> {
        self.until(|| match self.heard(|heard| heard.ever) {
            true => Ok(()),
            false => Err("no answer yet".to_string()),
        })
    }

    /// A sentence where the broker has been away for too long.
    pub(super) fn is_gone(&self) -> Option<String> {
        self.heard(|heard| {
            let reason = heard.last.as_ref().err();
            let reason = reason.map_or("", String::as_str);
            let gone = heard.at.elapsed() > AWAY;
            gone.then(|| {
                format!(
                    "{} has not answered for {} s: {reason}",
                    self.address,
                    AWAY.as_secs()
                )
            })
        })
    }

    /// Tries until it succeeds, for as long as a broker may be away.
    ///
    /// # Errors
    /// What the last try said, or that the broker is gone.
    pub(super) fn until<T>(
        &self,
        mut attempt: impl FnMut() -> Result<T, String>,
    ) -> Result<T, String> {
        let started = Instant::now();
        loop {
            match attempt() {
                Ok(value) => return Ok(value),
                Err(_) if self.is_gone().is_some() => {
                    return Err(self.is_gone().unwrap_or_default());
                }
                Err(sentence) if started.elapsed() > 2 * AWAY => return Err(sentence),
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    fn heard<T>(&self, look: impl FnOnce(&Heard) -> T) -> T {
        look(&self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the broker can do.
///
/// # Errors
/// A sentence.
pub(super) fn api_versions(address: &str) -> Result<ApiVersionsResponse, String> {
    let request = ApiVersionsRequest {
        client_software_name: "ackord-conformance".into(),
        client_software_version: env!("CARGO_PKG_VERSION").into(),
        ..Default::default()
    };
    let mut caller = Caller::connect(address, "live")?;
    match caller.call(request, 3)? {
        Response::ApiVersions(response) => Ok(response),
        _ => Err("no answer of ApiVersions".to_string()),
    }
}
