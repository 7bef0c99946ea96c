//! Between rows and domain types.

use std::{error::Error, str::FromStr};

use chrono::DateTime;
use domain::{
    Timestamp,
    fleet::{Cluster, Offering, Pool},
    grant::Grant,
    people::Team,
    request::Request,
};
use serde::{Serialize, de::DeserializeOwned};
use sqlx::{
    Any, Row,
    any::{AnyArguments, AnyQueryResult, AnyRow},
    query::Query,
};

use crate::{
    error::{Result, StoreError},
    store::Conn,
};

/// A statement with `$1` placeholders.
pub(crate) fn query(sql: &'static str) -> Query<'static, Any, AnyArguments> {
    sqlx::query(sql)
}

/// Microseconds since 1970, as times are stored.
pub(crate) fn micros(at: Timestamp) -> i64 {
    at.timestamp_micros()
}

/// A time from a column.
pub(crate) fn time(row: &AnyRow, column: &'static str) -> Result<Timestamp> {
    stored_time(row.try_get(column)?)
}

/// A time from a column that may be empty.
pub(crate) fn time_or_none(row: &AnyRow, column: &'static str) -> Result<Option<Timestamp>> {
    row.try_get::<Option<i64>, _>(column)?.map(stored_time).transpose()
}

fn stored_time(micros: i64) -> Result<Timestamp> {
    DateTime::from_timestamp_micros(micros)
        .ok_or_else(|| StoreError::corrupt("a time", format!("{micros} µs is out of range")))
}

/// A truth value as it is stored.
pub(crate) fn flag(value: bool) -> i64 {
    i64::from(value)
}

/// A truth value from a column.
pub(crate) fn is_set(row: &AnyRow, column: &'static str) -> Result<bool> {
    Ok(row.try_get::<i64, _>(column)? != 0)
}

/// A whole number of any width from a `BIGINT` column.
pub(crate) fn number<N>(row: &AnyRow, column: &'static str) -> Result<N>
where
    N: TryFrom<i64>,
    N::Error: Error + Send + Sync + 'static,
{
    N::try_from(row.try_get::<i64, _>(column)?).map_err(|e| StoreError::corrupt(column, e))
}

/// As [`number`], from a column that may be empty.
pub(crate) fn number_or_none<N>(row: &AnyRow, column: &'static str) -> Result<Option<N>>
where
    N: TryFrom<i64>,
    N::Error: Error + Send + Sync + 'static,
{
    let stored: Option<i64> = row.try_get(column)?;
    stored.map(N::try_from).transpose().map_err(|e| StoreError::corrupt(column, e))
}

/// An id or a name from a text column.
pub(crate) fn parsed<T>(row: &AnyRow, column: &'static str) -> Result<T>
where
    T: FromStr,
    T::Err: Error + Send + Sync + 'static,
{
    row.try_get::<String, _>(column)?.parse().map_err(|e| StoreError::corrupt(column, e))
}

/// As [`parsed`], from a column that may be empty.
pub(crate) fn parsed_or_none<T>(row: &AnyRow, column: &'static str) -> Result<Option<T>>
where
    T: FromStr,
    T::Err: Error + Send + Sync + 'static,
{
    let stored: Option<String> = row.try_get(column)?;
    stored.map(|text| text.parse()).transpose().map_err(|e| StoreError::corrupt(column, e))
}

/// A value as JSON text.
pub(crate) fn json(what: &'static str, value: &(impl Serialize + ?Sized)) -> Result<String> {
    serde_json::to_string(value).map_err(|e| StoreError::corrupt(what, e))
}

/// A value from a column of JSON text.
pub(crate) fn from_json<T: DeserializeOwned>(row: &AnyRow, column: &'static str) -> Result<T> {
    let text: String = row.try_get(column)?;
    serde_json::from_str(&text).map_err(|e| StoreError::corrupt(column, e))
}

/// An enum without fields as the word that serde gives it.
pub(crate) fn word(value: &impl Serialize) -> Result<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        Ok(other) => Err(StoreError::corrupt("a word", format!("{other} is not one"))),
        Err(e) => Err(StoreError::corrupt("a word", e)),
    }
}

/// An enum without fields from a column.
pub(crate) fn from_word<T: DeserializeOwned>(row: &AnyRow, column: &'static str) -> Result<T> {
    let word: String = row.try_get(column)?;
    serde_json::from_value(serde_json::Value::String(word)).map_err(|e| StoreError::corrupt(column, e))
}

/// Something with a JSON body and a version.
pub(crate) trait Entity: Clone + Serialize + DeserializeOwned {
    /// Kind of thing, for messages.
    const WHAT: &'static str;
    /// Its version column by its key.
    const VERSION: &'static str;
    fn key(&self) -> String;
    fn version(&self) -> i64;
    fn set_version(&mut self, version: i64);
}

macro_rules! entities {
    ($($type:ty: $what:literal, $table:literal by $column:literal, $key:ident;)*) => {$(
        impl Entity for $type {
            const WHAT: &'static str = $what;
            const VERSION: &'static str = concat!("SELECT version FROM ", $table, " WHERE ", $column, " = $1");
            fn key(&self) -> String {
                self.$key.to_string()
            }
            fn version(&self) -> i64 {
                self.version
            }
            fn set_version(&mut self, version: i64) {
                self.version = version;
            }
        }
    )*};
}

entities! {
    Team: "team", "teams" by "name", name;
    Cluster: "cluster", "clusters" by "name", name;
    Pool: "pool", "pools" by "name", name;
    Offering: "offering", "offerings" by "name", name;
    Request: "request", "requests" by "id", id;
    Grant: "grant", "grants" by "id", id;
}

/// The body of an entity.
pub(crate) fn body<T: Entity>(entity: &T) -> Result<String> {
    json(T::WHAT, entity)
}

/// An entity from `version` and `body`.
pub(crate) fn entity<T: Entity>(row: &AnyRow) -> Result<T> {
    let text: String = row.try_get("body")?;
    let mut entity: T = serde_json::from_str(&text).map_err(|e| StoreError::corrupt(T::WHAT, e))?;
    entity.set_version(row.try_get("version")?);
    Ok(entity)
}

/// What an `UPDATE … WHERE version = expected` did: the entity at its next version, or who was faster.
pub(crate) async fn updated<T: Entity>(conn: &mut Conn, entity: &T, done: AnyQueryResult) -> Result<T> {
    let (key, expected) = (entity.key(), entity.version());
    if done.rows_affected() == 1 {
        let mut next = entity.clone();
        next.set_version(expected + 1);
        return Ok(next);
    }
    let row = query(T::VERSION).bind(key.as_str()).fetch_optional(&mut *conn).await?;
    let found = row.map(|row| row.try_get("version")).transpose()?.unwrap_or(0);
    Err(StoreError::Stale { what: format!("{} {key}", T::WHAT), expected, found })
}

/// What an `INSERT … ON CONFLICT DO NOTHING` did.
pub(crate) fn inserted(what: &'static str, name: &impl ToString, done: &AnyQueryResult) -> Result<()> {
    if done.rows_affected() == 0 { Err(StoreError::Taken { what, name: name.to_string() }) } else { Ok(()) }
}

/// Rows that one `INSERT` carries at most: far below the parameters that either database takes.
const BATCH: usize = 200;

/// Inserts many rows with few statements. `head` ends before `VALUES`, `tail` follows the rows; `bind` binds the
/// columns of one row.
pub(crate) async fn insert_many<T>(
    conn: &mut Conn,
    (head, columns, tail): (&'static str, usize, &'static str),
    rows: &[T],
    bind: impl for<'q> Fn(Query<'q, Any, AnyArguments>, &T) -> Result<Query<'q, Any, AnyArguments>>,
) -> Result<()> {
    for batch in rows.chunks(BATCH) {
        let tuples: Vec<String> = (0..batch.len())
            .map(|row| {
                let places: Vec<String> = (1..=columns).map(|c| format!("${}", row * columns + c)).collect();
                format!("({})", places.join(", "))
            })
            .collect();
        let sql = format!("{head} VALUES {} {tail}", tuples.join(", "));
        // Of each table there are few shapes of this statement, but one is as large as hundreds of others.
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql)).persistent(false);
        for row in batch {
            query = bind(query, row)?;
        }
        query.execute(&mut *conn).await?;
    }
    Ok(())
}
