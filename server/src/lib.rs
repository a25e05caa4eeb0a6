//! The host that the servers share: flags, `server.properties`, who drives the core, the store.
//!
//! A server is this crate and an adapter. The adapter knows one thing: how its runtime accepts,
//! reads and writes. For each connection it gives a [`Stream`] to [`Connection::serve`] and polls
//! the future; everything else happens here, without a runtime:
//!
//! - [`run`] reads flags and files, binds the port, starts the host, prints the ready line, hands
//!   the listener to the adapter, and stops cleanly on SIGTERM and SIGINT;
//! - [`Host`] owns the [`Core`]: one inbox, both clocks, one timer, and one driver at a time;
//! - the store answers into the same inbox;
//! - operators get the core's figures from a listener of their own, where they ask for one.
//!
//! Nothing between them grows without a bound: a connection has one frame under way for each read
//! credit of the core and a few small ones beside it, all connections together a bounded number of
//! bytes of either, the store has one completion for each operation of the core, and [`Host::open`]
//! refuses connections above the limit.
#![forbid(unsafe_code)]

mod address;
mod admin;
mod allowance;
mod broker;
mod clock;
mod commands;
mod connection;
mod core_driver;
mod decode;
mod flags;
mod frame_budget;
mod host;
mod idle;
mod inbox;
mod incoming;
mod link;
mod logging;
mod metrics_page;
mod phase;
mod probe;
mod properties;
mod router;
mod run;
mod seat;
mod settings;
mod signals;
mod start;
mod waiting;

pub use self::broker::broker;
pub use ackord_coord_core::adapter::Core;
pub use address::{Address, AddressError};
pub use clock::Clock;
pub use commands::{GroupsFlags, TxnFlags};
pub use connection::{Connection, Stream};
pub use decode::DecodeFlags;
pub use flags::{Cli, Command, Durability, ServeFlags};
pub use host::Host;
pub use logging::{Level, Logger};
pub use probe::{Errand, Exchange, Rest};
pub use properties::{PropertiesError, parse as parse_properties};
pub use run::run;
pub use settings::{Settings, SettingsError};
pub use start::{StartError, Startup};
