//! What can go wrong in the store.

use std::error::Error;

/// Result of a store function.
pub type Result<T> = std::result::Result<T, StoreError>;

/// What can go wrong in the store. That a row is absent is no error.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody changed it since it was read.
    #[error("{what} was read at version {expected} and is at version {found} now")]
    Stale {
        /// Kind of thing and its name.
        what: String,
        /// Version that the caller read.
        expected: i64,
        /// Version that is stored; 0 where there is no such row.
        found: i64,
    },
    /// The name, or another key that must be unique, belongs to something else.
    #[error("{what} {name} exists already")]
    Taken {
        /// Kind of thing.
        what: &'static str,
        /// Its key.
        name: String,
    },
    /// The database failed or refused.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    /// A stored value cannot be read as what it should be, or a value cannot be written.
    #[error("{what} cannot be read from, or written to, the database")]
    Corrupt {
        /// Kind of thing.
        what: &'static str,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The schema could not be brought up to date.
    #[error("the database schema could not be brought up to date")]
    Migration(#[from] sqlx::migrate::MigrateError),
}

impl StoreError {
    pub(crate) fn corrupt(what: &'static str, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Corrupt { what, source: source.into() }
    }
}
