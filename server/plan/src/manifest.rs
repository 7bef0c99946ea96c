//! One Kubernetes object as it is written: the common type of everything that is planned, whether a cluster or a git
//! repository receives it.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::labels;
use crate::yaml;

/// What is wrong with a value that should be a Kubernetes object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// A field that every object has is missing or is not a string.
    #[error("{field} is missing or is not a string; every object needs apiVersion, kind and metadata.name")]
    Field {
        /// Path of the field.
        field: &'static str,
    },
    /// The kind is not in the table [`KINDS`].
    #[error("{api_version} {kind} is not a kind that gpuaas writes; add it to the table of kinds")]
    UnknownKind {
        /// Group and version, as in `apiVersion`.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// A namespaced object without namespace, or the other way round.
    #[error("{kind} {name} must {}have a namespace", if *namespaced { "" } else { "not " })]
    Scope {
        /// The kind.
        kind: String,
        /// The object's name.
        name: String,
        /// Whether objects of this kind live in a namespace.
        namespaced: bool,
    },
    /// The value cannot be written as JSON.
    #[error("the object cannot be written as JSON: {0}")]
    Json(String),
    /// The text is not YAML.
    #[error("the text is not YAML: {0}")]
    Yaml(String),
}

/// What has to be known about a kind to write an object of it without asking the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownKind {
    /// API group, empty for the core group.
    pub group: &'static str,
    /// Version within the group.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The resource name, as in the URL.
    pub plural: &'static str,
    /// Whether objects of this kind live in a namespace.
    pub namespaced: bool,
}

