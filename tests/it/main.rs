//! Tests with real services. One binary, one module per subject; keep the list flat.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise, and says where")]

mod charge;
mod cluster_kit;
mod enforce;
mod flow;
mod http;
mod store;
mod sweep;
mod tenant_policy;
