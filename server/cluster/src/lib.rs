//! Clusters: what is read from an API server and what is written to it. The only place that knows a Kubernetes client.
//!
//! A [`Link`] is one identity at one API server. [`registration::install`] makes a cluster ready once, with an admin's
//! rights. A [`Member`] is a cluster that runs: it watches what is there and makes planned namespaces true
//! ([`Member::enforce`]) with the emitter's rights, and proves them with the probe's.

mod enforce;
mod error;
mod facts;
mod index;
mod kubeconfig;
mod link;
mod member;
mod path;
pub mod registration;
mod retry;
mod watch;

pub use enforce::{Answer, EnforceError, Enforced};
pub use error::{ClusterError, FieldConflict};
pub use facts::{ClusterFacts, DeviceUse, NamespaceFacts, UsageFacts};
pub use index::Drift;
pub use kubeconfig::check_kubeconfig;
pub use link::{Applied, Link, LinkOptions, Version};
pub use member::{Member, MemberOptions};
