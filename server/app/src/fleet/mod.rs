//! Clusters, nodes, pools and offerings.

mod check;
mod clusters;
mod offerings;
mod pools;

use std::collections::BTreeSet;

use domain::{
    api::FieldError,
    fleet::{Cluster, Offering, Pool, Writer},
    name::{ClusterName, OfferingName, PoolName},
};
use store::Conn;

use crate::{AppError, Result, access::Deed};

pub(crate) async fn find_cluster(conn: &mut Conn, name: &ClusterName) -> Result<Cluster> {
    store::clusters::find(conn, name).await?.ok_or_else(|| AppError::not_found(format!("cluster {name}")))
}

pub(crate) async fn find_pool(conn: &mut Conn, name: &PoolName) -> Result<Pool> {
    store::pools::find(conn, name).await?.ok_or_else(|| AppError::not_found(format!("pool {name}")))
}

pub(crate) async fn find_offering(conn: &mut Conn, name: &OfferingName) -> Result<Offering> {
    store::offerings::find(conn, name).await?.ok_or_else(|| AppError::not_found(format!("offering {name}")))
}

/// Names of the clusters that report what is used; the others are written to git and nobody looks at them.
pub(crate) async fn observed(conn: &mut Conn) -> Result<BTreeSet<ClusterName>> {
    let clusters = store::clusters::list(conn).await?;
    Ok(clusters.into_iter().filter(|c| c.writer == Writer::Kubernetes).map(|c| c.name).collect())
}

/// Locks the offering's row, and with it its ledger, until the transaction ends.
pub(crate) async fn lock_offering(conn: &mut Conn, name: &OfferingName) -> Result<Offering> {
    store::offerings::lock(conn, name).await?.ok_or_else(|| AppError::not_found(format!("offering {name}")))
}

fn refuse(fields: Vec<FieldError>) -> Result<()> {
    if fields.is_empty() { Ok(()) } else { Err(AppError::Invalid { fields }) }
}

fn deed<'a>(
    action: &'static str,
    kind: &str,
    name: &impl std::fmt::Display,
    detail: serde_json::Value,
) -> Deed<'a> {
    Deed { action, subject: format!("{kind}/{name}"), team: None, detail }
}
