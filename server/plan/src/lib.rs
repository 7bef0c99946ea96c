//! What the cluster and the git repository should hold: pure functions from what was decided to Kubernetes objects.
//!
//! No client, no clock, no environment: values come in and manifests go out.

mod diff;
pub mod git;
pub mod labels;
pub mod manifest;
mod namespace;
pub mod nccl;
pub mod policy;
mod probe;
pub mod registration;
mod tenancy;
mod yaml;

pub use diff::{ObjectDiff, diff};
pub use namespace::{QUOTA, desired};
pub use probe::{Gate, Layer, Probe};
pub use tenancy::{Desired, Memlock, PartitionUse, PodSecurity, SiteSettings, Tenancy, TenancyLine};
