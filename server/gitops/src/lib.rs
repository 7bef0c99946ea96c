//! The bare git repository that Argo CD or a person reads instead of, or beside, a cluster that gpuaas writes to.
//!
//! The only place that runs git, and only its plumbing: objects are written, a tree is made in an index of our own,
//! and the branch moves from the value that was read to the new one, or not at all. So there is no work tree that
//! could be half written, several processes may commit at once, and no configuration of a user is read.

mod error;
mod git;
mod path;
mod repo;

pub use error::GitError;
pub use repo::{Commit, CommitId, LogEntry, Repo};
