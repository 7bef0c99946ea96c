//! Loads everything that one namespace of a team is made from.

use std::collections::BTreeMap;

use domain::{
    api::NamespaceView,
    fleet::{Cluster, Offering, Pool},
    grant::Grant,
    ledger::{self, Step},
    name::OfferingName,
};
use plan::{PartitionUse, Tenancy, TenancyLine};
use store::Conn;

use crate::{App, Result, fleet, teams};

/// An offering that lives in a namespace, with the next move of the team's quota.
pub(crate) struct Placed {
    pub offering: Offering,
    pub pool: Pool,
    pub granted: u32,
    pub held: u32,
    pub step: Step,
}

impl Placed {
    /// What the quota may say now.
    pub(crate) fn hard(&self) -> u32 {
        match self.step {
            Step::Keep | Step::Wait { .. } => self.held,
            Step::Lower { to } | Step::Raise { to } => to,
        }
    }
}

/// Offerings that live in the namespace, in the order in which their rows are locked.
pub(crate) async fn offerings(conn: &mut Conn, view: &NamespaceView) -> Result<Vec<OfferingName>> {
    let placed = store::grants::placed(conn, &view.cluster, &view.team).await?;
    let here: Vec<_> = placed.into_iter().filter(|p| p.namespace == view.name).collect();
    let mut names: Vec<_> = store::offerings::list(conn)
        .await?
        .into_iter()
        .filter(|o| here.iter().any(|p| p.pool == o.pool && p.resource == o.resource))
        .map(|o| o.name)
        .collect();
    names.sort();
    Ok(names)
}

/// Reads one offering's place in the namespace.
pub(crate) async fn placed(conn: &mut Conn, view: &NamespaceView, name: &OfferingName) -> Result<Placed> {
    let offering = fleet::find_offering(conn, name).await?;
    let pool = fleet::find_pool(conn, &offering.pool).await?;
    let line = store::ledger::line(conn, name).await?.unwrap_or_default();
    let own = line.holdings.get(&view.team).copied().unwrap_or_default();
    Ok(Placed {
        offering,
        pool,
        granted: own.granted,
        held: own.held,
        step: ledger::next_step(&line, &view.team),
    })
}

impl App {
    /// Everything that the namespace is made from, given the moves that were decided.
    pub(crate) async fn tenancy(
        &self,
        conn: &mut Conn,
        cluster: &Cluster,
        view: &NamespaceView,
        lines: &[Placed],
    ) -> Result<Tenancy> {
        let grants = store::grants::of_namespace(conn, &view.cluster, &view.name).await?;
        let partition = store::partitions::find(conn, &view.cluster, &view.team).await?;
        let vfs = vfs(lines, &grants);
        Ok(Tenancy {
            cluster: cluster.name.clone(),
            team: view.team.clone(),
            team_display: teams::find(conn, &view.team).await?.display,
            namespace: view.name.clone(),
            partition: partition
                .filter(|_| grants.iter().any(|g| g.partition && g.state.counts()))
                .map(|partition| PartitionUse { partition, vfs }),
            lines: lines
                .iter()
                .map(|l| TenancyLine {
                    offering: l.offering.clone(),
                    pool: l.pool.clone(),
                    granted: l.granted,
                    hard: l.hard(),
                    block: block(&l.offering.name, &grants),
                })
                .collect(),
            known_resources: cluster.known_resources.clone(),
            known_device_classes: cluster.known_device_classes.clone(),
            open: grants.iter().any(|g| g.state.counts()),
            settings: self.inner.parts.site.clone(),
        })
    }
}

/// Largest block of the grants of an offering: what one pod of the template asks for.
fn block(offering: &OfferingName, grants: &[Grant]) -> u32 {
    let counting = grants.iter().filter(|g| g.offering == *offering && g.state.counts());
    counting.map(|g| g.shape.per_node).max().unwrap_or(1)
}

/// VFs that go with the GPUs of grants that have a partition; never more than the quota of GPUs allows.
fn vfs(lines: &[Placed], grants: &[Grant]) -> u32 {
    let mut with_partition: BTreeMap<&OfferingName, u32> = BTreeMap::new();
    for grant in grants.iter().filter(|g| g.partition) {
        *with_partition.entry(&grant.offering).or_default() += grant.amount();
    }
    lines
        .iter()
        .map(|l| {
            with_partition
                .get(&l.offering.name)
                .copied()
                .unwrap_or(0)
                .min(l.hard())
                .saturating_mul(l.pool.vfs_per_gpu)
        })
        .fold(0, u32::saturating_add)
}

#[cfg(test)]
pub(crate) mod tests {
    use domain::{
        fleet::{ApprovalRules, Kind, Mode, PerUnit},
        name::{ClusterName, DisplayName, PoolName},
        resource::ResourceName,
    };

    use super::*;

    /// A pool of whole GPUs and its offering.
    pub(crate) fn whole(name: &str) -> (Pool, Offering) {
        let pool = Pool {
            name: PoolName::new(name).unwrap(),
            cluster: ClusterName::new("c").unwrap(),
            display: DisplayName::new(name).unwrap(),
            model: "NVIDIA-H100-80GB-HBM3".into(),
            mode: Mode::Whole,
            label_key: "gpuaas.io/pool".into(),
            label_value: name.into(),
            vfs_per_gpu: 1,
            rules: ApprovalRules::default(),
            retired: false,
            version: 1,
        };
        let offering = Offering {
            name: OfferingName::new(name).unwrap(),
            pool: pool.name.clone(),
            display: DisplayName::new("H100").unwrap(),
            description: String::new(),
            kind: Kind::Whole,
            resource: ResourceName::new("nvidia.com/gpu").unwrap(),
            effective_milli: 1000,
            per_unit: PerUnit {
                cpu: "8".parse().unwrap(),
                memory: "96Gi".parse().unwrap(),
                ephemeral_storage: "100Gi".parse().unwrap(),
            },
            partition: true,
            per_pod_max: Some(8),
            declared: 32,
            overcommit_percent: 100,
            retired: false,
            version: 1,
        };
        (pool, offering)
    }

    #[test]
    fn a_quota_that_waits_keeps_what_is_held() {
        let (pool, offering) = whole("h100");
        let line =
            |step, held| Placed { offering: offering.clone(), pool: pool.clone(), granted: 8, held, step };
        assert_eq!(line(Step::Wait { missing: 4 }, 4).hard(), 4);
        assert_eq!(line(Step::Raise { to: 8 }, 4).hard(), 8);
        assert_eq!(line(Step::Lower { to: 2 }, 4).hard(), 2);
    }
}
