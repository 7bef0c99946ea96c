//! What gpuaas remembers: one SQL text for SQLite and Postgres. The only crate that knows SQL.
//!
//! # How a function reads
//!
//! One module an aggregate; every function takes `&mut Conn` first and does one thing. Reads run on
//! [`Store::read`] or inside a transaction, writes only inside [`Store::begin`], so that a use-case decides what
//! belongs together:
//!
//! ```ignore
//! let mut tx = store.begin().await?;
//! let Some(offering) = offerings::lock(&mut tx, &name).await? else { return Err(…) };   // nobody else decides now
//! let line = ledger::line(&mut tx, &name).await?;
//! // … domain::ledger::decide(…) …
//! ledger::post(&mut tx, &event).await?;
//! tx.commit().await?;                                                                   // or drop: nothing happened
//! ```
//!
//! To add one, copy the shape of a neighbour:
//!
//! ```ignore
//! /// Pools of a cluster, by name.
//! pub async fn of_cluster(conn: &mut Conn, cluster: &ClusterName) -> Result<Vec<Pool>> {
//!     let rows = query("SELECT version, body FROM pools WHERE cluster = $1 ORDER BY name")
//!         .bind(cluster.as_str())
//!         .fetch_all(&mut *conn)
//!         .await?;
//!     rows.iter().map(entity).collect()
//! }
//! ```
//!
//! * Statements are literals with `$1` placeholders that both databases understand. Lists with optional filters
//!   put literal pieces together ([`select`]); values are always bound.
//! * Ids and names are text, times `BIGINT` microseconds ([`row::micros`]), truth values `BIGINT` 0 or 1, JSON
//!   text. Sums are cast to `BIGINT`, because Postgres makes them `NUMERIC`.
//! * An entity is its JSON `body` beside real columns for keys, filters, sorts, constraints and locks. The
//!   `version` column is the truth for `version`.
//! * An insert that may find its key taken says `ON CONFLICT DO NOTHING` and looks at the count
//!   ([`row::inserted`]): a failed statement would spoil the whole transaction on Postgres, but not on SQLite.
//! * A row lock is an `UPDATE … RETURNING` that changes nothing.
//! * No clock, no randomness: `now` and new ids are arguments.
//! * New columns and tables come with a new pair of files in `migrations/sqlite` and `migrations/postgres` under
//!   the same number, and a line in `schema.rs`. A new function needs a call in `tests/it/store`; a test there
//!   reads these sources and names those that the suite does not call.

#![forbid(unsafe_code)]

mod cursor;
mod error;
mod row;
mod schema;
mod select;
mod store;

pub mod audit;
pub mod clusters;
pub mod grants;
pub mod idempotency;
pub mod ledger;
pub mod namespaces;
pub mod nodes;
pub mod offerings;
pub mod outbox;
pub mod partitions;
pub mod pools;
pub mod requests;
pub mod sessions;
pub mod setup;
pub mod teams;
pub mod users;

pub use cursor::{Cursor, CursorError, Paging};
pub use error::{Result, StoreError};
pub use store::{Conn, Read, Store, Tx};
