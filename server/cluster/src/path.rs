//! Where an object is in the API.

use plan::manifest::{Key, ManifestError, known_kind};

/// Path of the object.
///
/// # Errors
/// If the kind is not one that gpuaas writes.
pub(crate) fn of(key: &Key) -> Result<String, ManifestError> {
    Ok(format!("{}/{}", collection(key)?, key.name))
}

/// Path of the collection that the object is in.
///
/// # Errors
/// As [`of`].
pub(crate) fn collection(key: &Key) -> Result<String, ManifestError> {
    let kind = known_kind(&key.api_version, &key.kind)?;
    let root = if kind.group.is_empty() { "api" } else { "apis" };
    let namespace = match &key.namespace {
        Some(namespace) => format!("/namespaces/{namespace}"),
        None => String::new(),
    };
    Ok(format!("/{root}/{}{namespace}/{}", key.api_version, kind.plural))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_core_and_of_groups() {
        let key = |api: &str, kind: &str, namespace: Option<&str>| Key {
            api_version: api.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: "x".to_owned(),
        };
        assert_eq!(of(&key("v1", "Namespace", None)).unwrap(), "/api/v1/namespaces/x");
        assert_eq!(
            of(&key("gpuaas.io/v1alpha1", "TenantPolicy", Some("vision"))).unwrap(),
            "/apis/gpuaas.io/v1alpha1/namespaces/vision/tenantpolicies/x"
        );
        assert!(of(&key("v1", "Secret", Some("vision"))).is_err());
    }
}
