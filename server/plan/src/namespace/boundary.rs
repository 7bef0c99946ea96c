//! The namespace itself and what the admission policies let it use.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{api::core::v1::Namespace, apimachinery::pkg::apis::meta::v1::ObjectMeta};

use super::{manifest, our_labels};
use crate::{
    labels,
    manifest::Manifest,
    policy::tenant::{AllowedNetwork, AllowedResource, AllowedToleration, TenantPolicySpec},
    tenancy::{Memlock, PodSecurity, Tenancy},
};

/// The name of the team for people; free text, so an annotation.
const DISPLAY_NAME: &str = "gpuaas.io/display-name";

/// Whether pods of the namespace add `IPC_LOCK`.
pub(super) fn locks_memory(t: &Tenancy) -> bool {
    t.settings.memlock == Memlock::Capability && t.partition().is_some()
}

/// The namespace's level: the site's, unless pods need a capability that every level below `privileged` refuses. The
/// baseline policy of the tenant policies acts where the level does not.
pub(super) fn level(t: &Tenancy) -> PodSecurity {
    if locks_memory(t) { PodSecurity::Privileged } else { t.settings.pod_security }
}

/// The namespace. It is born with its labels: they are what policies and Pod Security select by.
pub(super) fn namespace(t: &Tenancy) -> Manifest {
    let mut labels = our_labels(t);
    for mode in ["enforce", "audit", "warn"] {
        let key = format!("pod-security.kubernetes.io/{mode}");
        labels.insert(format!("{key}-version"), t.settings.pod_security_version.clone());
        labels.insert(key, level(t).as_str().to_owned());
    }
    manifest(&Namespace {
        metadata: ObjectMeta {
            name: Some(t.namespace.as_str().to_owned()),
            labels: Some(labels),
            annotations: Some(BTreeMap::from([(
                DISPLAY_NAME.to_owned(),
                t.team_display.as_str().to_owned(),
            )])),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    })
}

/// What pods may use: the resources that are granted with their pools, the partition, nothing else.
#[expect(clippy::expect_used, reason = "a struct of strings and numbers; the tests make it")]
pub(super) fn policy(t: &Tenancy) -> Manifest {
    spec(t).manifest(t.namespace.as_str(), t.team.as_str()).expect("a spec that can be written as JSON")
}

fn spec(t: &Tenancy) -> TenantPolicySpec {
    let granted = t.granted();
    let mut resources = BTreeMap::new();
    let mut tolerations = BTreeSet::new();
    for line in &granted {
        resources.entry(line.offering.resource.clone()).or_insert_with(|| AllowedResource {
            name: line.offering.resource.to_string(),
            pool: Some(line.pool.label_value.clone()),
            per_pod_max: line.offering.per_pod_max,
        });
        // For sites that taint a pool's nodes with the pool's label. A taint named like the resource needs no entry.
        tolerations.insert(AllowedToleration {
            key: line.pool.label_key.clone(),
            value: Some(line.pool.label_value.clone()),
            effect: Some("NoSchedule".to_owned()),
        });
    }
    let partition = t.partition().map(|used| &used.partition);
    resources.extend(partition.map(|partition| {
        let name = partition.resource();
        // VFs of a partition are the same on every node, so they belong to no pool.
        (name.clone(), AllowedResource { name: name.to_string(), pool: None, per_pod_max: None })
    }));
    let site = TenantPolicySpec::default();
    TenantPolicySpec {
        pool_label: granted.first().map_or(site.pool_label, |line| line.pool.label_key.clone()),
        resources: resources.into_values().collect(),
        networks: partition
            .map(|partition| AllowedNetwork {
                name: partition.network(),
                resource: Some(partition.resource().to_string()),
            })
            .into_iter()
            .collect(),
        priority_classes: t.settings.default_priority_class.iter().cloned().collect(),
        capabilities: locks_memory(t).then(|| "IPC_LOCK".to_owned()).into_iter().collect(),
        tolerations: tolerations.into_iter().collect(),
        ..site
    }
}

/// The labels that pods of templates carry, so that who made them can be told.
pub(super) fn pod_labels(offering: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        (labels::MANAGED_BY.to_owned(), labels::MANAGER.to_owned()),
        (OFFERING.to_owned(), offering.to_owned()),
    ])
}

/// Offering that a template is for.
const OFFERING: &str = "gpuaas.io/offering";
