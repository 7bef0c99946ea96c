//! Web sessions. What they hold is the caller's text.

use domain::{Timestamp, id::UserId};
use sqlx::Row;

use crate::{
    error::Result,
    row::{micros, query, time},
    store::Conn,
};

/// Writes a session, new or not. `user` is who is signed in with it.
pub async fn put(
    conn: &mut Conn,
    id: &str,
    data: &str,
    expires: Timestamp,
    user: Option<UserId>,
) -> Result<()> {
    query(
        "INSERT INTO sessions (id, user_id, data, expires_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (id) DO UPDATE
         SET user_id = excluded.user_id, data = excluded.data, expires_at = excluded.expires_at",
    )
    .bind(id)
    .bind(user.map(|u| u.to_string()))
    .bind(data)
    .bind(micros(expires))
    .execute(&mut *conn)
    .await?;
    Ok(())
}

/// Writes a new session; false when the id exists, and then nothing is written.
pub async fn create(
    conn: &mut Conn,
    id: &str,
    data: &str,
    expires: Timestamp,
    user: Option<UserId>,
) -> Result<bool> {
    let done = query(
        "INSERT INTO sessions (id, user_id, data, expires_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING",
    )
    .bind(id)
    .bind(user.map(|u| u.to_string()))
    .bind(data)
    .bind(micros(expires))
    .execute(&mut *conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// What the session holds and when it ends; none where it is over.
pub async fn get(conn: &mut Conn, id: &str, now: Timestamp) -> Result<Option<(String, Timestamp)>> {
    let row = query("SELECT data, expires_at FROM sessions WHERE id = $1 AND expires_at > $2")
        .bind(id)
        .bind(micros(now))
        .fetch_optional(&mut *conn)
        .await?;
    row.map(|row| Ok((row.try_get("data")?, time(&row, "expires_at")?))).transpose()
}

/// Ends a session.
pub async fn delete(conn: &mut Conn, id: &str) -> Result<()> {
    query("DELETE FROM sessions WHERE id = $1").bind(id).execute(&mut *conn).await?;
    Ok(())
}

/// Ends all sessions of a person.
pub async fn delete_of_user(conn: &mut Conn, user: UserId) -> Result<()> {
    query("DELETE FROM sessions WHERE user_id = $1").bind(user.to_string()).execute(&mut *conn).await?;
    Ok(())
}

/// Deletes sessions that are over; says how many.
pub async fn expire(conn: &mut Conn, now: Timestamp) -> Result<u64> {
    let done =
        query("DELETE FROM sessions WHERE expires_at <= $1").bind(micros(now)).execute(&mut *conn).await?;
    Ok(done.rows_affected())
}
