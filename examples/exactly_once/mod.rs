//! The body of the example `exactly_once`, for any runtime: each adapter names its own. Its parts
//! are public for whoever wants to copy and count in another setting.

mod account;
mod broker;
mod chaos;
mod copy;
mod options;
mod progress;

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackord_client_core::client::Runtime;
use ackord_server::Host;
use clap::Parser;

use broker::OwnBroker;

pub use account::{Account, Copies, Tally, watch};
pub use chaos::Leashes;
pub use copy::Copy;
pub use options::Options;

/// Runs the example. `block_on` runs a future on the runtime, `serve` is the adapter's server.
pub fn main<R: Runtime>(
    block_on: impl FnOnce(Run<R>) -> Result<bool, String>,
    serve: impl FnOnce(TcpListener, Host) -> io::Result<()>,
) -> ExitCode {
    if let Some(args) = broker::arguments() {
        return ackord_server::run(args, ackord_server::broker, serve);
    }
    let run = Run {
        options: Options::parse(),
        runtime: std::marker::PhantomData,
    };
    match block_on(run) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("exactly_once: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// One run, before it begins.
#[derive(Debug)]
pub struct Run<R> {
    options: Options,
    runtime: std::marker::PhantomData<fn() -> R>,
}

impl<R: Runtime> Run<R> {
    /// Copies, then gives the account: true where it is clean.
    ///
    /// # Errors
    /// A sentence: it could not begin.
    pub async fn until_done(self) -> Result<bool, String> {
        let mut options = self.options;
        let own = match options.against {
            Some(_) => None,
            None => Some(OwnBroker::start()?),
        };
        if let Some(own) = &own {
            println!("a broker of our own serves on {}", own.address());
            options.against = Some(own.address().to_string());
        }
        let tally = Arc::new(Tally::default());
        let copy = Copy::<R>::new(options, Arc::clone(&tally))?;
        let options = copy.options().clone();
        let failed = |what: &str, error| format!("{what}: {error}");
        copy.prepare()
            .await
            .map_err(|error| failed("preparing", error))?;
        copy.fill()
            .await
            .map_err(|error| failed("filling", error))?;
        println!(
            "filled {} with {} records",
            options.input(),
            options.records
        );
        let leashes = Leashes::new(options.workers);
        leashes.let_loose(&copy);
        let started = Instant::now();
        let limit = Duration::from_secs(options.limit);
        let enough = |_| {
            let late = started.elapsed() > limit;
            let late = late.then(|| format!("not complete after {limit:?}"));
            leashes.hopeless().or(late)
        };
        let copies = watch::<R>(&copy, enough).await;
        leashes.stop();
        drop(own);
        if let Some(reason) = leashes.hopeless() {
            return Err(reason);
        }
        let account = Account::of(&options, &copies?);
        account.print(&tally);
        Ok(account.is_clean())
    }
}

/// Ends with the first of two futures; the other is dropped wherever it is.
async fn first<T>(one: impl Future<Output = T>, other: impl Future<Output = T>) -> T {
    let (mut one, mut other) = (std::pin::pin!(one), std::pin::pin!(other));
    std::future::poll_fn(|context| match one.as_mut().poll(context) {
        std::task::Poll::Ready(value) => std::task::Poll::Ready(value),
        std::task::Poll::Pending => other.as_mut().poll(context),
    })
    .await
}
