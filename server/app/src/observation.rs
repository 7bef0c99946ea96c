//! From what nodes and pods say to what the ledger needs: capacity, unmanaged use, blocks.

use std::collections::BTreeMap;

use cluster::ClusterFacts;
use domain::{
    Timestamp,
    fleet::{Node, Offering, Pool},
    name::ClusterName,
    resource::ResourceName,
    shape::Blocks,
};
use store::{Conn, ledger::Observation};

use crate::{App, Result};

/// Nodes of a cluster and what pods outside team namespaces hold on them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fleet {
    pub nodes: Vec<Node>,
    /// Devices by node that pods outside team namespaces hold.
    pub unmanaged: BTreeMap<String, BTreeMap<ResourceName, u32>>,
}

impl Fleet {
    /// Nodes of which nothing but their existence is known.
    pub(crate) fn of_nodes(nodes: Vec<Node>) -> Self {
        Self { nodes, unmanaged: BTreeMap::new() }
    }

    /// Nodes as an API server shows them.
    pub(crate) fn of_facts(facts: &ClusterFacts) -> Self {
        let mut unmanaged: BTreeMap<String, BTreeMap<ResourceName, u32>> = BTreeMap::new();
        for held in facts.devices.iter().filter(|held| !held.tenant) {
            let Some(node) = &held.node else { continue };
            let sum = unmanaged.entry(node.clone()).or_default().entry(held.resource.clone()).or_default();
            *sum = sum.saturating_add(held.amount);
        }
        Self { nodes: facts.nodes.clone(), unmanaged }
    }

    /// What is known of a cluster now: from its API server while this process is connected, else as it was stored last.
    pub(crate) async fn now(app: &App, conn: &mut Conn, cluster: &ClusterName) -> Result<Self> {
        match app.inner.members.get(cluster) {
            Some(member) => Ok(Self::of_facts(&member.facts())),
            None => Ok(Self::of_nodes(store::nodes::all(conn, cluster).await?)),
        }
    }
}

/// What the ready nodes of the offering's pool say.
pub(crate) fn observe(pool: &Pool, offering: &Offering, fleet: &Fleet, at: Timestamp) -> Observation {
    let mut blocks = Blocks::default();
    let mut unmanaged = 0_u32;
    for node in &fleet.nodes {
        let picked = node.ready && node.labels.get(&pool.label_key) == Some(&pool.label_value);
        let Some(size) = node.allocatable.get(&offering.resource).filter(|_| picked) else { continue };
        let used = node.used.get(&offering.resource).copied().unwrap_or(0);
        blocks.sizes.push(*size);
        blocks.free.push(size.saturating_sub(used));
        let foreign =
            fleet.unmanaged.get(&node.name).and_then(|r| r.get(&offering.resource)).copied().unwrap_or(0);
        unmanaged = unmanaged.saturating_add(foreign);
    }
    let observed = (!fleet.nodes.is_empty())
        .then(|| blocks.sizes.iter().fold(0_u32, |sum, size| sum.saturating_add(*size)));
    Observation { observed, unmanaged, blocks, at }
}

/// Stores what is observed of each offering of the cluster.
pub(crate) async fn record(
    conn: &mut Conn,
    cluster: &ClusterName,
    fleet: &Fleet,
    at: Timestamp,
) -> Result<()> {
    let pools: BTreeMap<_, _> = store::pools::list(conn)
        .await?
        .into_iter()
        .filter(|p| p.cluster == *cluster)
        .map(|p| (p.name.clone(), p))
        .collect();
    for offering in store::offerings::list(conn).await? {
        if let Some(pool) = pools.get(&offering.pool) {
            store::ledger::observe(conn, &offering.name, &observe(pool, &offering, fleet, at)).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, pool: &str, gpus: u32, used: u32, ready: bool) -> Node {
        let gpu = ResourceName::new("nvidia.com/gpu").unwrap();
        Node {
            cluster: ClusterName::new("c").unwrap(),
            name: name.into(),
            labels: [("gpuaas.io/pool".to_owned(), pool.to_owned())].into(),
            allocatable: [(gpu.clone(), gpus)].into(),
            used: [(gpu, used)].into(),
            ready,
        }
    }

    #[test]
    fn only_ready_nodes_of_the_pool_count() {
        let (pool, offering) = crate::tenancy::tests::whole("h100");
        let mut fleet = Fleet::of_nodes(vec![
            node("a", "h100", 8, 5, true),
            node("b", "h100", 8, 0, false),
            node("c", "a100", 8, 0, true),
        ]);
        fleet.unmanaged.insert("a".into(), [(offering.resource.clone(), 2)].into());
        let at = "2026-11-30T12:00:00Z".parse().unwrap();
        let seen = observe(&pool, &offering, &fleet, at);
        assert_eq!((seen.observed, seen.unmanaged), (Some(8), 2));
        assert_eq!(seen.blocks, Blocks { sizes: vec![8], free: vec![3] });
        assert_eq!(observe(&pool, &offering, &Fleet::default(), at).observed, None);
    }
}
