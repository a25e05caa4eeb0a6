//! The derive behind the message descriptions of `ackord-proto`.
//!
//! A Kafka message is a plain struct whose fields say in which versions they exist:
//!
//! ```ignore
//! #[derive(Clone, Debug, PartialEq, Wire)]
//! #[wire(api = 26, request, versions = 0..=5, flexible = 3)]
//! pub struct EndTxnRequest {
//!     pub transactional_id: Str,
//!     pub committed: bool,
//!     #[wire(versions = 5.., default = -1, ignorable)]
//!     pub producer_id: i64,
//!     pub unknown_tags: UnknownTags,
//! }
//! ```
//!
//! On the struct: `api = KEY` with `request` or `response`, or `data` for records without an API
//! key; `versions = A..=B`; `flexible = N` where a version is flexible. A struct without
//! these is nested and takes version and flexibility from the message around it.
//!
//! On a field: `versions`, `nullable` (ranges of versions), `default`, `tag = N` (a tagged field
//! in all its versions), `ignorable` (dropped in silence where a version lacks it).
//! A field of type `UnknownTags` keeps the tagged fields that nobody knows.

use proc_macro::TokenStream;

mod attributes;
mod fields;
mod generate;

/// Implements `Wire`, `Nullable` and `Default`, and `Message` where the struct names a
/// message; see the crate documentation for the attributes.
#[proc_macro_derive(Wire, attributes(wire))]
pub fn derive_wire(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    generate::expand(&input)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