impl KnownKind {
    /// Group and version as they stand in `apiVersion`.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

const fn cluster(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> KnownKind {
    KnownKind { group, version, kind, plural, namespaced: false }
}

const fn namespaced(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> KnownKind {
    KnownKind { group, version, kind, plural, namespaced: true }
}

/// Every kind that gpuaas writes.
pub const KINDS: &[KnownKind] = &[
    cluster("", "v1", "Namespace", "namespaces"),
    namespaced("", "v1", "ConfigMap", "configmaps"),
    namespaced("", "v1", "LimitRange", "limitranges"),
    namespaced("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    namespaced("", "v1", "Pod", "pods"),
    namespaced("", "v1", "PodTemplate", "podtemplates"),
    namespaced("", "v1", "ResourceQuota", "resourcequotas"),
    namespaced("", "v1", "Service", "services"),
    namespaced("", "v1", "ServiceAccount", "serviceaccounts"),
    cluster("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
    cluster(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
    ),
    cluster("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions"),
    namespaced("batch", "v1", "Job", "jobs"),
    cluster("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas"),
    namespaced("gpuaas.io", "v1alpha1", "TenantPolicy", "tenantpolicies"),
    namespaced("k8s.cni.cncf.io", "v1", "NetworkAttachmentDefinition", "network-attachment-definitions"),
    namespaced("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"),
    cluster("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles"),
    cluster("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings"),
    namespaced("rbac.authorization.k8s.io", "v1", "Role", "roles"),
    namespaced("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),
    namespaced("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims"),
    namespaced("resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates"),
];

/// Identity of an object within one cluster. Sorts by group and version, kind, namespace, name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Group and version, as in `apiVersion`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace, none for objects of the whole cluster.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { api_version, kind, namespace, name } = self;
        match namespace {
            Some(namespace) => write!(out, "{api_version} {kind} {namespace}/{name}"),
            None => write!(out, "{api_version} {kind} {name}"),
        }
    }
}

/// One object as it is to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Group and version, as in `apiVersion`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace, none for objects of the whole cluster.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
    /// The whole object, the fields above included.
    pub body: Value,
}

impl Manifest {
    /// Reads identity and body from a JSON object.
    ///
    /// # Errors
    /// If `apiVersion`, `kind` or `metadata.name` is missing, the kind is not one of [`KINDS`], or the namespace does
    /// not fit the kind.
    pub fn from_json(body: Value) -> Result<Self, ManifestError> {
        let text = |pointer: &str, field: &'static str| {
            body.pointer(pointer)
                .and_then(Value::as_str)
                .map(str::to_owned)
                .ok_or(ManifestError::Field { field })
        };
        let api_version = text("/apiVersion", "apiVersion")?;
        let kind = text("/kind", "kind")?;
        let name = text("/metadata/name", "metadata.name")?;
        let namespace = body.pointer("/metadata/namespace").and_then(Value::as_str).map(str::to_owned);
        let known = known_kind(&api_version, &kind)?;
        if known.namespaced != namespace.is_some() {
            return Err(ManifestError::Scope { kind, name, namespaced: known.namespaced });
        }
        Ok(Self { api_version, kind, namespace, name, body })
    }

    /// Reads an object of a typed API, for example one of `k8s-openapi`.
    ///
    /// # Errors
    /// As [`Manifest::from_json`], and if the value cannot be written as JSON.
    pub fn of<T: Serialize>(object: &T) -> Result<Self, ManifestError> {
        Self::from_json(serde_json::to_value(object).map_err(|error| ManifestError::Json(error.to_string()))?)
    }

    /// Reads the objects of a YAML text, in their order.
    ///
    /// # Errors
    /// As [`Manifest::from_json`], and if the text is not YAML.
    pub fn from_yaml_documents(text: &str) -> Result<Vec<Self>, ManifestError> {
        use serde::Deserialize;
        serde_yaml_ng::Deserializer::from_str(text)
            .map(|document| {
                let body =
                    Value::deserialize(document).map_err(|error| ManifestError::Yaml(error.to_string()))?;
                Self::from_json(body)
            })
            .collect()
    }

    /// The object's identity.
    #[must_use]
    pub fn key(&self) -> Key {
        Key {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// The entry of the object's kind in [`KINDS`].
    ///
    /// # Errors
    /// If the kind is not there.
    pub fn known_kind(&self) -> Result<&'static KnownKind, ManifestError> {
        known_kind(&self.api_version, &self.kind)
    }

    /// The resource name, as in the URL: `tenantpolicies` for a `TenantPolicy`.
    ///
    /// # Errors
    /// If the kind is not one of [`KINDS`].
    pub fn plural(&self) -> Result<&'static str, ManifestError> {
        self.known_kind().map(|known| known.plural)
    }

    /// The object as YAML: `apiVersion`, `kind` and `metadata` first, all other keys sorted, every string that a YAML
    /// reader could take for something else in quotes. The same object gives the same bytes.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        yaml::document(&self.body)
    }

    /// Hexadecimal sha256 of the object's JSON with sorted keys and without white space. The annotation
    /// [`labels::FINGERPRINT`] is left out, so that an object that carries its fingerprint still has the same one.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut body = self.body.clone();
        if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            let emptied =
                metadata.get_mut("annotations").and_then(Value::as_object_mut).is_some_and(|annotations| {
                    annotations.remove(labels::FINGERPRINT);
                    annotations.is_empty()
                });
            if emptied {
                metadata.remove("annotations");
            }
        }
        hex::encode(Sha256::digest(sorted(&body).to_string()))
    }

    /// The object with its own fingerprint as an annotation.
    #[must_use]
    pub fn with_fingerprint(mut self) -> Self {
        let fingerprint = self.fingerprint();
        if let Some(metadata) = self.body.get_mut("metadata").and_then(Value::as_object_mut) {
            let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
            if let Some(annotations) = annotations.as_object_mut() {
                annotations.insert(labels::FINGERPRINT.to_owned(), Value::String(fingerprint));
            }
        }
        self
    }
}

/// Looks a kind up in [`KINDS`].
///
/// # Errors
/// If it is not there.
pub fn known_kind(api_version: &str, kind: &str) -> Result<&'static KnownKind, ManifestError> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    KINDS
        .iter()
        .find(|known| known.group == group && known.version == version && known.kind == kind)
        .ok_or_else(|| ManifestError::UnknownKind {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        })
}

