//! What a cluster is at this moment, in the terms of the domain: a pure function of what the watches saw.

use std::collections::{BTreeMap, BTreeSet};

use domain::charge::{Init, charged};
use domain::fleet::Node;
use domain::name::ClusterName;
use domain::quantity::Quantity;
use domain::resource::ResourceName;
use k8s_openapi::api::core::v1::{Container, Node as KubeNode, Pod};

use crate::index::{Index, whole};

/// Nodes, use and limits of one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterFacts {
    /// Nodes, by name.
    pub nodes: Vec<Node>,
    /// Namespaces of tenants, and others whose pods hold devices.
    pub namespaces: BTreeMap<String, NamespaceFacts>,
    /// DRA device classes.
    pub device_classes: Vec<String>,
    /// Devices that pods hold or wait for, by node, namespace and resource.
    pub devices: Vec<DeviceUse>,
}

/// Devices of one namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamespaceFacts {
    /// Value of the label `gpuaas.io/tenant`; none for namespaces that are not a tenant's.
    pub tenant: Option<String>,
    /// Use of each device resource.
    pub resources: BTreeMap<ResourceName, UsageFacts>,
}

/// Use of one resource in one namespace, in devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageFacts {
    /// Limit in the quota's status; none where no quota of ours limits it.
    pub hard: Option<u32>,
    /// Use in the quota's status.
    pub charged: u32,
    /// Of pods that are bound to a node.
    pub running: u32,
    /// Of pods that wait for a node.
    pub pending: u32,
}

/// Devices that pods of one namespace hold on one node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceUse {
    /// Node; none for pods that wait for one.
    pub node: Option<String>,
    /// Namespace.
    pub namespace: String,
    /// Resource.
    pub resource: ResourceName,
    /// Devices.
    pub amount: u32,
    /// Whether the namespace is a tenant's.
    pub tenant: bool,
}

/// What is kept of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeState {
    labels: BTreeMap<String, String>,
    allocatable: BTreeMap<ResourceName, u32>,
    ready: bool,
}

/// What is kept of a pod that holds devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PodState {
    node: Option<String>,
    devices: BTreeMap<ResourceName, u32>,
}

impl NodeState {
    pub(crate) fn of(node: &KubeNode) -> Self {
        let status = node.status.as_ref();
        let ready = status.and_then(|status| status.conditions.as_ref()).is_some_and(|conditions| {
            conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
        });
        let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or_default();
        Self {
            labels: node.metadata.labels.clone().unwrap_or_default(),
            allocatable: status
                .and_then(|status| status.allocatable.as_ref())
                .into_iter()
                .flatten()
                .filter_map(|(name, amount)| {
                    // A part of a device is none.
                    let amount = amount.0.parse::<Quantity>().ok()?.to_u32()?;
                    Some((ResourceName::new(name.clone()).ok()?, amount))
                })
                .collect(),
            ready: ready && !cordoned,
        }
    }
}

impl PodState {
    /// None for pods without devices and for pods that ended. A pod that is being deleted counts until it is gone:
    /// its devices are not free before.
    pub(crate) fn of(pod: &Pod) -> Option<Self> {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        if matches!(phase, Some("Succeeded" | "Failed")) {
            return None;
        }
        let spec = pod.spec.as_ref()?;
        let inits = spec.init_containers.as_deref().unwrap_or_default();
        let names: BTreeSet<_> =
            inits.iter().chain(&spec.containers).flat_map(asked).map(|(name, _)| name).collect();
        let amount = |container: &Container, resource: &ResourceName| {
            asked(container).find(|(name, _)| name == resource).map_or(0, |(_, amount)| amount)
        };
        let devices: BTreeMap<_, _> = names
            .into_iter()
            .map(|resource| {
                let inits: Vec<_> = inits
                    .iter()
                    .map(|init| Init {
                        amount: amount(init, &resource),
                        sidecar: init.restart_policy.as_deref() == Some("Always"),
                    })
                    .collect();
                let containers: Vec<_> =
                    spec.containers.iter().map(|container| amount(container, &resource)).collect();
                let amount = charged(&inits, &containers);
                (resource, amount)
            })
            .filter(|(_, amount)| *amount > 0)
            .collect();
        (!devices.is_empty()).then(|| Self { node: spec.node_name.clone(), devices })
    }
}

/// Device resources that a container asks for. Requests and limits are equal for these; stored pods have both.
fn asked(container: &Container) -> impl Iterator<Item = (ResourceName, u32)> {
    let resources = container.resources.as_ref();
    let list = resources.and_then(|resources| resources.requests.as_ref().or(resources.limits.as_ref()));
    list.into_iter()
        .flatten()
        .filter_map(|(name, amount)| Some((ResourceName::new(name.clone()).ok()?, whole(&amount.0))))
}

/// Puts the picture together.
pub(crate) fn facts(index: &Index, cluster: &ClusterName) -> ClusterFacts {
    let mut uses: BTreeMap<(Option<String>, String, ResourceName), u32> = BTreeMap::new();
    for ((namespace, _), pod) in &index.pods {
        for (resource, amount) in &pod.devices {
            let sum = uses.entry((pod.node.clone(), namespace.clone(), resource.clone())).or_default();
            *sum = sum.saturating_add(*amount);
        }
    }
    let mut namespaces: BTreeMap<String, NamespaceFacts> = BTreeMap::new();
    for (name, tenant) in index.tenants() {
        namespaces.entry(name.to_owned()).or_default().tenant = Some(tenant.to_owned());
    }
    for (namespace, resource, hard, charged) in index.levels() {
        let of = namespaces.entry(namespace.to_owned()).or_default().resources.entry(resource).or_default();
        (of.hard, of.charged) = (Some(hard), charged);
    }
    let mut used: BTreeMap<&str, BTreeMap<ResourceName, u32>> = BTreeMap::new();
    for ((node, namespace, resource), amount) in &uses {
        let of =
            namespaces.entry(namespace.clone()).or_default().resources.entry(resource.clone()).or_default();
        match node {
            Some(node) => {
                of.running = of.running.saturating_add(*amount);
                let sum = used.entry(node).or_default().entry(resource.clone()).or_default();
                *sum = sum.saturating_add(*amount);
            }
            None => of.pending = of.pending.saturating_add(*amount),
        }
    }
    let mut nodes: Vec<_> = index
        .nodes
        .iter()
        .map(|(name, node)| Node {
            cluster: cluster.clone(),
            name: name.clone(),
            labels: node.labels.clone(),
            allocatable: node.allocatable.clone(),
            used: used.get(name.as_str()).cloned().unwrap_or_default(),
            ready: node.ready,
        })
        .collect();
    nodes.sort_by(|one, other| one.name.cmp(&other.name));
    let devices = uses
        .into_iter()
        .map(|((node, namespace, resource), amount)| {
            let tenant = index.tenant(&namespace).is_some();
            DeviceUse { node, namespace, resource, amount, tenant }
        })
        .collect();
    let mut device_classes: Vec<_> = index.device_classes.keys().cloned().collect();
    device_classes.sort();
    ClusterFacts { nodes, namespaces, device_classes, devices }
}

#[cfg(test)]
mod tests;
