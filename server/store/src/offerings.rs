//! Offerings. The row of an offering is the lock of its ledger.

use domain::{fleet::Offering, name::OfferingName};

use crate::{
    error::Result,
    row::{body, entity, flag, inserted, query, updated},
    store::Conn,
};

/// Adds an offering.
///
/// # Errors
/// [`crate::StoreError::Taken`] when the name exists, or the pool offers this resource already.
pub async fn insert(conn: &mut Conn, offering: &Offering) -> Result<()> {
    let done = query(
        "INSERT INTO offerings (name, pool, resource, declared, overcommit_percent, retired, version, body)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
    )
    .bind(offering.name.as_str())
    .bind(offering.pool.as_str())
    .bind(offering.resource.as_str())
    .bind(i64::from(offering.declared))
    .bind(i64::from(offering.overcommit_percent))
    .bind(flag(offering.retired))
    .bind(offering.version)
    .bind(body(offering)?)
    .execute(&mut *conn)
    .await?;
    inserted(
        "offering",
        &format!("{} ({} of pool {})", offering.name, offering.resource, offering.pool),
        &done,
    )
}

/// The offering with this name.
pub async fn find(conn: &mut Conn, name: &OfferingName) -> Result<Option<Offering>> {
    let row = query("SELECT version, body FROM offerings WHERE name = $1")
        .bind(name.as_str())
        .fetch_optional(&mut *conn)
        .await?;
    row.as_ref().map(entity).transpose()
}

/// All offerings, by name.
pub async fn list(conn: &mut Conn) -> Result<Vec<Offering>> {
    let rows = query("SELECT version, body FROM offerings ORDER BY name").fetch_all(&mut *conn).await?;
    rows.iter().map(entity).collect()
}

/// Writes a changed offering; `offering.version` is the version that was read. Pool and resource never change.
/// Returns the offering at its next version.
///
/// # Errors
/// [`crate::StoreError::Stale`] when somebody changed it meanwhile.
pub async fn update(conn: &mut Conn, offering: &Offering) -> Result<Offering> {
    let done = query(
        "UPDATE offerings
         SET declared = $1, overcommit_percent = $2, retired = $3, body = $4, version = version + 1
         WHERE name = $5 AND version = $6",
    )
    .bind(i64::from(offering.declared))
    .bind(i64::from(offering.overcommit_percent))
    .bind(flag(offering.retired))
    .bind(body(offering)?)
    .bind(offering.name.as_str())
    .bind(offering.version)
    .execute(&mut *conn)
    .await?;
    updated(conn, offering, done).await
}

/// The offering, locked until the transaction ends. The ledger of an offering is read for a decision, and changed,
/// only under this lock.
pub async fn lock(conn: &mut Conn, name: &OfferingName) -> Result<Option<Offering>> {
    let row = query("UPDATE offerings SET version = version WHERE name = $1 RETURNING version, body")
        .bind(name.as_str())
        .fetch_optional(&mut *conn)
        .await?;
    row.as_ref().map(entity).transpose()
}
