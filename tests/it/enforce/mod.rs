//! Namespaces made true on a real API server: the order, the proof, and that nobody slips in while it is done.
//!
//! Reference: `server/cluster/src/enforce.rs` says why the order is as it is.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise, and says where")]

mod adoption;
mod birth;
mod changes;
mod drift;
mod own;
mod race;
mod site;
mod walls;
