//! What can go wrong with the repository, in words for the people who run it.

use std::time::Duration;

/// Why a repository could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// git could not be started.
    #[error("git could not be started: {0}; install git 2.36 or later and make sure that it is on the PATH")]
    Start(#[source] std::io::Error),
    /// A file beside the repository could not be written.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// git ended with an error.
    #[error("git {command} failed: {message}")]
    Failed {
        /// The subcommand.
        command: String,
        /// What git wrote.
        message: String,
    },
    /// git gave something that it never should.
    #[error("git {command} answered `{answer}`, which is not understood")]
    Answer {
        /// The subcommand.
        command: String,
        /// The begin of the answer.
        answer: String,
    },
    /// git did not end.
    #[error("git {command} did not end within {} s", limit.as_secs())]
    Timeout {
        /// The subcommand.
        command: String,
        /// How long it had.
        limit: Duration,
    },
    /// A path that must not be written.
    #[error("path `{path}` is not allowed in the repository: {why}")]
    Path {
        /// The path.
        path: String,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// Two folders would describe one namespace, and Argo CD would prune it through one of them.
    #[error(
        "namespace {namespace} is already described by `{holder}`; the folder of a team never changes, and one namespace has one folder: remove the other one first"
    )]
    Namespace {
        /// The namespace.
        namespace: String,
        /// The file of the other folder.
        holder: String,
    },
    /// Others were faster every time.
    #[error("the branch moved {tries} times while the commit was made; try again")]
    Race {
        /// How often it was tried.
        tries: u32,
    },
}
