//! The admin APIs as a client meets them: requests in, answers out, through frames.

mod cluster;
mod configs;
mod coordinator_configs;
mod offsets;
mod partitions;
mod share_state;
mod topics;
