//! What the cluster and the git repository should hold: pure functions from what was decided to Kubernetes objects.
//!
//! No client, no clock, no environment: values come in and manifests go out.

pub mod labels;
pub mod manifest;
pub mod policy;
pub mod registration;
mod yaml;
