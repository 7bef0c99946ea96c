//! Tests with real services. One binary, one module per subject; keep the list flat.

mod cluster_kit;
mod tenant_policy;
