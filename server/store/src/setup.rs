//! Links for the first start.

use domain::Timestamp;

use crate::{
    error::Result,
    row::{micros, query},
    store::Conn,
};

/// Keeps the hash of a link that is valid until `expires`.
pub async fn put(conn: &mut Conn, hash: &str, expires: Timestamp) -> Result<()> {
    query("INSERT INTO setup_links (hash, expires_at) VALUES ($1, $2)")
        .bind(hash)
        .bind(micros(expires))
        .execute(&mut *conn)
        .await?;
    Ok(())
}

/// Uses a link: true once, for a link that is there and not over. With it all other links end.
pub async fn take(conn: &mut Conn, hash: &str, now: Timestamp) -> Result<bool> {
    let done = query(
        "DELETE FROM setup_links
         WHERE EXISTS (SELECT 1 FROM setup_links l WHERE l.hash = $1 AND l.expires_at > $2)",
    )
    .bind(hash)
    .bind(micros(now))
    .execute(&mut *conn)
    .await?;
    Ok(done.rows_affected() > 0)
}
