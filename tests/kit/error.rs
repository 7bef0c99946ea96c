//! What can go wrong while a test's surroundings are set up.

use std::io;
use std::path::Path;

/// Why the kit could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a process.
    #[error("{what}: {source}")]
    Io {
        /// What was being done, with the path.
        what: String,
        /// The system's reason.
        source: io::Error,
    },
    /// Something that the machine lacks, or a use of the kit that makes no sense; the text says what would do.
    #[error("{0}")]
    Setup(String),
    /// A program ended although it was still needed.
    #[error("{program} ended ({status}); the end of its log:\n{log}")]
    Ended {
        /// Its name.
        program: String,
        /// Its exit status in words.
        status: String,
        /// The last lines that it wrote.
        log: String,
    },
    /// Something did not happen in time.
    #[error("{what}: not within {seconds} s")]
    Timeout {
        /// What was waited for.
        what: String,
        /// How long.
        seconds: f32,
    },
    /// The API server refused, or was not reached.
    #[error("Kubernetes: {0}")]
    Kube(Box<kube::Error>),
    /// A kubeconfig that cannot be used.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// A certificate that could not be made.
    #[error("certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A file of nodes that cannot be read.
    #[error("nodes: {0}")]
    Yaml(#[from] serde_yaml_ng::Error),
    /// A line of the audit log that cannot be read.
    #[error("audit log: {0}")]
    Json(#[from] serde_json::Error),
}

/// The kit's result.
pub type Result<T> = std::result::Result<T, Error>;

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Kube(Box::new(error))
    }
}

/// Adds what was being done to an error of the system.
pub(crate) trait Doing<T> {
    /// `what` is a verb with its object, for example `start`.
    fn doing(self, what: &str, path: &Path) -> Result<T>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, what: &str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io { what: format!("{what} {}", path.display()), source })
    }
}
