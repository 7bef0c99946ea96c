//! Rules for gpuaas itself. RBAC can limit neither `create` by name or namespace, nor a user to dry runs; these
//! policies do, so that a stolen token of the emitter or the probe is worth little.

use super::{CREATE, Match, Mode, Policy, Validation, Variable, validation, variable};
use crate::labels;

const ALL_WRITES: &[&str] = &["CREATE", "UPDATE", "DELETE"];

fn user(name: &str) -> Variable {
    variable(
        "our-own",
        format!("request.userInfo.username == 'system:serviceaccount:{}:{name}'", labels::SYSTEM_NAMESPACE),
    )
}

/// The policies for the emitter and the probe.
pub(super) fn policies() -> Vec<Policy> {
    vec![
        guard("gpuaas-emitter-namespaces", "gpuaas-emitter", namespaces(), namespace_validations()),
        guard("gpuaas-emitter-objects", "gpuaas-emitter", objects(), object_validations()),
        guard(
            "gpuaas-probe-dry-run",
            "gpuaas-probe",
            vec![
                Match("", "v1", CREATE, &["pods", "persistentvolumeclaims"]),
                Match("resource.k8s.io", "v1", CREATE, &["resourceclaims"]),
            ],
            vec![validation(
                "request.?dryRun.orValue(false)",
                "the probe may create objects in dry runs only; add dryRun=All",
            )],
        ),
    ]
}

fn guard(name: &'static str, account: &str, matches: Vec<Match>, validations: Vec<Validation>) -> Policy {
    Policy {
        name,
        mode: Mode::Enforce,
        param: None,
        namespaces: vec![],
        matches,
        conditions: vec![user(account)],
        variables: vec![],
        validations,
    }
}

fn namespaces() -> Vec<Match> {
    vec![Match("", "v1", ALL_WRITES, &["namespaces", "namespaces/status", "namespaces/finalize"])]
}

fn namespace_validations() -> Vec<Validation> {
    let tenant = labels::TENANT;
    vec![
        validation(
            format!(
                "request.operation == 'DELETE' || !(object.metadata.name in ['default', '{}'] || object.metadata.name.startsWith('kube-'))",
                labels::SYSTEM_NAMESPACE
            ),
            "the emitter may not write the namespaces of the platform; choose another name for the tenant's namespace",
        ),
        // A namespace that stands is taken over only after an admin gave it the label, and stays with its tenant.
        validation(
            format!("request.operation == 'CREATE' || '{tenant}' in oldObject.metadata.?labels.orValue({{}})"),
            "the namespace is not a tenant's: it has no label gpuaas.io/tenant; an admin has to set the label before gpuaas may take it over",
        ),
        validation(
            format!(
                "request.operation == 'DELETE' || ('{tenant}' in object.metadata.?labels.orValue({{}})
  && (request.operation == 'CREATE' || object.metadata.labels['{tenant}'] == oldObject.metadata.?labels[?'{tenant}'].orValue('')))"
            ),
            "the emitter may write namespaces only with the label gpuaas.io/tenant, and may not change its value",
        ),
    ]
}

/// All that the emitter's role lets it write in a namespace; a test compares the two.
fn objects() -> Vec<Match> {
    vec![
        Match(
            "",
            "v1",
            ALL_WRITES,
            &["limitranges", "podtemplates", "resourcequotas", "resourcequotas/status", "serviceaccounts"],
        ),
        Match("networking.k8s.io", "v1", ALL_WRITES, &["networkpolicies"]),
        Match("rbac.authorization.k8s.io", "v1", ALL_WRITES, &["rolebindings"]),
        Match("k8s.cni.cncf.io", "v1", ALL_WRITES, &["network-attachment-definitions"]),
        Match("gpuaas.io", "v1alpha1", ALL_WRITES, &["tenantpolicies"]),
    ]
}

fn object_validations() -> Vec<Validation> {
    vec![
        validation(
            format!("'{}' in namespaceObject.metadata.?labels.orValue({{}})", labels::TENANT),
            "the emitter may write only in namespaces of tenants; this one has no label gpuaas.io/tenant",
        ),
        // RBAC lets everybody bind a role whose rights he has himself: the emitter's own would open every quota.
        validation(
            "request.operation == 'DELETE' || request.resource.resource != 'rolebindings' || (
  dyn(object).roleRef.kind == 'ClusterRole' && dyn(object).roleRef.name in [
    'gpuaas-tenant-viewer', 'gpuaas-tenant-user', 'gpuaas-tenant-admin', 'gpuaas-runner'])",
            "the emitter may bind only the ClusterRoles gpuaas-tenant-viewer, gpuaas-tenant-user, gpuaas-tenant-admin and gpuaas-runner",
        ),
    ]
}
