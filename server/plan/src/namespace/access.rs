//! Who may use the namespace.

use k8s_openapi::api::rbac::v1::{RoleBinding, RoleRef, Subject};

use super::{manifest, metadata};
use crate::{manifest::Manifest, tenancy::Tenancy};

/// Role in the team, and the static `ClusterRole` that it has in its namespaces.
const ROLES: [(&str, &str); 3] =
    [("viewer", "gpuaas-tenant-viewer"), ("member", "gpuaas-tenant-user"), ("lead", "gpuaas-tenant-admin")];

const RBAC: &str = "rbac.authorization.k8s.io";

/// One binding for each role. The subjects are groups, so that a change of members writes nothing here.
pub(super) fn role_bindings(t: &Tenancy) -> Vec<Manifest> {
    ROLES
        .iter()
        .map(|(role, cluster_role)| {
            manifest(&RoleBinding {
                metadata: metadata(t, format!("gpuaas-{role}")),
                role_ref: RoleRef {
                    api_group: Some(RBAC.to_owned()),
                    kind: "ClusterRole".to_owned(),
                    name: (*cluster_role).to_owned(),
                },
                subjects: Some(vec![Subject {
                    api_group: Some(RBAC.to_owned()),
                    kind: "Group".to_owned(),
                    name: format!("gpuaas:{}:{role}", t.team),
                    namespace: None,
                }]),
            })
        })
        .collect()
}
