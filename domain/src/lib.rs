//! The rules of gpuaas: what may be asked for, what fits, who may do what, and how states follow each other.
//!
//! Everything here is a pure function of its arguments. There is no IO, no clock, no randomness and nothing
//! async, so that the same rules run in the server, in tests and (compiled to wasm) in the browser. Types that
//! the public API speaks are here too: what a handler, a page and a store pass around is one type.

#![forbid(unsafe_code)]

pub mod api;
pub mod authz;
pub mod charge;
pub mod fabric;
pub mod fleet;
pub mod grant;
pub mod id;
pub mod ledger;
pub mod name;
pub mod people;
pub mod placement;
pub mod quantity;
pub mod request;
pub mod resource;
pub mod shape;

/// A point in time, always UTC.
pub type Timestamp = chrono::DateTime<chrono::Utc>;
