//! Why a use-case refuses, in types; `http` alone turns them into status codes.

use std::error::Error;

use domain::{api::FieldError, ledger::Shortfall};

/// Result of a use-case.
pub type Result<T> = std::result::Result<T, AppError>;

/// Why a use-case refuses.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// Not there, or not to be seen by this actor; the two look the same.
    #[error("{what} does not exist, or you may not see it")]
    NotFound {
        /// What was looked for, in words.
        what: String,
    },
    /// Seen, but not allowed.
    #[error("{detail}")]
    Forbidden {
        /// Who may, in words.
        detail: String,
    },
    /// Fields that are wrong.
    #[error("{}", fields.iter().map(|f| format!("{}: {}", f.field, f.message)).collect::<Vec<_>>().join("; "))]
    Invalid {
        /// Each field.
        fields: Vec<FieldError>,
    },
    /// It does not fit.
    #[error("{detail}")]
    Short {
        /// In a sentence.
        detail: String,
        /// In numbers.
        shortfalls: Vec<Shortfall>,
    },
    /// The state of the thing does not allow it.
    #[error("{detail}")]
    Conflict {
        /// Which state, and what would do.
        detail: String,
    },
    /// `If-Match` names another version than the stored one.
    #[error("{detail}")]
    Stale {
        /// Both versions.
        detail: String,
    },
    /// The Idempotency-Key was used before with another body.
    #[error("{detail}")]
    KeyReused {
        /// What would do.
        detail: String,
    },
    /// Login or password is wrong; which of them is not told.
    #[error("login or password is wrong")]
    BadCredentials,
    /// Too many tries.
    #[error("too many failed tries; try again in {retry_after_s} seconds")]
    Throttled {
        /// Seconds to wait.
        retry_after_s: u64,
    },
    /// Something of ours failed; the text is for the log only.
    #[error("{what}")]
    Internal {
        /// What was being done.
        what: &'static str,
        /// Why it failed.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

impl AppError {
    pub(crate) fn not_found(what: impl Into<String>) -> Self {
        Self::NotFound { what: what.into() }
    }
    pub(crate) fn invalid(field: &str, message: impl std::fmt::Display) -> Self {
        Self::Invalid { fields: vec![FieldError::new(field, message)] }
    }
    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::Conflict { detail: detail.into() }
    }
    pub(crate) fn internal(what: &'static str, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Internal { what, source: source.into() }
    }
    pub(crate) fn short(shortfalls: Vec<Shortfall>) -> Self {
        let detail = shortfalls.iter().map(|s| s.detail.as_str()).collect::<Vec<_>>().join("; ");
        Self::Short { detail, shortfalls }
    }
}

impl From<store::StoreError> for AppError {
    fn from(error: store::StoreError) -> Self {
        match error {
            store::StoreError::Stale { what, expected, found } => Self::Stale {
                detail: format!(
                    "{what} was changed by somebody else: you have version {expected}, now it is {found}; load it again"
                ),
            },
            store::StoreError::Taken { what, name } => {
                Self::Conflict { detail: format!("{what} {name} exists already") }
            }
            other => Self::internal("the database does not answer as it should", other),
        }
    }
}
