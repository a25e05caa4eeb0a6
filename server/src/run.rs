//! From the command line to the exit code.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::TcpListener;
use std::process::ExitCode;

use clap::Parser;

use ackord_coord_core::adapter::Core;

use crate::address::Address;
use crate::admin;
use crate::commands;
use crate::decode;
use crate::flags::{Cli, Command};
use crate::host::Host;
use crate::logging::{Level, Logger};
use crate::settings::Settings;
use crate::signals::Stops;
use crate::start::{StartError, Startup, seed};

/// Runs a server, or what else the command line asks for: `make` gives the core, `serve` accepts and serves connections on the runtime of
/// the adapter until [`Host::finished`]. Bad flags end the process with 2; what hinders the start
/// is a sentence on standard error and 1.
pub fn run<C: Core + Send + 'static>(
    args: impl IntoIterator<Item = OsString>,
    make: impl FnOnce(Startup) -> Result<C, String>,
    serve: impl FnOnce(TcpListener, Host) -> io::Result<()>,
) -> ExitCode {
    let flags = match Cli::try_parse_from(args) {
        Ok(cli) => match cli.into_command() {
            Command::Serve(flags) => flags,
            Command::Decode(flags) => return decode::run(&flags),
            Command::Txn(flags) => return commands::txn(&flags),
            Command::Groups(flags) => return commands::groups(&flags),
        },
        Err(error) => error.exit(),
    };
    let settings = match Settings::from_flags(flags) {
        Ok(settings) => settings,
        Err(error) => return failed(Logger::new(Level::Error), error),
    };
    let logger = Logger::new(settings.log_level);
    for warning in &settings.warnings {
        logger.warn(warning);
    }
    let (listener, bound, host) = match start(&settings, logger, make) {
        Ok(started) => started,
        Err(error) => return failed(logger, error),
    };
    if host.wait_ready() {
        ready(&bound);
        if let Err(error) = serve(listener, host.clone()) {
            host.drain();
            let _ = host.wait_finished(None);
            return failed(
                logger,
                format_args!("connections cannot be served: {error}"),
            );
        }
    }
    match host.wait_finished(None) {
        Some(Ok(())) | None => {
            logger.info("stopped");
            ExitCode::SUCCESS
        }
        Some(Err(text)) => failed(logger, text),
    }
}

fn start<C: Core + Send + 'static>(
    settings: &Settings,
    logger: Logger,
    make: impl FnOnce(Startup) -> Result<C, String>,
) -> Result<(TcpListener, Address, Host), StartError> {
    let limits = settings
        .limits()
        .map_err(|error| StartError::Config(error.to_string()))?;
    let bind = |address: &Address| {
        let address = address.clone();
        let bound = address.bind();
        bound.map_err(|error| StartError::Listen { address, error })
    };
    let (listener, bound) = bind(&settings.listen)?;
    let admin = settings.admin.as_ref().map(bind).transpose()?;
    // Before the store opens: a signal during a long recovery is a clean stop too.
    let stops = Stops::catch().map_err(StartError::Thread)?;
    let startup = |now| Startup {
        advertised: bound.advertised(),
        configs: settings.configs.clone(),
        limits: limits.clone(),
        logger,
        now,
        seed: seed(),
    };
    let make = |now| make(startup(now));
    let host = Host::start(
        &settings.data_dir,
        settings.durability,
        &limits,
        logger,
        make,
    )?;
    stops.watch(host.clone()).map_err(StartError::Thread)?;
    if let Some((listener, bound)) = admin {
        logger.info(format_args!("metrics are on http://{bound}/metrics"));
        admin::serve(listener, host.clone()).map_err(StartError::Thread)?;
    }
    Ok((listener, bound, host))
}

/// The one line on standard output. That nobody reads it stops nothing.
fn ready(bound: &Address) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "ackord ready on {bound}");
    let _ = out.flush();
}

fn failed(logger: Logger, text: impl std::fmt::Display) -> ExitCode {
    logger.error(text);
    ExitCode::FAILURE
}
