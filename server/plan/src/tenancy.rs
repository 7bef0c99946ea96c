//! What one namespace of a team is made from, and what comes out of it.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    fabric::Partition,
    fleet::{Offering, Pool},
    name::{ClusterName, DisplayName, NamespaceName, TeamName},
    resource::ResourceName,
};
use serde::{Deserialize, Serialize};

use crate::{
    manifest::Manifest,
    nccl::NcclVersion,
    probe::{Gate, Probe},
};

/// Everything that one namespace of a team is made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Tenancy {
    /// Cluster that the namespace is in.
    pub cluster: ClusterName,
    /// Owner.
    pub team: TeamName,
    /// The owner's name for people.
    pub team_display: DisplayName,
    /// The namespace.
    pub namespace: NamespaceName,
    /// One for each offering that lives here or ever did: ended ones stay, with nothing granted, so that their
    /// resource stays at zero. Of one resource at most one, or it would belong to two pools.
    pub lines: Vec<TenancyLine>,
    /// The team's fabric partition in this cluster, if a grant here has one.
    pub partition: Option<PartitionUse>,
    /// Extended resources that any node of the cluster advertises or ever did, or that were declared.
    pub known_resources: Vec<ResourceName>,
    /// Device classes of the cluster.
    pub known_device_classes: Vec<String>,
    /// Whether some grant counts. If none does, everything is at zero whatever the lines say, and nobody has access.
    pub open: bool,
    /// What the site chose.
    pub settings: SiteSettings,
}

/// One offering in a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenancyLine {
    /// What is granted.
    pub offering: Offering,
    /// Pool that serves it.
    pub pool: Pool,
    /// Devices granted; 0 when all grants of it have ended.
    pub granted: u32,
    /// Devices that the quota may say now, see [`domain::ledger::next_step`]: below `granted` as long as another
    /// team's lower limit is not confirmed. More than `granted` is never written.
    pub hard: u32,
    /// Largest block of the grants (`shape.per_node`): devices that one pod of the template asks for, as far as
    /// `granted` and the offering's `per_pod_max` allow. 0 counts as 1.
    pub block: u32,
}

/// A partition as one namespace uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionUse {
    /// The partition.
    pub partition: Partition,
    /// VFs that the quota may say now.
    pub vfs: u32,
}

/// Pod Security level of tenant namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PodSecurity {
    /// No limits by Pod Security; the tenant policy still has its own.
    Privileged,
    /// The usual one: images of vendors run as root.
    Baseline,
    /// No root, no capabilities.
    Restricted,
}

impl PodSecurity {
    /// The level as the label spells it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Privileged => "privileged",
            Self::Baseline => "baseline",
            Self::Restricted => "restricted",
        }
    }
}

/// How pods with VFs get to pin memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Memlock {
    /// The container runtime of the nodes has no memlock limit; pods need nothing.
    Node,
    /// Pods add the capability `IPC_LOCK`. Pod Security knows no level between `privileged` and one that refuses it,
    /// so namespaces with a partition get `privileged`, and the tenant policy takes the rest back.
    Capability,
}

/// What a site chooses once for all its tenants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SiteSettings {
    /// Pod Security level of tenant namespaces.
    pub pod_security: PodSecurity,
    /// Version of that level, as `v1.36`: pinned, so that an upgrade of the cluster refuses nothing that ran before.
    pub pod_security_version: String,
    /// Name of the cluster's default priority class, if it has one: the API server fills it into every pod that names
    /// none, before the tenant policy looks.
    pub default_priority_class: Option<String>,
    /// How pods with VFs get to pin memory.
    pub memlock: Memlock,
    /// CIDRs that pods of tenants may reach beside their own team and the cluster's DNS; empty: everything.
    pub egress: Vec<String>,
    /// Image of the templates.
    pub image: String,
    /// NCCL in that image.
    pub nccl: NcclVersion,
    /// Whether the kubelet puts the GPU and the VF of a pod on one NUMA node.
    pub numa_aligned: bool,
    /// InfiniBand service level of the tenants' traffic, 0 to 15; none: the subnet manager's choice.
    pub service_level: Option<u8>,
}

impl Default for SiteSettings {
    fn default() -> Self {
        Self {
            pod_security: PodSecurity::Baseline,
            pod_security_version: "v1.36".to_owned(),
            default_priority_class: None,
            memlock: Memlock::Node,
            egress: Vec::new(),
            image: "pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime".to_owned(),
            nccl: NcclVersion { major: 2, minor: 27 },
            numa_aligned: false,
            service_level: None,
        }
    }
}

impl Tenancy {
    /// The lines that give something, by name of the offering.
    #[must_use]
    pub fn granted(&self) -> Vec<&TenancyLine> {
        let mut lines: Vec<_> = self.lines.iter().filter(|line| self.open && line.granted > 0).collect();
        lines.sort_by(|a, b| a.offering.name.cmp(&b.offering.name));
        lines
    }

    /// The partition, if the namespace gives anything at all.
    #[must_use]
    pub fn partition(&self) -> Option<&PartitionUse> {
        self.partition.as_ref().filter(|_| self.open)
    }

    /// The limit of every device resource that is known, was granted, or belongs to the partition; 0 unless granted.
    #[must_use]
    pub fn limits(&self) -> BTreeMap<ResourceName, u32> {
        let known = self.known_resources.iter().cloned();
        let lines = self.lines.iter().map(|line| line.offering.resource.clone());
        let fabric = self.partition.iter().map(|used| used.partition.resource());
        let mut limits: BTreeMap<_, u32> = known.chain(lines).chain(fabric).map(|name| (name, 0)).collect();
        let granted = self.granted().into_iter().map(|line| (line.offering.resource.clone(), line.limit()));
        let vfs = self.partition().map(|used| (used.partition.resource(), used.vfs));
        for (name, more) in granted.chain(vfs) {
            let limit = limits.entry(name).or_default();
            *limit = limit.saturating_add(more);
        }
        limits
    }

    /// Device resources that pods here may ask for, whatever their limit is at this moment.
    #[must_use]
    pub fn allowed(&self) -> BTreeSet<ResourceName> {
        let lines = self.granted().into_iter().map(|line| line.offering.resource.clone());
        lines.chain(self.partition().map(|used| used.partition.resource())).collect()
    }
}

impl TenancyLine {
    /// What the quota says: never more than is granted.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.hard.min(self.granted)
    }
}

/// What the cluster should hold of one namespace, in the order in which it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    /// Namespace, `ResourceQuota`, `TenantPolicy`: one after the other, in this order, with a wait until the quota's
    /// status has its limits before the policy. The policy is what opens a namespace (without one it refuses every
    /// pod), so it must not name a resource that the quota does not limit yet.
    pub guard: Vec<Manifest>,
    /// Asked after the quota and before the policy: does admission act on this quota?
    pub gate: Gate,
    /// `LimitRange`, network policies, network, templates, in any order.
    pub rest: Vec<Manifest>,
    /// Role bindings, after the probes were refused; none: access is taken away.
    pub access: Vec<Manifest>,
    /// Dry runs that the cluster must refuse.
    pub probes: Vec<Probe>,
}

impl Desired {
    /// All objects, in the order in which they are written.
    pub fn all(&self) -> impl Iterator<Item = &Manifest> {
        self.guard.iter().chain(&self.rest).chain(&self.access)
    }
}
