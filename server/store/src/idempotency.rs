//! Idempotency keys: the same request sent twice is done once and answered the same.

use domain::{Timestamp, id::UserId};
use sqlx::Row;

use crate::{
    error::Result,
    row::{micros, number_or_none, query},
    store::Conn,
};

/// What is known of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Began {
    /// Never seen: do the work, then call [`finish`] in the same transaction.
    New,
    /// Done before: answer this.
    Replay {
        /// HTTP status.
        status: u16,
        /// Body.
        body: String,
    },
    /// Seen with another request.
    Conflict,
    /// Begun and committed without an answer.
    Busy,
}

/// Begins work under a key. Another transaction with the same key is waited for.
pub async fn begin(
    conn: &mut Conn,
    actor: UserId,
    key: &str,
    fingerprint: &str,
    now: Timestamp,
) -> Result<Began> {
    let done = query(
        "INSERT INTO idempotency (actor, idem_key, fingerprint, at) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING",
    )
    .bind(actor.to_string())
    .bind(key)
    .bind(fingerprint)
    .bind(micros(now))
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 1 {
        return Ok(Began::New);
    }
    let row = query("SELECT fingerprint, status, body FROM idempotency WHERE actor = $1 AND idem_key = $2")
        .bind(actor.to_string())
        .bind(key)
        .fetch_one(&mut *conn)
        .await?;
    if row.try_get::<String, _>("fingerprint")? != fingerprint {
        return Ok(Began::Conflict);
    }
    Ok(match (number_or_none(&row, "status")?, row.try_get("body")?) {
        (Some(status), Some(body)) => Began::Replay { status, body },
        _ => Began::Busy,
    })
}

/// Keeps the answer.
pub async fn finish(conn: &mut Conn, actor: UserId, key: &str, status: u16, body: &str) -> Result<()> {
    query("UPDATE idempotency SET status = $1, body = $2 WHERE actor = $3 AND idem_key = $4")
        .bind(i64::from(status))
        .bind(body)
        .bind(actor.to_string())
        .bind(key)
        .execute(&mut *conn)
        .await?;
    Ok(())
}

/// Forgets keys that were begun before this time; says how many.
pub async fn expire(conn: &mut Conn, before: Timestamp) -> Result<u64> {
    let done =
        query("DELETE FROM idempotency WHERE at < $1").bind(micros(before)).execute(&mut *conn).await?;
    Ok(done.rows_affected())
}
