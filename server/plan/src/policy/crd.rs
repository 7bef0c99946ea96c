//! The kind `TenantPolicy` as the API server knows it. The limits are those of [`super::tenant`].

use serde_json::{Value, json};

use super::static_metadata;
use super::tenant::{CLASSES_MAX, KIND, PER_POD_MAX, QUALIFIED_MAX, RESOURCES_MAX, SCHEDULERS_MAX};
use crate::labels;

const DNS_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
const DNS_SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const LABEL_VALUE: &str = "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";
const LABEL_VALUE_OR_EMPTY: &str = "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$";
const QUALIFIED: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";
const QUALIFIED_WITH_SLASH: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";

/// The `CustomResourceDefinition`.
pub(super) fn body() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": static_metadata("tenantpolicies.gpuaas.io"),
        "spec": {
            "group": "gpuaas.io", "scope": "Namespaced",
            "names": {
                "kind": KIND, "listKind": "TenantPolicyList", "plural": "tenantpolicies", "singular": "tenantpolicy",
            },
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "description": "What one namespace may use; the admission policies of gpuaas read it.",
                    "properties": {
                        "apiVersion": {"type": "string"}, "kind": {"type": "string"},
                        "metadata": {"type": "object"}, "spec": spec(),
                    },
                    "x-kubernetes-validations": [{
                        // The bindings name it, so a second one would have no effect.
                        "rule": format!("self.metadata.name == '{}'", labels::TENANT_POLICY_NAME),
                        "message": "a namespace has exactly one TenantPolicy, named tenant",
                    }],
                }},
            }],
        },
    })
}

fn spec() -> Value {
    json!({
        "type": "object",
        // Server-side apply drops an empty object; without default the second apply of `spec: {}` would be refused.
        // The rules below are tried on it as it stands.
        "default": {"networks": [], "resources": []},
        "properties": {
            "poolLabel": described(
                text(QUALIFIED, QUALIFIED_MAX), "Node label whose value is the pool of a node.", json!(labels::POOL)),
            "resources": described(
                list(&resource(), RESOURCES_MAX), "Device resources that pods may ask for.", json!([])),
            "networks": described(
                list(&network(), RESOURCES_MAX), "Networks of this namespace that pods may attach.", json!([])),
            "priorityClasses": described(
                list(&text(DNS_SUBDOMAIN, 253), CLASSES_MAX), "Priority classes that pods may have.", json!([])),
            "runtimeClasses": described(
                list(&text(DNS_SUBDOMAIN, 253), CLASSES_MAX), "Runtime classes that pods may have.", json!([])),
            "deviceClasses": described(
                list(&text(DNS_SUBDOMAIN, 253), CLASSES_MAX), "Device classes of resource claims.", json!([])),
            "schedulers": described(
                schedulers(), "Schedulers that pods may name.", json!(["default-scheduler"])),
            "capabilities": described(
                list(&capability(), SCHEDULERS_MAX),
                "Capabilities that containers may add beyond the Pod Security baseline.", json!([])),
            "tolerations": described(
                list(&toleration(), CLASSES_MAX),
                "Tolerations that pods and claims may have beyond those that come with asking for a resource.",
                json!([])),
        },
        "x-kubernetes-validations": [
            {
                "rule": "self.networks.all(n, !has(n.resource) || self.resources.exists(r, r.name == n.resource))",
                "message": "the resource of a network must be in resources",
            },
            {
                "rule": "self.resources.all(r, self.resources.exists_one(other, other.name == r.name))",
                "message": "each name may be in resources once; remove the others",
            },
            {
                "rule": "self.networks.all(n, self.networks.exists_one(other, other.name == n.name))",
                "message": "each name may be in networks once; remove the others",
            },
        ],
    })
}

fn resource() -> Value {
    json!({
        "type": "object", "required": ["name"],
        "properties": {
            "name": text(QUALIFIED_WITH_SLASH, QUALIFIED_MAX),
            "pool": text(LABEL_VALUE, 63),
            "perPodMax": {"type": "integer", "format": "int64", "minimum": 1, "maximum": PER_POD_MAX},
        },
    })
}

fn network() -> Value {
    json!({
        "type": "object", "required": ["name"],
        "properties": {"name": text(DNS_LABEL, 63), "resource": text(QUALIFIED_WITH_SLASH, QUALIFIED_MAX)},
    })
}

fn schedulers() -> Value {
    let mut schedulers = list(&text(DNS_SUBDOMAIN, 253), SCHEDULERS_MAX);
    schedulers["minItems"] = json!(1);
    schedulers
}

fn capability() -> Value {
    let mut capability = text("^[A-Z][A-Z_]*$", 32);
    capability["x-kubernetes-validations"] = json!([{
        "rule": "self != 'ALL' && !self.startsWith('CAP_')",
        "message": "capabilities are named as IPC_LOCK: without CAP_ in front, and not ALL",
    }]);
    capability
}

fn toleration() -> Value {
    json!({
        "type": "object", "required": ["key"],
        "properties": {
            "key": text(QUALIFIED, QUALIFIED_MAX),
            "value": {"type": "string", "pattern": LABEL_VALUE_OR_EMPTY, "maxLength": 63},
            "effect": {"type": "string", "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
        },
    })
}

fn text(pattern: &str, max: usize) -> Value {
    json!({"type": "string", "pattern": pattern, "minLength": 1, "maxLength": max})
}

/// A list of one writer: with types `set` and `map` an entry of another writer would stay through a forced apply of
/// ours, and open what nobody granted.
fn list(items: &Value, max: usize) -> Value {
    json!({"type": "array", "maxItems": max, "x-kubernetes-list-type": "atomic", "items": items})
}

/// The schema with its description and the value that the API server fills in where there is none.
fn described(mut schema: Value, description: &str, default: Value) -> Value {
    schema["description"] = json!(description);
    schema["default"] = default;
    schema
}
