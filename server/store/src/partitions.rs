//! Fabric partitions: at most one for each team and cluster.

use domain::{
    fabric::{PKey, Partition},
    name::{ClusterName, TeamName},
};
use sqlx::any::AnyRow;

use crate::{
    error::{Result, StoreError},
    row::{inserted, number, parsed, query},
    store::Conn,
};

fn partition(row: &AnyRow) -> Result<Partition> {
    Ok(Partition {
        cluster: parsed(row, "cluster")?,
        team: parsed(row, "team")?,
        slot: number(row, "slot")?,
        pkey: PKey::new(number(row, "pkey")?).map_err(|e| StoreError::corrupt("pkey", e))?,
    })
}

/// Partitions of a team, by cluster.
pub async fn of_team(conn: &mut Conn, team: &TeamName) -> Result<Vec<Partition>> {
    let rows = query("SELECT cluster, team, slot, pkey FROM partitions WHERE team = $1 ORDER BY cluster")
        .bind(team.as_str())
        .fetch_all(&mut *conn)
        .await?;
    rows.iter().map(partition).collect()
}

/// The partition of a team in a cluster.
pub async fn find(conn: &mut Conn, cluster: &ClusterName, team: &TeamName) -> Result<Option<Partition>> {
    let row = query("SELECT cluster, team, slot, pkey FROM partitions WHERE cluster = $1 AND team = $2")
        .bind(cluster.as_str())
        .bind(team.as_str())
        .fetch_optional(&mut *conn)
        .await?;
    row.as_ref().map(partition).transpose()
}

/// Slots of a cluster that are taken, lowest first.
pub async fn taken(conn: &mut Conn, cluster: &ClusterName) -> Result<Vec<u16>> {
    let rows = query("SELECT slot FROM partitions WHERE cluster = $1 ORDER BY slot")
        .bind(cluster.as_str())
        .fetch_all(&mut *conn)
        .await?;
    rows.iter().map(|row| number(row, "slot")).collect()
}

/// Gives a slot to a team.
///
/// # Errors
/// [`StoreError::Taken`] when the slot, the key, or the team's place in the cluster is taken.
pub async fn insert(conn: &mut Conn, partition: &Partition) -> Result<()> {
    let done = query(
        "INSERT INTO partitions (cluster, team, slot, pkey) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
    )
    .bind(partition.cluster.as_str())
    .bind(partition.team.as_str())
    .bind(i64::from(partition.slot))
    .bind(i64::from(partition.pkey.base()))
    .execute(&mut *conn)
    .await?;
    inserted("partition", &format!("{} (slot {})", partition.pkey, partition.slot), &done)
}

/// Partitions of a cluster, by slot.
pub async fn list(conn: &mut Conn, cluster: &ClusterName) -> Result<Vec<Partition>> {
    let rows = query("SELECT cluster, team, slot, pkey FROM partitions WHERE cluster = $1 ORDER BY slot")
        .bind(cluster.as_str())
        .fetch_all(&mut *conn)
        .await?;
    rows.iter().map(partition).collect()
}
