use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

/// One right: group, resource, verb, name (empty for all).
type Right = (String, String, String, String);

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|item| item.as_str().unwrap().to_owned()).collect()
}

fn rights(kind: &str, name: &str) -> BTreeSet<Right> {
    let objects = objects();
    let role = objects.iter().find(|object| object.kind == kind && object.name == name).unwrap();
    let mut rights = BTreeSet::new();
    for rule in role.body["rules"].as_array().unwrap() {
        let mut names = strings(&rule["resourceNames"]);
        if names.is_empty() {
            names.push(String::new());
        }
        for group in strings(&rule["apiGroups"]) {
            for resource in strings(&rule["resources"]) {
                for verb in strings(&rule["verbs"]) {
                    for name in &names {
                        rights.insert((group.clone(), resource.clone(), verb.clone(), name.clone()));
                    }
                }
            }
        }
    }
    rights
}

fn expected(table: &[(&str, &str, &str, &str)]) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    for (group, resources, verbs, names) in table {
        for resource in resources.split(' ') {
            for verb in verbs.split(' ') {
                for name in names.split(' ') {
                    rights.insert((
                        (*group).to_owned(),
                        resource.to_owned(),
                        verb.to_owned(),
                        name.to_owned(),
                    ));
                }
            }
        }
    }
    rights
}

const READ: &str = "get list watch";
const KEEP: &str = "get list watch create patch delete";

#[test]
fn every_file_of_the_chart_is_registered() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/gpuaas/files");
    let on_disk: BTreeSet<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let included: BTreeSet<_> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(on_disk, included);
    assert_eq!(included.len(), FILES.len());
}

#[test]
fn what_others_need_comes_first() {
    let order = [
        "Namespace",
        "CustomResourceDefinition",
        "ClusterRole",
        "Role",
        "ServiceAccount",
        "ClusterRoleBinding",
        "RoleBinding",
        "FlowSchema",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ];
    // Roles of both kinds are one step, and so are their bindings.
    let step = |kind: &str| match order.iter().position(|other| *other == kind).unwrap() {
        3 => 2,
        6 => 5,
        other => other,
    };
    let objects = objects();
    let steps: Vec<_> = objects.iter().map(|object| step(&object.kind)).collect();
    assert!(steps.is_sorted(), "{steps:?}");
    let keys: BTreeSet<_> = objects.iter().map(Manifest::key).collect();
    assert_eq!(keys.len(), objects.len(), "an object is there twice");
}

#[test]
fn every_policy_has_one_binding() {
    let of = |kind: &str, pointer: &str| -> Vec<String> {
        objects()
            .iter()
            .filter(|object| object.kind == kind)
            .map(|object| object.body.pointer(pointer).unwrap().as_str().unwrap().to_owned())
            .collect()
    };
    let policies = of("ValidatingAdmissionPolicy", "/metadata/name");
    assert_eq!(policies, of("ValidatingAdmissionPolicyBinding", "/spec/policyName"));
    assert_eq!(policies.len(), 9);
}

#[test]
fn the_emitter_has_exactly_these_rights() {
    let roles = "gpuaas-tenant-viewer gpuaas-tenant-user gpuaas-tenant-admin gpuaas-runner";
    assert_eq!(
        rights("ClusterRole", "gpuaas-emitter"),
        expected(&[
            ("", "namespaces", "get list watch create patch", ""),
            ("", "resourcequotas limitranges serviceaccounts podtemplates", KEEP, ""),
            ("", "resourcequotas/status", "get patch", ""),
            ("", "pods nodes", READ, ""),
            ("networking.k8s.io", "networkpolicies", KEEP, ""),
            ("rbac.authorization.k8s.io", "rolebindings", KEEP, ""),
            ("rbac.authorization.k8s.io", "clusterroles", "bind", roles),
            ("k8s.cni.cncf.io", "network-attachment-definitions", KEEP, ""),
            ("gpuaas.io", "tenantpolicies", KEEP, ""),
            ("resource.k8s.io", "deviceclasses resourceslices resourceclaims", READ, ""),
            ("scheduling.k8s.io", "priorityclasses", READ, ""),
            (
                "admissionregistration.k8s.io",
                "validatingadmissionpolicies validatingadmissionpolicybindings mutatingadmissionpolicies \
                 mutatingadmissionpolicybindings",
                READ,
                "",
            ),
            ("events.k8s.io", "events", "create patch", ""),
        ])
    );
    assert_eq!(
        rights("Role", "gpuaas-emitter"),
        expected(&[
            ("coordination.k8s.io", "leases", "get create update patch", ""),
            ("", "serviceaccounts/token", "create", "gpuaas-emitter gpuaas-probe gpuaas-runner"),
        ])
    );
}

#[test]
fn probe_and_runner_have_exactly_these_rights() {
    assert_eq!(
        rights("ClusterRole", "gpuaas-probe"),
        expected(&[
            ("", "pods persistentvolumeclaims", "create", ""),
            ("resource.k8s.io", "resourceclaims", "create", ""),
        ])
    );
    assert_eq!(
        rights("ClusterRole", "gpuaas-runner"),
        expected(&[
            ("batch", "jobs", KEEP, ""),
            ("", "services", KEEP, ""),
            ("", "pods pods/log podtemplates events", READ, ""),
        ])
    );
    let bound: Vec<_> = objects()
        .into_iter()
        .filter(|object| {
            object.kind.ends_with("RoleBinding") && object.body["roleRef"]["name"] == "gpuaas-runner"
        })
        .collect();
    assert_eq!(bound, [], "the runner is bound in namespaces of tenants only");
}

