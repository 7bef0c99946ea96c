//! `TenantPolicy`: what one namespace may use. The admission policies read it as their parameter, so its limits keep
//! their cost inside the budget of the API server.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::labels;
use crate::manifest::{Manifest, ManifestError};

/// Group and version of the kind.
pub const API_VERSION: &str = "gpuaas.io/v1alpha1";

/// Name of the kind.
pub const KIND: &str = "TenantPolicy";

/// Most entries of `resources` and of `networks`.
pub const RESOURCES_MAX: usize = 64;

/// Most entries of `priorityClasses`, of `runtimeClasses`, of `deviceClasses` and of `tolerations`.
pub const CLASSES_MAX: usize = 32;

/// Most entries of `schedulers` and of `capabilities`.
pub const SCHEDULERS_MAX: usize = 16;

/// Most characters of a qualified name: a prefix of 253, the slash, a name of 63.
pub const QUALIFIED_MAX: usize = 317;

/// Largest `perPodMax`.
pub const PER_POD_MAX: u32 = 1_000_000_000;

/// What a namespace may use. Whatever is not listed is refused; an empty list allows nothing.
///
/// The API server fills absent lists in and refuses a value beyond the limits that the fields name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TenantPolicySpec {
    /// Node label whose value is the pool of a node: a qualified label key of at most [`QUALIFIED_MAX`] characters.
    pub pool_label: String,
    /// Device resources, at most [`RESOURCES_MAX`], each name once.
    pub resources: Vec<AllowedResource>,
    /// Networks that pods may attach, at most [`RESOURCES_MAX`], each name once.
    pub networks: Vec<AllowedNetwork>,
    /// Names of priority classes, at most [`CLASSES_MAX`]. The cluster's default class must be among them, or every
    /// pod that names none is refused: the API server fills it in before the policy looks.
    pub priority_classes: BTreeSet<String>,
    /// Names of runtime classes, at most [`CLASSES_MAX`].
    pub runtime_classes: BTreeSet<String>,
    /// Names of device classes for resource claims, at most [`CLASSES_MAX`].
    pub device_classes: BTreeSet<String>,
    /// Names of schedulers, one to [`SCHEDULERS_MAX`].
    pub schedulers: BTreeSet<String>,
    /// Capabilities beyond the Pod Security baseline, at most [`SCHEDULERS_MAX`], as `IPC_LOCK`: neither `ALL` nor
    /// with `CAP_` in front, at most 32 characters.
    pub capabilities: BTreeSet<String>,
    /// Tolerations beyond those that come with asking for a resource, at most [`CLASSES_MAX`].
    pub tolerations: Vec<AllowedToleration>,
}

/// One device resource of the list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowedResource {
    /// Exact name with its prefix, at most [`QUALIFIED_MAX`] characters.
    pub name: String,
    /// Pool that a pod must select to ask for it: a label value, at most 63 characters. None for resources that are
    /// the same everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Most that one pod may ask for, 1 to [`PER_POD_MAX`]; none for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_pod_max: Option<u32>,
}

/// One network of the list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowedNetwork {
    /// Name of the `NetworkAttachmentDefinition` in the same namespace: a DNS label of at most 63 characters.
    pub name: String,
    /// Device resource that each attachment uses one of; it must be in `resources`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
}

/// One toleration of the list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowedToleration {
    /// Key of the taint, at most [`QUALIFIED_MAX`] characters.
    pub key: String,
    /// Value of the taint, at most 63 characters; none for any, empty for only the empty one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`; none for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

impl Default for TenantPolicySpec {
    /// Nothing is allowed but pods without devices, placed by the default scheduler.
    fn default() -> Self {
        Self {
            pool_label: labels::POOL.to_owned(),
            resources: Vec::new(),
            networks: Vec::new(),
            priority_classes: BTreeSet::new(),
            runtime_classes: BTreeSet::new(),
            device_classes: BTreeSet::new(),
            schedulers: BTreeSet::from(["default-scheduler".to_owned()]),
            capabilities: BTreeSet::new(),
            tolerations: Vec::new(),
        }
    }
}

impl TenantPolicySpec {
    /// The object for one namespace of a tenant, with its lists in order of their names.
    ///
    /// # Errors
    /// If the spec cannot be written as JSON.
    pub fn manifest(&self, namespace: &str, tenant: &str) -> Result<Manifest, ManifestError> {
        let mut spec = self.clone();
        spec.resources.sort();
        spec.networks.sort();
        spec.tolerations.sort();
        Manifest::of(&json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {
                "name": labels::TENANT_POLICY_NAME,
                "namespace": namespace,
                "labels": {labels::MANAGED_BY: labels::MANAGER, labels::TENANT: tenant},
            },
            "spec": spec,
        }))
    }
}
