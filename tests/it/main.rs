//! Tests with real services. One binary, one module per subject; keep the list flat.

mod charge;
mod cluster_kit;
mod enforce;
mod flow;
mod store;
mod tenant_policy;
