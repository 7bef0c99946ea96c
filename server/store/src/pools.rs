//! Pools.

use domain::{fleet::Pool, name::PoolName};

use crate::{
    error::Result,
    row::{body, entity, flag, inserted, query, updated},
    store::Conn,
};

/// Adds a pool.
///
/// # Errors
/// [`crate::StoreError::Taken`] when the name exists, or another pool of the cluster is picked by the same label.
pub async fn insert(conn: &mut Conn, pool: &Pool) -> Result<()> {
    let done = query(
        "INSERT INTO pools (name, cluster, retired, version, body, label_key, label_value)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
    )
    .bind(pool.name.as_str())
    .bind(pool.cluster.as_str())
    .bind(flag(pool.retired))
    .bind(pool.version)
    .bind(body(pool)?)
    .bind(pool.label_key.as_str())
    .bind(pool.label_value.as_str())
    .execute(&mut *conn)
    .await?;
    inserted("pool", &pool.name, &done)
}

/// The pool with this name.
pub async fn find(conn: &mut Conn, name: &PoolName) -> Result<Option<Pool>> {
    let row = query("SELECT version, body FROM pools WHERE name = $1")
        .bind(name.as_str())
        .fetch_optional(&mut *conn)
        .await?;
    row.as_ref().map(entity).transpose()
}

/// All pools, by name.
pub async fn list(conn: &mut Conn) -> Result<Vec<Pool>> {
    let rows = query("SELECT version, body FROM pools ORDER BY name").fetch_all(&mut *conn).await?;
    rows.iter().map(entity).collect()
}

/// Writes a changed pool; `pool.version` is the version that was read. Cluster and label never change. Returns the pool
/// at its next version.
///
/// # Errors
/// [`crate::StoreError::Stale`] when somebody changed it meanwhile.
pub async fn update(conn: &mut Conn, pool: &Pool) -> Result<Pool> {
    let done = query(
        "UPDATE pools SET retired = $1, body = $2, version = version + 1 WHERE name = $3 AND version = $4",
    )
    .bind(flag(pool.retired))
    .bind(body(pool)?)
    .bind(pool.name.as_str())
    .bind(pool.version)
    .execute(&mut *conn)
    .await?;
    updated(conn, pool, done).await
}
