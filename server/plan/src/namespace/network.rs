//! What pods may reach on the cluster's own network, and the network of the partition.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::networking::v1::{
        IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer,
        NetworkPolicyPort, NetworkPolicySpec,
    },
    apimachinery::pkg::{
        apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta},
        util::intstr::IntOrString,
    },
};
use serde::Serialize;

use super::{manifest, metadata};
use crate::{labels, manifest::Manifest, tenancy::Tenancy};

/// Annotation that ties a network to the device resource of its VFs.
const RESOURCE_NAME: &str = "k8s.v1.cni.cncf.io/resourceName";

/// Annotation with the partition key, for people: the CNI plugin ignores a key in its configuration, and nobody should
/// think that it enforces one. The fabric does.
const PKEY: &str = "gpuaas.io/pkey";

/// In comes the own team, from all its namespaces, and the platform; out goes everything, or what the site lists.
/// Both act on the main network of a pod only: traffic of VFs is kept apart by the partition.
pub(super) fn policies(t: &Tenancy) -> [Manifest; 2] {
    let spec =
        NetworkPolicySpec { pod_selector: Some(LabelSelector::default()), ..NetworkPolicySpec::default() };
    let ingress = NetworkPolicySpec {
        policy_types: Some(vec!["Ingress".to_owned()]),
        ingress: Some(vec![NetworkPolicyIngressRule {
            from: Some(vec![own_team(t), platform()]),
            ..NetworkPolicyIngressRule::default()
        }]),
        ..spec.clone()
    };
    let egress = NetworkPolicySpec {
        policy_types: Some(vec!["Egress".to_owned()]),
        egress: Some(egress_rules(t)),
        ..spec
    };
    [("gpuaas-ingress", ingress), ("gpuaas-egress", egress)]
        .map(|(name, spec)| manifest(&NetworkPolicy { metadata: metadata(t, name), spec: Some(spec) }))
}

fn own_team(t: &Tenancy) -> NetworkPolicyPeer {
    namespaces(LabelSelector {
        match_labels: Some(BTreeMap::from([(labels::TENANT.to_owned(), t.team.as_str().to_owned())])),
        ..LabelSelector::default()
    })
}

/// Namespaces that are no tenant's: monitoring, ingress controllers. Tenants cannot make any.
fn platform() -> NetworkPolicyPeer {
    namespaces(LabelSelector {
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: labels::TENANT.to_owned(),
            operator: "DoesNotExist".to_owned(),
            values: None,
        }]),
        ..LabelSelector::default()
    })
}

fn namespaces(selector: LabelSelector) -> NetworkPolicyPeer {
    NetworkPolicyPeer { namespace_selector: Some(selector), ..NetworkPolicyPeer::default() }
}

fn egress_rules(t: &Tenancy) -> Vec<NetworkPolicyEgressRule> {
    if t.settings.egress.is_empty() {
        return vec![NetworkPolicyEgressRule::default()];
    }
    let blocks = t.settings.egress.iter().map(|cidr| NetworkPolicyPeer {
        ip_block: Some(IPBlock { cidr: cidr.clone(), except: None }),
        ..NetworkPolicyPeer::default()
    });
    let allowed = NetworkPolicyEgressRule {
        to: Some(std::iter::once(own_team(t)).chain(blocks).collect()),
        ..NetworkPolicyEgressRule::default()
    };
    vec![dns(), allowed]
}

fn dns() -> NetworkPolicyEgressRule {
    let system = BTreeMap::from([("kubernetes.io/metadata.name".to_owned(), "kube-system".to_owned())]);
    let port = |protocol: &str| NetworkPolicyPort {
        port: Some(IntOrString::Int(53)),
        protocol: Some(protocol.to_owned()),
        ..NetworkPolicyPort::default()
    };
    NetworkPolicyEgressRule {
        ports: Some(vec![port("TCP"), port("UDP")]),
        to: Some(vec![namespaces(LabelSelector { match_labels: Some(system), ..LabelSelector::default() })]),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NetworkAttachmentDefinition {
    api_version: &'static str,
    kind: &'static str,
    metadata: ObjectMeta,
    spec: NetworkAttachmentDefinitionSpec,
}

#[derive(Serialize)]
struct NetworkAttachmentDefinitionSpec {
    /// JSON as text.
    config: String,
}

/// Configuration of the CNI plugin `ib-sriov`, in the order in which its documentation has the keys.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IbSriov {
    cni_version: &'static str,
    name: String,
    #[serde(rename = "type")]
    plugin: &'static str,
    #[serde(rename = "link_state")]
    link_state: &'static str,
    ib_kubernetes_enabled: bool,
    rdma_isolation: bool,
    /// No address: NCCL needs none on InfiniBand, and a plugin that gives none is an error.
    ipam: BTreeMap<(), ()>,
}

/// The network of the team's partition.
#[expect(clippy::expect_used, reason = "a struct of strings and booleans; a test makes it")]
pub(super) fn attachment(t: &Tenancy) -> Option<Manifest> {
    let partition = &t.partition()?.partition;
    let config = IbSriov {
        cni_version: "1.0.0",
        name: partition.network(),
        plugin: "ib-sriov",
        link_state: "enable",
        ib_kubernetes_enabled: false,
        rdma_isolation: false,
        ipam: BTreeMap::new(),
    };
    let annotations = BTreeMap::from([
        (RESOURCE_NAME.to_owned(), partition.resource().to_string()),
        (PKEY.to_owned(), partition.pkey.to_string()),
    ]);
    Some(manifest(&NetworkAttachmentDefinition {
        api_version: "k8s.cni.cncf.io/v1",
        kind: "NetworkAttachmentDefinition",
        metadata: ObjectMeta { annotations: Some(annotations), ..metadata(t, partition.network()) },
        spec: NetworkAttachmentDefinitionSpec {
            config: serde_json::to_string(&config).expect("a struct that can be written as JSON"),
        },
    }))
}
