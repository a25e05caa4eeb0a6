//! The broker as the core of the host.

use ackord_coord_core::{Broker, BrokerConfig};

use crate::settings::Settings;
use crate::start::Startup;

/// The core of both servers, for [`run`](crate::run).
///
/// # Errors
///
/// A sentence that names the first configuration whose value is not allowed.
pub fn broker(startup: Startup) -> Result<Broker, String> {
    let mut config = BrokerConfig::from_pairs(startup.configs)?;
    let unknown = config
        .unknown()
        .iter()
        .filter(|name| !Settings::is_host_config(name));
    for name in unknown {
        startup
            .logger
            .warn(format_args!("the configuration {name} has no effect"));
    }
    config.set_advertised(&startup.advertised.host, startup.advertised.port);
    Ok(Broker::new(
        config,
        startup.limits,
        startup.seed,
        startup.now,
    ))
}
