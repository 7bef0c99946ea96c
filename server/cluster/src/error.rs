//! What can go wrong with a cluster, in words for the people who run it.

use std::fmt;
use std::time::Duration;

/// A field that somebody else set to another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldConflict {
    /// Path of the field, as `.spec.hard.requests.nvidia.com/gpu`.
    pub field: String,
    /// Field manager that owns it.
    pub manager: String,
}

impl fmt::Display for FieldConflict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (set by {})", self.field, self.manager)
    }
}

/// Why a cluster did not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClusterError {
    /// No answer: refused, reset, or no route. It may work later.
    #[error("the API server cannot be reached: {detail}")]
    Unreachable {
        /// What the connection said.
        detail: String,
    },
    /// The API server answered no.
    #[error("the API server refused it ({status} {reason}): {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The word of the API server, as `Forbidden`.
        reason: String,
        /// The API server's own text.
        message: String,
    },
    /// Others own fields that are to be written, and set them to other values.
    #[error("{object} was not written, others own fields of it: {}", list(fields))]
    Conflict {
        /// The object.
        object: String,
        /// The fields.
        fields: Vec<FieldConflict>,
    },
    /// The API server asks for patience (429, 503, 504), to the end of the time that there was.
    #[error("the API server is too busy: {message}")]
    Busy {
        /// The API server's own text.
        message: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// Something did not happen in time.
    #[error("it took longer than {} s: {what}", limit.as_secs_f32())]
    Deadline {
        /// What was waited for, and what was seen instead.
        what: String,
        /// How long.
        limit: Duration,
    },
    /// A kubeconfig that cannot be used.
    #[error("the kubeconfig cannot be used: {why}")]
    BadKubeconfig {
        /// Why, and what would do.
        why: String,
    },
    /// An answer that is not what the API promises.
    #[error("the answer to {what} is not understood: {why}")]
    Answer {
        /// The request.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// An object that is not one of the kinds that are written.
    #[error(transparent)]
    Manifest(#[from] plan::manifest::ManifestError),
}

impl ClusterError {
    /// Whether the same may work later without anybody doing something.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Busy { .. } | Self::Deadline { .. } => true,
            // An API server that just started knows no roles for a moment.
            Self::Refused { status, message, .. } => *status >= 500 || lacks_rights(message),
            Self::Conflict { .. } | Self::BadKubeconfig { .. } | Self::Answer { .. } | Self::Manifest(_) => {
                false
            }
        }
    }
}

/// Is it the text of RBAC, `User "…" cannot patch resource "…"`, and not that of an admission policy?
pub(crate) fn lacks_rights(message: &str) -> bool {
    message.split_once("User \"").is_some_and(|(_, rest)| {
        rest.split_once("\" cannot ").is_some_and(|(_, rest)| rest.contains(" resource \""))
    })
}

fn list(fields: &[FieldConflict]) -> String {
    fields.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
