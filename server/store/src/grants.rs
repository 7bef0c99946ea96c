//! Grants, and which namespace carries which pool's resource.

use domain::{
    Timestamp,
    grant::{Grant, GrantState},
    id::GrantId,
    name::{ClusterName, NamespaceName, OfferingName, TeamName},
    placement::Placed,
};
use sqlx::Row;

use crate::{
    error::Result,
    ledger::resource,
    row::{body, entity, flag, inserted, micros, parsed, query, updated},
    store::Conn,
};

/// Adds a grant, and places the offering's resource in its namespace for good.
///
/// # Errors
/// [`crate::StoreError::Taken`] when the id exists. [`crate::StoreError::Database`] when the namespace carries the
/// resource for another pool or team, or the team has it in another namespace; `domain::placement::place` under the
/// team's lock never asks for that.
pub async fn insert(conn: &mut Conn, grant: &Grant) -> Result<()> {
    query(
        "INSERT INTO placements (cluster, namespace, resource, pool, team)
         SELECT $1, $2, o.resource, o.pool, $3 FROM offerings o WHERE o.name = $4
         ON CONFLICT DO NOTHING",
    )
    .bind(grant.cluster.as_str())
    .bind(grant.namespace.as_str())
    .bind(grant.team.as_str())
    .bind(grant.offering.as_str())
    .execute(&mut *conn)
    .await?;
    let done = query(
        "INSERT INTO grants (id, team, offering, cluster, namespace, resource, pool, request, amount, counts,
                             ended, ends_at, version, body)
         SELECT $1, $2, $3, $4, $5, o.resource, $6, $7, $8, $9, $10, $11, $12, $13
         FROM offerings o WHERE o.name = $3
         ON CONFLICT DO NOTHING",
    )
    .bind(grant.id.to_string())
    .bind(grant.team.as_str())
    .bind(grant.offering.as_str())
    .bind(grant.cluster.as_str())
    .bind(grant.namespace.as_str())
    .bind(grant.pool.as_str())
    .bind(grant.request.to_string())
    .bind(i64::from(grant.shape.amount()))
    .bind(flag(grant.state.counts()))
    .bind(flag(grant.state == GrantState::Ended))
    .bind(micros(grant.ends_at))
    .bind(grant.version)
    .bind(body(grant)?)
    .execute(&mut *conn)
    .await?;
    inserted("grant", &grant.id, &done)
}

/// A grant of this team.
pub async fn find(conn: &mut Conn, team: &TeamName, id: GrantId) -> Result<Option<Grant>> {
    let row = query("SELECT version, body FROM grants WHERE id = $1 AND team = $2")
        .bind(id.to_string())
        .bind(team.as_str())
        .fetch_optional(&mut *conn)
        .await?;
    row.as_ref().map(entity).transpose()
}

/// A grant of any team: for platform roles and jobs only.
pub async fn find_any(conn: &mut Conn, id: GrantId) -> Result<Option<Grant>> {
    let row = query("SELECT version, body FROM grants WHERE id = $1")
        .bind(id.to_string())
        .fetch_optional(&mut *conn)
        .await?;
    row.as_ref().map(entity).transpose()
}

/// Writes a changed grant; `grant.version` is the version that was read. Team, offering and place never change.
/// Returns it at its next version.
///
/// # Errors
/// [`crate::StoreError::Stale`] when somebody changed it meanwhile.
pub async fn update(conn: &mut Conn, grant: &Grant) -> Result<Grant> {
    let done = query(
        "UPDATE grants
         SET amount = $1, counts = $2, ended = $3, ends_at = $4, body = $5, version = version + 1
         WHERE id = $6 AND version = $7",
    )
    .bind(i64::from(grant.shape.amount()))
    .bind(flag(grant.state.counts()))
    .bind(flag(grant.state == GrantState::Ended))
    .bind(micros(grant.ends_at))
    .bind(body(grant)?)
    .bind(grant.id.to_string())
    .bind(grant.version)
    .execute(&mut *conn)
    .await?;
    updated(conn, grant, done).await
}

/// Grants of a team, oldest first; ended ones only when asked for.
pub async fn of_team(conn: &mut Conn, team: &TeamName, with_ended: bool) -> Result<Vec<Grant>> {
    let rows = query("SELECT version, body FROM grants WHERE team = $1 AND ended <= $2 ORDER BY id")
        .bind(team.as_str())
        .bind(flag(with_ended))
        .fetch_all(&mut *conn)
        .await?;
    rows.iter().map(entity).collect()
}

/// Grants that live in a namespace and are not ended, oldest first.
pub async fn of_namespace(
    conn: &mut Conn,
    cluster: &ClusterName,
    namespace: &NamespaceName,
) -> Result<Vec<Grant>> {
    let rows = query(
        "SELECT version, body FROM grants WHERE cluster = $1 AND namespace = $2 AND ended = 0 ORDER BY id",
    )
    .bind(cluster.as_str())
    .bind(namespace.as_str())
    .fetch_all(&mut *conn)
    .await?;
    rows.iter().map(entity).collect()
}

/// Grants of an offering that are not ended, by end of lease.
pub async fn of_offering(conn: &mut Conn, offering: &OfferingName) -> Result<Vec<Grant>> {
    let rows =
        query("SELECT version, body FROM grants WHERE offering = $1 AND ended = 0 ORDER BY ends_at, id")
            .bind(offering.as_str())
            .fetch_all(&mut *conn)
            .await?;
    rows.iter().map(entity).collect()
}

/// Grants that count and whose lease is over, by end of lease.
pub async fn due(conn: &mut Conn, now: Timestamp) -> Result<Vec<Grant>> {
    let rows =
        query("SELECT version, body FROM grants WHERE counts = 1 AND ends_at <= $1 ORDER BY ends_at, id")
            .bind(micros(now))
            .fetch_all(&mut *conn)
            .await?;
    rows.iter().map(entity).collect()
}

/// Grants that count and whose lease ends before this time, the earliest first, at most `limit`.
pub async fn ending(conn: &mut Conn, before: Timestamp, limit: u32) -> Result<Vec<Grant>> {
    let rows = query(
        "SELECT version, body FROM grants WHERE counts = 1 AND ends_at < $1 ORDER BY ends_at, id LIMIT $2",
    )
    .bind(micros(before))
    .bind(i64::from(limit))
    .fetch_all(&mut *conn)
    .await?;
    rows.iter().map(entity).collect()
}

/// Which resource of which pool each namespace of a team carries in a cluster, also after its grants have ended.
pub async fn placed(conn: &mut Conn, cluster: &ClusterName, team: &TeamName) -> Result<Vec<Placed>> {
    let rows = query(
        "SELECT namespace, pool, resource FROM placements WHERE cluster = $1 AND team = $2
         ORDER BY namespace, resource",
    )
    .bind(cluster.as_str())
    .bind(team.as_str())
    .fetch_all(&mut *conn)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(Placed {
                namespace: NamespaceName::stored(row.try_get("namespace")?),
                pool: parsed(row, "pool")?,
                resource: resource(row)?,
            })
        })
        .collect()
}
