//! Work that follows from a decision. It is written in the decision's transaction, claimed by a worker for a while,
//! and comes back by itself when the worker dies.
//!
//! There is one row for each kind and key: jobs bring a thing to the state that is wanted now, so twice is once.

use domain::{Timestamp, api::Page, id::JobId};
use sqlx::{Row, any::AnyRow};

use crate::{
    cursor::Paging,
    error::Result,
    row::{micros, number, parsed, query, time},
    select::{Order, Select},
    store::Conn,
};

/// One piece of work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    /// Id.
    pub id: JobId,
    /// What to do: `apply`, `expire` …
    pub kind: String,
    /// To what.
    pub key: String,
    /// Not before this time.
    pub due_at: Timestamp,
    /// How often it was claimed since it last succeeded.
    pub attempts: u32,
    /// How the last try ended.
    pub last_error: Option<String>,
}

fn job(row: &AnyRow) -> Result<Job> {
    Ok(Job {
        id: parsed(row, "id")?,
        kind: row.try_get("kind")?,
        key: row.try_get("job_key")?,
        due_at: time(row, "due_at")?,
        attempts: number(row, "attempts")?,
        last_error: row.try_get("last_error")?,
    })
}

/// Asks for work. Where the same (kind and key) waits, it only becomes due earlier; where it is being done, it will
/// be done once more, because the worker may have read the state before this transaction.
pub async fn enqueue(conn: &mut Conn, job: &Job) -> Result<()> {
    query(
        "INSERT INTO outbox (id, kind, job_key, due_at, attempts, last_error) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (kind, job_key) DO UPDATE SET
             due_at = CASE WHEN outbox.claimed_until IS NULL AND excluded.due_at < outbox.due_at
                           THEN excluded.due_at ELSE outbox.due_at END,
             again_at = CASE WHEN outbox.claimed_until IS NULL THEN NULL
                             WHEN outbox.again_at < excluded.due_at THEN outbox.again_at
                             ELSE excluded.due_at END",
    )
    .bind(job.id.to_string())
    .bind(job.kind.as_str())
    .bind(job.key.as_str())
    .bind(micros(job.due_at))
    .bind(i64::from(job.attempts))
    .bind(job.last_error.as_deref())
    .execute(&mut *conn)
    .await?;
    Ok(())
}

/// What is asked for during a claim that never ended is done by this one, unless it is for later.
macro_rules! claim {
    ($lock:literal) => {
        concat!(
            "WITH free AS MATERIALIZED (
                 SELECT id FROM outbox
                 WHERE due_at <= $1 AND (claimed_until IS NULL OR claimed_until <= $1)
                 ORDER BY due_at, id LIMIT $3 ",
            $lock,
            ")
             UPDATE outbox SET claimed_until = $2, claimed_by = $4, attempts = attempts + 1,
                 again_at = CASE WHEN again_at <= $1 THEN NULL ELSE again_at END
             WHERE id IN (SELECT id FROM free)
             RETURNING id, kind, job_key, due_at, attempts, last_error"
        )
    };
}

/// Takes up to `limit` jobs that are due, the longest due first, and keeps others from them until `lease_until`.
/// A claim whose lease is over counts as lost, and its job can be claimed again; `by` is who may renew or end it.
pub async fn claim(
    conn: &mut Conn,
    now: Timestamp,
    lease_until: Timestamp,
    limit: u32,
    by: &str,
) -> Result<Vec<Job>> {
    // SQLite has one writer at a time. On Postgres a worker passes over rows that others are claiming or asking
    // for at this moment: it neither waits for them nor can the two wait for each other.
    let sql = match conn.backend_name() {
        "PostgreSQL" => claim!("FOR UPDATE SKIP LOCKED"),
        _ => claim!(""),
    };
    let rows = query(sql)
        .bind(micros(now))
        .bind(micros(lease_until))
        .bind(i64::from(limit))
        .bind(by)
        .fetch_all(&mut *conn)
        .await?;
    let mut jobs = rows.iter().map(job).collect::<Result<Vec<_>>>()?;
    jobs.sort_by_key(|job| (job.due_at, job.id));
    Ok(jobs)
}

/// Keeps a claim until `lease_until`; false when it is another's by now.
pub async fn renew(conn: &mut Conn, id: JobId, by: &str, lease_until: Timestamp) -> Result<bool> {
    let kept = query("UPDATE outbox SET claimed_until = $1 WHERE id = $2 AND claimed_by = $3")
        .bind(micros(lease_until))
        .bind(id.to_string())
        .bind(by)
        .execute(&mut *conn)
        .await?;
    Ok(kept.rows_affected() > 0)
}

/// The job is done: it goes, or waits again where it was asked for meanwhile. False, and nothing happens, when the
/// claim is another's by now.
pub async fn done(conn: &mut Conn, id: JobId, by: &str) -> Result<bool> {
    let gone = query("DELETE FROM outbox WHERE id = $1 AND claimed_by = $2 AND again_at IS NULL")
        .bind(id.to_string())
        .bind(by)
        .execute(&mut *conn)
        .await?;
    if gone.rows_affected() > 0 {
        return Ok(true);
    }
    let again = query(
        "UPDATE outbox SET due_at = again_at, again_at = NULL, claimed_until = NULL, claimed_by = NULL,
             attempts = 0, last_error = NULL
         WHERE id = $1 AND claimed_by = $2 AND again_at IS NOT NULL",
    )
    .bind(id.to_string())
    .bind(by)
    .execute(&mut *conn)
    .await?;
    Ok(again.rows_affected() > 0)
}

/// The job failed: it waits until `due_at`, or less where it was asked for meanwhile. False, and nothing happens, when
/// the claim is another's by now.
pub async fn retry(conn: &mut Conn, id: JobId, by: &str, due_at: Timestamp, error: &str) -> Result<bool> {
    let kept = query(
        "UPDATE outbox SET due_at = CASE WHEN again_at < $1 THEN again_at ELSE $1 END, again_at = NULL,
             claimed_until = NULL, claimed_by = NULL, last_error = $2
         WHERE id = $3 AND claimed_by = $4",
    )
    .bind(micros(due_at))
    .bind(error)
    .bind(id.to_string())
    .bind(by)
    .execute(&mut *conn)
    .await?;
    Ok(kept.rows_affected() > 0)
}

/// Is there such a job, due or not, claimed or not?
pub async fn is_waiting(conn: &mut Conn, kind: &str, key: &str) -> Result<bool> {
    let row = query("SELECT COUNT(*) AS n FROM outbox WHERE kind = $1 AND job_key = $2")
        .bind(kind)
        .bind(key)
        .fetch_one(&mut *conn)
        .await?;
    Ok(number::<u64>(&row, "n")? > 0)
}

/// How many jobs there are, due or not, claimed or not.
pub async fn waiting(conn: &mut Conn) -> Result<u64> {
    let row = query("SELECT COUNT(*) AS n FROM outbox").fetch_one(&mut *conn).await?;
    number(&row, "n")
}

/// All jobs, oldest first.
pub async fn list(conn: &mut Conn, paging: &Paging) -> Result<Page<Job>> {
    Select::new("SELECT id, kind, job_key, due_at, attempts, last_error FROM outbox")
        .page(conn, "id", Order::Up, paging, job)
        .await
}