/// The value with the keys of all its objects sorted, whatever map type the JSON crate was built with.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            Value::Object(entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn quota() -> Value {
        json!({
            "kind": "ResourceQuota", "apiVersion": "v1",
            "metadata": {"name": "grant", "namespace": "vision"},
            "spec": {"hard": {"requests.nvidia.com/gpu": "8", "cpu": "16"}},
        })
    }

    #[test]
    fn yaml_has_the_identity_first_and_the_rest_sorted() {
        let manifest = Manifest::from_json(quota()).unwrap();
        assert_eq!(
            manifest.to_yaml(),
            "apiVersion: v1\nkind: ResourceQuota\nmetadata:\n  name: grant\n  namespace: vision\nspec:\n  hard:\n    \
             cpu: \"16\"\n    requests.nvidia.com/gpu: \"8\"\n"
        );
    }

    #[test]
    fn the_order_of_keys_changes_neither_yaml_nor_fingerprint() {
        let one = Manifest::from_json(quota()).unwrap();
        let text = r#"{"spec":{"hard":{"cpu":"16","requests.nvidia.com/gpu":"8"}},"metadata":{"namespace":"vision",
            "name":"grant"},"apiVersion":"v1","kind":"ResourceQuota"}"#;
        let other = Manifest::from_json(serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(one.to_yaml(), other.to_yaml());
        assert_eq!(one.fingerprint(), other.fingerprint());
    }

    #[test]
    fn the_fingerprint_is_of_the_object_without_its_fingerprint() {
        let plain = Manifest::from_json(quota()).unwrap();
        let marked = plain.clone().with_fingerprint();
        assert_eq!(marked.body["metadata"]["annotations"][labels::FINGERPRINT], plain.fingerprint());
        assert_eq!(marked.fingerprint(), plain.fingerprint());
        assert_eq!(marked.clone().with_fingerprint(), marked);
        let mut changed = quota();
        changed["spec"]["hard"]["cpu"] = json!("17");
        assert_ne!(Manifest::from_json(changed).unwrap().fingerprint(), plain.fingerprint());
    }

    #[test]
    fn an_object_that_cannot_be_written_is_refused_with_the_field() {
        let refused = |change: fn(&mut Value)| {
            let mut body = quota();
            change(&mut body);
            Manifest::from_json(body).unwrap_err().to_string()
        };
        assert!(refused(|body| body["metadata"]["name"] = Value::Null).contains("metadata.name"));
        assert!(refused(|body| body["kind"] = json!("Secret")).contains("v1 Secret is not a kind"));
        assert_eq!(
            refused(|body| body["metadata"]["namespace"] = Value::Null),
            "ResourceQuota grant must have a namespace"
        );
        assert_eq!(
            refused(|body| body["kind"] = json!("Namespace")),
            "Namespace grant must not have a namespace"
        );
    }

    #[test]
    fn keys_sort_by_group_kind_namespace_and_name() {
        let key = |api_version: &str, kind: &str, namespace: Option<&str>, name: &str| Key {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        };
        let sorted = [
            key("gpuaas.io/v1alpha1", "TenantPolicy", Some("a"), "tenant"),
            key("v1", "LimitRange", Some("b"), "a"),
            key("v1", "Namespace", None, "z"),
            key("v1", "ResourceQuota", Some("a"), "b"),
            key("v1", "ResourceQuota", Some("b"), "a"),
        ];
        let mut shuffled = sorted.to_vec();
        shuffled.reverse();
        shuffled.sort();
        assert_eq!(shuffled, sorted);
        assert_eq!(sorted[0].to_string(), "gpuaas.io/v1alpha1 TenantPolicy a/tenant");
    }

    #[test]
    fn yaml_reads_back_as_the_same_object() {
        let manifest = Manifest::from_json(quota()).unwrap();
        let text = format!("---\n{}---\n{}", manifest.to_yaml(), manifest.to_yaml());
        assert_eq!(Manifest::from_yaml_documents(&text).unwrap(), [manifest.clone(), manifest]);
    }
}
