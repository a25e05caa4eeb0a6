//! The broker and the client on async-std.
