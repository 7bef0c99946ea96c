//! The fleet: clusters, nodes, pools and offerings.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{
    name::{ClusterName, DisplayName, OfferingName, PoolName},
    quantity::Quantity,
    resource::ResourceName,
};

/// Label by which a pool picks its nodes unless the site has one that fits.
pub const POOL_LABEL: &str = "gpuaas.io/pool";

/// Who makes it true.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Writer {
    /// gpuaas applies objects to the API server itself and observes it.
    Kubernetes,
    /// gpuaas commits manifests to a git repository that something else (for example Argo CD) applies.
    Git,
}

/// How far the registration of a cluster is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Registration {
    /// Static objects are being installed, or the tenant policy does not answer yet.
    Registering {
        /// What it waits for, in words.
        waiting_for: String,
    },
    /// The tenant policy has refused our probe; team namespaces may be written.
    Ready,
    /// It cannot go on; the next try is automatic.
    Blocked {
        /// Why, in words, with the API server's own text.
        reason: String,
    },
}

/// A cluster that gpuaas writes to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Cluster {
    /// Immutable key.
    pub name: ClusterName,
    /// For people.
    pub display: DisplayName,
    /// Who makes it true.
    pub writer: Writer,
    /// How far the registration is.
    pub registration: Registration,
    /// Fabric slots on each physical function: VF slot k of every PF belongs to partition k. 0: no fabric.
    pub fabric_slots: u16,
    /// Extended resources that any node of the cluster was ever seen to advertise, or that were declared.
    pub known_resources: Vec<ResourceName>,
    /// DRA device classes seen in the cluster.
    pub known_device_classes: Vec<String>,
    /// When nodes and pods were last seen; none where the cluster is not observed.
    pub observed_at: Option<DateTime<Utc>>,
    /// Version for `If-Match`.
    pub version: i64,
}

/// A node as observed or imported.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Node {
    /// Cluster that it belongs to.
    pub cluster: ClusterName,
    /// Kubernetes node name.
    pub name: String,
    /// Labels, as GPU Feature Discovery and others write them.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Extended resources in `status.allocatable`.
    #[serde(default)]
    pub allocatable: BTreeMap<ResourceName, u32>,
    /// Devices that pods on it hold, all namespaces.
    #[serde(default)]
    pub used: BTreeMap<ResourceName, u32>,
    /// Ready and schedulable.
    #[serde(default = "yes")]
    pub ready: bool,
}

fn yes() -> bool {
    true
}

/// How the GPUs of a pool are given out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Whole GPUs.
    Whole,
    /// MIG slices of a fixed geometry.
    Mig,
    /// Replicas by time-slicing or MPS: soft shares.
    Shared,
}

/// A set of nodes of one GPU model in one mode, picked by one label.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Pool {
    /// Immutable key.
    pub name: PoolName,
    /// Cluster that it is a part of.
    pub cluster: ClusterName,
    /// For people.
    pub display: DisplayName,
    /// GPU model as GPU Feature Discovery names it (`nvidia.com/gpu.product`).
    pub model: String,
    /// How its GPUs are given out.
    pub mode: Mode,
    /// Label key that picks the nodes; [`POOL_LABEL`] unless the site has one.
    pub label_key: String,
    /// Label value that picks the nodes.
    pub label_value: String,
    /// VFs that go with each GPU when a grant has a partition.
    pub vfs_per_gpu: u32,
    /// Rules for approval.
    pub rules: ApprovalRules,
    /// No new requests.
    pub retired: bool,
    /// Version for `If-Match`.
    pub version: i64,
}

/// Who must agree to a request, and for how long a lease may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApprovalRules {
    /// As long as a team holds no more than this of an offering, a fitting request approves itself; 0: never.
    pub auto_up_to: u32,
    /// Above this amount two people must approve; none: never.
    pub two_above: Option<u32>,
    /// Longest lease in days.
    pub max_days: u32,
}

impl Default for ApprovalRules {
    fn default() -> Self {
        Self { auto_up_to: 0, two_above: None, max_days: 90 }
    }
}

/// What one unit of an offering is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// A whole GPU.
    Whole,
    /// A MIG slice: hard isolation of memory and compute.
    Mig {
        /// Profile as NVIDIA writes it, for example `1g.10gb`.
        profile: String,
    },
    /// A replica by time-slicing or MPS: no isolation of memory.
    Shared {
        /// Replicas of one GPU.
        replicas: u32,
    },
}

/// What goes with each unit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PerUnit {
    /// Cores.
    pub cpu: Quantity,
    /// Memory.
    pub memory: Quantity,
    /// Local scratch.
    pub ephemeral_storage: Quantity,
}

/// What can be asked for: a pool, an exact resource and what one unit is worth.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Offering {
    /// Immutable key.
    pub name: OfferingName,
    /// Pool that serves it. A pool has at most one offering of a resource.
    pub pool: PoolName,
    /// For people.
    pub display: DisplayName,
    /// What it is good for, in a sentence.
    pub description: String,
    /// What one unit is.
    #[serde(flatten)]
    pub kind: Kind,
    /// Exact resource name that pods ask for.
    pub resource: ResourceName,
    /// Worth of one unit in thousandths of a GPU: the larger of its share of SMs and of memory.
    pub effective_milli: u32,
    /// What goes with each unit.
    pub per_unit: PerUnit,
    /// May a grant have an InfiniBand partition? Never for slices and shares.
    pub partition: bool,
    /// Most devices that one pod may ask for; none: no limit.
    pub per_pod_max: Option<u32>,
    /// Devices that the admin says there are.
    pub declared: u32,
    /// How far a shared pool may be promised beyond its capacity, in percent; 100 for all others.
    pub overcommit_percent: u32,
    /// No new requests.
    pub retired: bool,
    /// Version for `If-Match`.
    pub version: i64,
}

impl Offering {
    /// Worth of `amount` units in GPUs, for people: `0.875`, `4`.
    #[must_use]
    pub fn effective(&self, amount: u32) -> String {
        let milli = u64::from(self.effective_milli) * u64::from(amount);
        let (whole, rest) = (milli / 1000, milli % 1000);
        if rest == 0 {
            whole.to_string()
        } else {
            format!("{whole}.{}", format!("{rest:03}").trim_end_matches('0'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offering_reads_as_flat_json() {
        let offering: Offering = serde_json::from_value(serde_json::json!({
            "name": "a100-1g", "pool": "a100", "display": "A100 slice", "description": "", "kind": "mig", "profile": "1g.10gb",
            "resource": "nvidia.com/mig-1g.10gb", "effective_milli": 143, "per_unit": {"cpu": "4", "memory": "32Gi", "ephemeral_storage": "10Gi"},
            "partition": false, "per_pod_max": 1, "declared": 56, "overcommit_percent": 100, "retired": false, "version": 1
        }))
        .unwrap();
        assert_eq!(offering.kind, Kind::Mig { profile: "1g.10gb".to_owned() });
        assert_eq!(offering.effective(7), "1.001");
        assert_eq!(offering.effective(1000), "143");
    }
}