/// All that the emitter may write in a namespace is watched by the policy that keeps it to namespaces of tenants.
#[test]
fn the_guard_of_the_emitter_covers_all_that_it_may_write() {
    let objects = objects();
    let guarded = |policy: &str| -> BTreeSet<(String, String)> {
        let policy = objects
            .iter()
            .find(|object| object.kind == "ValidatingAdmissionPolicy" && object.name == policy)
            .unwrap();
        policy.body["spec"]["matchConstraints"]["resourceRules"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|rule| {
                let group = strings(&rule["apiGroups"]).remove(0);
                strings(&rule["resources"]).into_iter().map(move |resource| (group.clone(), resource))
            })
            .collect()
    };
    let written: BTreeSet<_> = rights("ClusterRole", "gpuaas-emitter")
        .into_iter()
        .filter(|(_, resource, verb, _)| {
            ["create", "patch", "delete"].contains(&verb.as_str())
                && resource != "namespaces"
                && resource != "events"
        })
        .map(|(group, resource, ..)| (group, resource))
        .collect();
    assert_eq!(written, guarded("gpuaas-emitter-objects"));
    assert!(guarded("gpuaas-emitter-namespaces").contains(&(String::new(), "namespaces".to_owned())));
}

#[test]
fn tenants_have_nothing_that_leads_out_of_their_namespace() {
    let write = ["create", "update", "patch", "delete", "deletecollection"];
    let never_written = [
        "pods/status",
        "pods/binding",
        "pods/eviction",
        "bindings",
        "resourceclaims/status",
        "namespaces",
        "nodes",
        "network-attachment-definitions",
        "networkpolicies",
        "endpoints",
        "endpointslices",
        "resourcequotas",
        "limitranges",
        "roles",
        "rolebindings",
        "clusterroles",
        "clusterrolebindings",
        "serviceaccounts/token",
        "podtemplates",
        "localqueues",
        "workloads",
    ];
    for role in ["gpuaas-tenant-viewer", "gpuaas-tenant-user", "gpuaas-tenant-admin"] {
        for (group, resource, verb, name) in rights("ClusterRole", role) {
            let right = format!("{role}: {verb} {resource}.{group} {name}");
            assert!(
                !["escalate", "bind", "impersonate", "approve", "sign", "*"].contains(&verb.as_str()),
                "{right}"
            );
            assert!(!resource.contains('*') && group != "*", "{right}");
            assert!(group != "gpuaas.io", "{right}");
            assert!(
                !["namespaces", "nodes", "bindings", "pods/binding", "pods/status"]
                    .contains(&resource.as_str()),
                "{right}"
            );
            assert!(
                !(write.contains(&verb.as_str()) && never_written.contains(&resource.as_str())),
                "{right}"
            );
            if role == "gpuaas-tenant-viewer" {
                assert!(
                    ["get", "list", "watch"].contains(&verb.as_str()) && resource != "secrets",
                    "{right}"
                );
            }
        }
    }
}

#[test]
fn each_role_of_tenants_has_all_rights_of_the_one_before() {
    let [viewer, user, admin] =
        ["viewer", "user", "admin"].map(|role| rights("ClusterRole", &format!("gpuaas-tenant-{role}")));
    assert!(viewer.is_subset(&user) && viewer.len() < user.len());
    assert!(user.is_subset(&admin) && user.len() < admin.len());
}

#[test]
fn our_identities_have_no_right_to_more_rights() {
    for role in ["gpuaas-emitter", "gpuaas-probe", "gpuaas-runner"] {
        for (group, resource, verb, name) in rights("ClusterRole", role) {
            let right = format!("{role}: {verb} {resource}.{group} {name}");
            assert!(!["escalate", "impersonate", "*"].contains(&verb.as_str()), "{right}");
            assert!(verb != "bind" || !name.is_empty(), "{right}");
            assert!(
                !["secrets", "roles", "clusterrolebindings", "pods/exec"].contains(&resource.as_str()),
                "{right}"
            );
            assert!(!resource.contains('*') && group != "*", "{right}");
        }
    }
}

/// The names in the expressions of the guards are those of the accounts.
#[test]
fn the_guards_know_the_accounts_by_their_name() {
    let objects = objects();
    for (policy, account) in [
        ("gpuaas-emitter-namespaces", "gpuaas-emitter"),
        ("gpuaas-emitter-objects", "gpuaas-emitter"),
        ("gpuaas-probe-dry-run", "gpuaas-probe"),
    ] {
        let account =
            objects.iter().find(|object| object.kind == "ServiceAccount" && object.name == account).unwrap();
        let user =
            format!("'system:serviceaccount:{}:{}'", account.namespace.as_deref().unwrap(), account.name);
        let policy = objects.iter().find(|object| object.name == policy).unwrap();
        let condition = policy.body["spec"]["matchConditions"][0]["expression"].as_str().unwrap();
        assert!(condition.contains(&user), "{condition}");
    }
}
