//! Tests with real services. One binary, one module per subject; keep the list flat.

mod charge;
mod cluster_kit;
mod enforce;
mod flow;
mod http;
mod store;
mod sweep;
mod tenant_policy;
