//! Namespaces of teams, and how true they are.

use domain::{
    api::{Enforcement, NamespaceView, ProbeAnswer},
    name::{ClusterName, NamespaceName, TeamName},
};
use sqlx::{Row, any::AnyRow};

use crate::{
    error::{Result, StoreError},
    row::{flag, from_json, json, micros, number, parsed, query, time_or_none},
    store::Conn,
};

fn namespace(row: &AnyRow) -> Result<NamespaceView> {
    Ok(NamespaceView {
        name: NamespaceName::stored(row.try_get("name")?),
        cluster: parsed(row, "cluster")?,
        team: parsed(row, "team")?,
        enforcement: from_json(row, "enforcement")?,
        confirmed_at: time_or_none(row, "confirmed_at")?,
        probes: from_json(row, "probes")?,
    })
}

/// Is there nothing left to do?
fn settled(enforcement: &Enforcement) -> bool {
    match enforcement {
        Enforcement::Enforced | Enforcement::Published => true,
        Enforcement::Applying | Enforcement::Blocked { .. } => false,
    }
}

/// Adds the namespace of a team as one that is being written, unless it is there.
///
/// # Errors
/// [`StoreError::Taken`] when it belongs to another team: `a-b` may be team `a-b`, or team `a` in pool `b`.
pub async fn ensure(
    conn: &mut Conn,
    cluster: &ClusterName,
    name: &NamespaceName,
    team: &TeamName,
) -> Result<()> {
    let done = query(
        "INSERT INTO namespaces (cluster, name, team, settled, enforcement, confirmed_at, probes)
         VALUES ($1, $2, $3, 0, $4, NULL, $5) ON CONFLICT DO NOTHING",
    )
    .bind(cluster.as_str())
    .bind(name.as_str())
    .bind(team.as_str())
    .bind(json("enforcement", &Enforcement::Applying)?)
    .bind(json("probes", &Vec::<ProbeAnswer>::new())?)
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 1 {
        return Ok(());
    }
    match find(conn, cluster, name).await? {
        Some(there) if there.team == *team => Ok(()),
        Some(_) | None => Err(StoreError::Taken { what: "namespace", name: name.to_string() }),
    }
}

/// One namespace.
pub async fn find(
    conn: &mut Conn,
    cluster: &ClusterName,
    name: &NamespaceName,
) -> Result<Option<NamespaceView>> {
    let row = query(
        "SELECT cluster, name, team, enforcement, confirmed_at, probes FROM namespaces
         WHERE cluster = $1 AND name = $2",
    )
    .bind(cluster.as_str())
    .bind(name.as_str())
    .fetch_optional(&mut *conn)
    .await?;
    row.as_ref().map(namespace).transpose()
}

/// Namespaces of a team, by cluster and name.
pub async fn of_team(conn: &mut Conn, team: &TeamName) -> Result<Vec<NamespaceView>> {
    let rows = query(
        "SELECT cluster, name, team, enforcement, confirmed_at, probes FROM namespaces
         WHERE team = $1 ORDER BY cluster, name",
    )
    .bind(team.as_str())
    .fetch_all(&mut *conn)
    .await?;
    rows.iter().map(namespace).collect()
}

/// Namespaces of a cluster, by name.
pub async fn of_cluster(conn: &mut Conn, cluster: &ClusterName) -> Result<Vec<NamespaceView>> {
    let rows = query(
        "SELECT cluster, name, team, enforcement, confirmed_at, probes FROM namespaces
         WHERE cluster = $1 ORDER BY name",
    )
    .bind(cluster.as_str())
    .fetch_all(&mut *conn)
    .await?;
    rows.iter().map(namespace).collect()
}

/// Namespaces that are neither enforced nor published, by cluster and name, at most `limit`.
pub async fn not_enforced(conn: &mut Conn, limit: u32) -> Result<Vec<NamespaceView>> {
    let rows = query(
        "SELECT cluster, name, team, enforcement, confirmed_at, probes FROM namespaces
         WHERE settled = 0 ORDER BY cluster, name LIMIT $1",
    )
    .bind(i64::from(limit))
    .fetch_all(&mut *conn)
    .await?;
    rows.iter().map(namespace).collect()
}

/// How many namespaces are enforced or published.
pub async fn count_enforced(conn: &mut Conn) -> Result<u32> {
    let row = query("SELECT COUNT(*) AS n FROM namespaces WHERE settled = 1").fetch_one(&mut *conn).await?;
    number(&row, "n")
}

/// Writes how true a namespace is: enforcement, when that was confirmed, the probes' answers.
pub async fn set(conn: &mut Conn, view: &NamespaceView) -> Result<()> {
    query(
        "UPDATE namespaces SET settled = $1, enforcement = $2, confirmed_at = $3, probes = $4
         WHERE cluster = $5 AND name = $6",
    )
    .bind(flag(settled(&view.enforcement)))
    .bind(json("enforcement", &view.enforcement)?)
    .bind(view.confirmed_at.map(micros))
    .bind(json("probes", &view.probes)?)
    .bind(view.cluster.as_str())
    .bind(view.name.as_str())
    .execute(&mut *conn)
    .await?;
    Ok(())
}
