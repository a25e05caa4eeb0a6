//! The host with a core that echoes, on tokio, over loopback.

mod connections;
mod echo;
mod process;
