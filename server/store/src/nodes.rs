//! Nodes of a cluster, observed or imported.

use std::collections::BTreeMap;

use domain::{api::Page, fleet::Node, name::ClusterName, resource::ResourceName};
use sqlx::{Row, any::AnyRow};

use crate::{
    clusters::lock,
    cursor::Paging,
    error::Result,
    row::{from_json, insert_many, json, query},
    select::{Order, Select},
    store::Conn,
};

fn node(row: &AnyRow) -> Result<Node> {
    from_json(row, "body")
}

fn search(node: &Node) -> String {
    let product = node.labels.get("nvidia.com/gpu.product").map_or("", String::as_str);
    let resources: Vec<&str> = node.allocatable.keys().map(ResourceName::as_str).collect();
    format!("{} {product} {}", node.name, resources.join(" ")).to_lowercase()
}

/// Makes these the nodes of the cluster. Rows that say the same are left alone.
pub async fn replace_all(conn: &mut Conn, cluster: &ClusterName, nodes: &[Node]) -> Result<()> {
    lock(conn, cluster).await?;
    let rows = query("SELECT name, body FROM nodes WHERE cluster = $1")
        .bind(cluster.as_str())
        .fetch_all(&mut *conn)
        .await?;
    let mut stored: BTreeMap<String, String> = BTreeMap::new();
    for row in &rows {
        stored.insert(row.try_get("name")?, row.try_get("body")?);
    }
    let mut changed: BTreeMap<&str, (&Node, String)> = BTreeMap::new();
    for node in nodes {
        let body = json("node", node)?;
        if stored.remove(&node.name).as_ref() != Some(&body) {
            changed.insert(node.name.as_str(), (node, body));
        }
    }
    for gone in stored.keys() {
        query("DELETE FROM nodes WHERE cluster = $1 AND name = $2")
            .bind(cluster.as_str())
            .bind(gone.as_str())
            .execute(&mut *conn)
            .await?;
    }
    let changed: Vec<(&Node, String)> = changed.into_values().collect();
    let upsert = (
        "INSERT INTO nodes (cluster, name, search, body)",
        4,
        "ON CONFLICT (cluster, name) DO UPDATE SET search = excluded.search, body = excluded.body",
    );
    insert_many(conn, upsert, &changed, |query, (node, body)| {
        Ok(query.bind(cluster.as_str()).bind(node.name.as_str()).bind(search(node)).bind(body.as_str()))
    })
    .await
}

/// Nodes of a cluster by name; with `filter` those whose name, GPU product or resources contain it.
pub async fn list(
    conn: &mut Conn,
    cluster: &ClusterName,
    filter: Option<&str>,
    paging: &Paging,
) -> Result<Page<Node>> {
    Select::new("SELECT name, body FROM nodes")
        .equals("cluster", Some(cluster.as_str()))
        .contains("search", filter)
        .page(conn, "name", Order::Up, paging, node)
        .await
}

/// All nodes of a cluster, by name.
pub async fn all(conn: &mut Conn, cluster: &ClusterName) -> Result<Vec<Node>> {
    let rows = query("SELECT body FROM nodes WHERE cluster = $1 ORDER BY name")
        .bind(cluster.as_str())
        .fetch_all(&mut *conn)
        .await?;
    rows.iter().map(node).collect()
}

/// One node.
pub async fn find(conn: &mut Conn, cluster: &ClusterName, name: &str) -> Result<Option<Node>> {
    let row = query("SELECT body FROM nodes WHERE cluster = $1 AND name = $2")
        .bind(cluster.as_str())
        .bind(name)
        .fetch_optional(&mut *conn)
        .await?;
    row.as_ref().map(node).transpose()
}
