//! Clusters. What people set lies in the body; what jobs find out (registration, resources, device classes, last
//! observation) lies in columns of its own and has no version, so that a job never makes a person's edit stale.

use std::collections::BTreeSet;

use domain::{
    Timestamp,
    fleet::{Cluster, Registration},
    name::ClusterName,
    resource::ResourceName,
};
use sqlx::{Row, any::AnyRow};

use crate::{
    error::Result,
    row::{body, entity, from_json, inserted, json, micros, query, time_or_none, updated},
    store::Conn,
};

fn cluster(row: &AnyRow) -> Result<Cluster> {
    Ok(Cluster {
        registration: from_json(row, "registration")?,
        known_resources: from_json(row, "resources")?,
        known_device_classes: from_json(row, "device_classes")?,
        observed_at: time_or_none(row, "observed_at")?,
        ..entity(row)?
    })
}

/// Adds a cluster.
///
/// # Errors
/// [`crate::StoreError::Taken`] when the name exists.
pub async fn insert(conn: &mut Conn, cluster: &Cluster) -> Result<()> {
    let done = query(
        "INSERT INTO clusters (name, registration, resources, device_classes, observed_at, version, body)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
    )
    .bind(cluster.name.as_str())
    .bind(json("registration", &cluster.registration)?)
    .bind(json("resources", &cluster.known_resources)?)
    .bind(json("device classes", &cluster.known_device_classes)?)
    .bind(cluster.observed_at.map(micros))
    .bind(cluster.version)
    .bind(body(cluster)?)
    .execute(&mut *conn)
    .await?;
    inserted("cluster", &cluster.name, &done)
}

/// The cluster with this name.
pub async fn find(conn: &mut Conn, name: &ClusterName) -> Result<Option<Cluster>> {
    let row = query(
        "SELECT registration, resources, device_classes, observed_at, version, body
         FROM clusters WHERE name = $1",
    )
    .bind(name.as_str())
    .fetch_optional(&mut *conn)
    .await?;
    row.as_ref().map(cluster).transpose()
}

/// All clusters, by name.
pub async fn list(conn: &mut Conn) -> Result<Vec<Cluster>> {
    let rows = query(
        "SELECT registration, resources, device_classes, observed_at, version, body
         FROM clusters ORDER BY name",
    )
    .fetch_all(&mut *conn)
    .await?;
    rows.iter().map(cluster).collect()
}

/// Writes what people set of a cluster; `cluster.version` is the version that was read. What jobs find out stays
/// as it is stored. Returns the given cluster at its next version.
///
/// # Errors
/// [`crate::StoreError::Stale`] when somebody changed it meanwhile.
pub async fn update(conn: &mut Conn, cluster: &Cluster) -> Result<Cluster> {
    let done = query("UPDATE clusters SET body = $1, version = version + 1 WHERE name = $2 AND version = $3")
        .bind(body(cluster)?)
        .bind(cluster.name.as_str())
        .bind(cluster.version)
        .execute(&mut *conn)
        .await?;
    updated(conn, cluster, done).await
}

/// Writes how far the registration is.
pub async fn set_registration(
    conn: &mut Conn,
    name: &ClusterName,
    registration: &Registration,
) -> Result<()> {
    query("UPDATE clusters SET registration = $1 WHERE name = $2")
        .bind(json("registration", registration)?)
        .bind(name.as_str())
        .execute(&mut *conn)
        .await?;
    Ok(())
}

/// Adds resources and device classes that were seen or declared to those that are known, and notes when the cluster
/// was observed. Nothing is ever forgotten: what a quota does not name is not limited.
pub async fn set_observed(
    conn: &mut Conn,
    name: &ClusterName,
    known_resources: &[ResourceName],
    classes: &[String],
    at: Timestamp,
) -> Result<()> {
    let row =
        query("UPDATE clusters SET observed_at = $1 WHERE name = $2 RETURNING resources, device_classes")
            .bind(micros(at))
            .bind(name.as_str())
            .fetch_optional(&mut *conn)
            .await?;
    let Some(row) = row else { return Ok(()) };
    let mut resources: BTreeSet<ResourceName> = from_json(&row, "resources")?;
    resources.extend(known_resources.iter().cloned());
    let mut device_classes: BTreeSet<String> = from_json(&row, "device_classes")?;
    device_classes.extend(classes.iter().cloned());
    query("UPDATE clusters SET resources = $1, device_classes = $2 WHERE name = $3")
        .bind(json("resources", &resources)?)
        .bind(json("device classes", &device_classes)?)
        .bind(name.as_str())
        .execute(&mut *conn)
        .await?;
    Ok(())
}

/// Keeps a secret of a cluster, encrypted by the caller; replaces an older one.
pub async fn set_secret(conn: &mut Conn, name: &ClusterName, which: &str, sealed: &[u8]) -> Result<()> {
    query(
        "INSERT INTO cluster_secrets (cluster, which, sealed) VALUES ($1, $2, $3)
         ON CONFLICT (cluster, which) DO UPDATE SET sealed = excluded.sealed",
    )
    .bind(name.as_str())
    .bind(which)
    .bind(sealed)
    .execute(&mut *conn)
    .await?;
    Ok(())
}

/// A secret of a cluster as it was given to [`set_secret`].
pub async fn secret(conn: &mut Conn, name: &ClusterName, which: &str) -> Result<Option<Vec<u8>>> {
    let row = query("SELECT sealed FROM cluster_secrets WHERE cluster = $1 AND which = $2")
        .bind(name.as_str())
        .bind(which)
        .fetch_optional(&mut *conn)
        .await?;
    Ok(row.map(|row| row.try_get("sealed")).transpose()?)
}

/// Forgets a secret of a cluster that is needed no more.
pub async fn forget_secret(conn: &mut Conn, name: &ClusterName, which: &str) -> Result<()> {
    query("DELETE FROM cluster_secrets WHERE cluster = $1 AND which = $2")
        .bind(name.as_str())
        .bind(which)
        .execute(&mut *conn)
        .await?;
    Ok(())
}

/// Locks a cluster until the transaction ends, so that two observers replace its rows one after the other.
pub async fn lock(conn: &mut Conn, name: &ClusterName) -> Result<()> {
    query("UPDATE clusters SET version = version WHERE name = $1")
        .bind(name.as_str())
        .execute(&mut *conn)
        .await?;
    Ok(())
}
