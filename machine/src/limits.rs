//! Bounds of everything that could grow.

/// One bound for each queue. Reaching one is a defined answer, never growth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections; one more is closed at once.
    pub connections: usize,
    /// Size of one request frame in bytes (Kafka's `socket.request.max.bytes`); a larger one closes
    /// the connection.
    pub frame_bytes: usize,
    /// Requests of one connection that wait for storage; the next frame is not read before one ends.
    pub pipelined_requests: usize,
    /// Bytes of all requests under way; at the limit connections are read one at a time. A host keeps
    /// to it with those that arrive, too (Kafka's `queued.max.request.bytes`).
    pub request_bytes: usize,
    /// After so many milliseconds over which nothing has passed a host ends a connection (Kafka's
    /// `connections.max.idle.ms`); `None`: never.
    pub idle_ms: Option<u64>,
    /// Reply bytes that one connection may leave unread; above it no further frame is read.
    pub unsent_bytes: usize,
    /// Log bytes kept in memory for readers, over all logs.
    pub tail_bytes: usize,
    /// Log bytes kept in memory for readers of one log.
    pub tail_bytes_per_log: usize,
    /// Appends to one log between two checkpoints.
    pub checkpoint_appends: u64,
    /// Partitions of all topics.
    pub partitions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 20_000,
            frame_bytes: 100 * 1024 * 1024,
            pipelined_requests: 16,
            request_bytes: 512 * 1024 * 1024,
            idle_ms: Some(600_000),
            unsent_bytes: 1024 * 1024,
            tail_bytes: 64 * 1024 * 1024,
            tail_bytes_per_log: 4 * 1024 * 1024,
            checkpoint_appends: 1000,
            partitions: 100_000,
        }
    }
}
