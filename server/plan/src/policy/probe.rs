//! The namespace of our own in which registration waits for the policies to act.
//!
//! A policy acts about a second after it was written, and up to 30 seconds later where its parameter kind is new.
//! Until the answer has the policy's own text, no tenant may come in.

use serde_json::json;

use super::tenant::TenantPolicySpec;
use crate::labels;
use crate::manifest::{Manifest, ManifestError};

/// Name of the namespace, and the value of its tenant label.
pub const PROBE_NAMESPACE: &str = "gpuaas-probe";

/// Something that the policies must refuse.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// What to create, as a dry run.
    pub object: Manifest,
    /// Part of the answer that only the policy itself gives; any other answer, another refusal too, means that it
    /// does not act yet.
    pub text: &'static str,
}

/// The namespace and its `TenantPolicy`, which lists nothing, in this order.
///
/// # Errors
/// Never in practice: only if one of the fixed objects cannot be written.
pub fn probe_namespace() -> Result<Vec<Manifest>, ManifestError> {
    Ok(vec![
        Manifest::from_json(json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": PROBE_NAMESPACE, "labels": {
                labels::MANAGED_BY: labels::MANAGER,
                labels::TENANT: PROBE_NAMESPACE,
                "pod-security.kubernetes.io/enforce": "restricted",
            }},
        }))?,
        TenantPolicySpec::default().manifest(PROBE_NAMESPACE, PROBE_NAMESPACE)?,
    ])
}

/// The pod that asks for a resource that nobody is granted. It keeps to Pod Security level `restricted`, so that
/// only our policy has a reason to refuse it.
///
/// # Errors
/// As [`probe_namespace`].
pub fn refused_pod() -> Result<Refusal, ManifestError> {
    let object = Manifest::from_json(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "refused", "namespace": PROBE_NAMESPACE},
        "spec": {
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{
                "name": "main", "image": "none",
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                "resources": {
                    "requests": {"cpu": "1m", "memory": "1Mi"},
                    "limits": {"cpu": "1m", "memory": "1Mi", "gpuaas.io/never-granted": "1"},
                },
            }],
        },
    }))?;
    Ok(Refusal { object, text: "gpuaas.io/never-granted is not granted to this namespace" })
}

/// The claim of a device class that nobody is granted. Only for clusters that serve `resource.k8s.io/v1`
/// (Kubernetes 1.34 and later).
///
/// # Errors
/// As [`probe_namespace`].
pub fn refused_claim() -> Result<Refusal, ManifestError> {
    let object = Manifest::from_json(json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "refused", "namespace": PROBE_NAMESPACE},
        "spec": {"devices": {"requests": [
            {"name": "device", "exactly": {"deviceClassName": "never-granted.gpuaas.io"}},
        ]}},
    }))?;
    Ok(Refusal { object, text: "device class never-granted.gpuaas.io is not granted to this namespace" })
}
