//! The client machines against a broker that plays its part by hand.

mod bench;
mod connection;
mod fetcher;
mod producer;
mod producer_ends;
mod producer_share_acks;
mod producer_two_phase;
mod share_consumer;
mod share_fall_back;
mod share_membership;
