//! What others change is put right, and what the API server writes differently is not taken for a change.

use std::time::{Duration, Instant};

use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::site::{GPU, desired, live, site};

#[tokio::test]
async fn drift_is_told_with_its_author_and_repaired_with_one_request_each() {
    let site = site().await;
    let name = "drifting";
    let plan = desired(name, &[(GPU, 2)]);
    site.member.enforce(&plan).await.unwrap();

    let policies: Api<NetworkPolicy> = Api::namespaced(site.admin.clone(), name);
    let bindings: Api<RoleBinding> = Api::namespaced(site.admin.clone(), name);
    let begin = Instant::now();
    policies.delete("gpuaas-ingress", &Default::default()).await.unwrap();
    let stranger =
        json!({"subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "stranger"}]});
    let by_hand = PatchParams { field_manager: Some("kubectl-edit".to_owned()), ..PatchParams::default() };
    bindings.patch("gpuaas-lead", &by_hand, &Patch::Merge(stranger)).await.unwrap();
    let mut found = Vec::new();
    let wait = async {
        while found.len() < 2 {
            let all = site.member.drifted().await;
            found.extend(all.into_iter().filter(|drift| drift.object.namespace.as_deref() == Some(name)));
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait).await.unwrap();
    assert!(
        found.iter().any(|drift| drift.object.name == "gpuaas-ingress" && drift.by.is_none()),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .any(|drift| drift.object.name == "gpuaas-lead" && drift.by.as_deref() == Some("kubectl-edit")),
        "{found:?}"
    );
    let repaired = site.member.enforce(&plan).await.unwrap();
    eprintln!("drift to repaired: {:?}", begin.elapsed());
    assert_eq!(repaired.sent, 2);
    let subjects = bindings.get("gpuaas-lead").await.unwrap().subjects.unwrap();
    assert_eq!(subjects.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["gpuaas:drifting:lead"]);
    assert!(policies.get_opt("gpuaas-ingress").await.unwrap().is_some());
    assert_eq!(site.member.enforce(&plan).await.unwrap().sent, 0);
}

/// Changes an object by hand and repeats the pass until `clean` holds: the watch tells of the edit a moment later.
async fn edit_and_repair(resource: (&str, &str, &str, &str), change: Value, clean: impl Fn(&Value) -> bool) {
    let (name, version, kind, plural) = resource;
    let object = if kind == "TenantPolicy" { "tenant" } else { "gpuaas" };
    let site = site().await;
    let plan = desired(name, &[(GPU, 2)]);
    site.member.enforce(&plan).await.unwrap();
    let (group, short) = version.split_once('/').unwrap_or(("", version));
    let known = ApiResource {
        group: group.to_owned(),
        version: short.to_owned(),
        api_version: version.to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    let api: Api<DynamicObject> = Api::namespaced_with(site.admin.clone(), name, &known);
    let by_hand = PatchParams { field_manager: Some("kubectl-edit".to_owned()), ..PatchParams::default() };
    let edited = api.patch(object, &by_hand, &Patch::Merge(change)).await.unwrap();
    assert!(!clean(&edited.data), "the edit itself");
    let repaired = async {
        while !clean(&api.get(object).await.unwrap().data) {
            site.member.enforce(&plan).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), repaired).await.unwrap();
    assert_eq!(site.member.enforce(&plan).await.unwrap().sent, 0, "it comes to rest");
}

#[tokio::test]
async fn foreign_entries_in_the_lists_of_a_tenant_policy_are_gone_after_the_repair() {
    let change = json!({"spec": {
        "schedulers": ["default-scheduler", "evil"],
        "resources": [{"name": GPU}, {"name": "example.com/evil"}],
    }});
    let resource = ("drifting-policy", "gpuaas.io/v1alpha1", "TenantPolicy", "tenantpolicies");
    edit_and_repair(resource, change, |live| {
        let resources = live["spec"]["resources"].as_array().unwrap();
        live["spec"]["schedulers"] == json!(["default-scheduler"])
            && resources.iter().all(|one| one["name"] != "example.com/evil")
            && resources.iter().any(|one| one["name"] == GPU)
    })
    .await;
}

#[tokio::test]
async fn foreign_limits_in_our_quota_are_gone_after_the_repair() {
    let change = json!({"spec": {"hard": {"count/configmaps": "5", "count/secrets": "5"}}});
    edit_and_repair(("drifting-quota", "v1", "ResourceQuota", "resourcequotas"), change, |live| {
        let hard = live["spec"]["hard"].as_object().unwrap();
        !hard.contains_key("count/configmaps")
            && !hard.contains_key("count/secrets")
            && hard["requests.nvidia.com/gpu"] == "2"
    })
    .await;
}

#[tokio::test]
async fn case_41_amounts_that_the_api_server_writes_differently_are_no_difference() {
    let site = site().await;
    let name = "case41-iris";
    let mut plan = desired(name, &[(GPU, 8)]);
    let quota = plan.guard.iter_mut().find(|manifest| manifest.kind == "ResourceQuota").unwrap();
    let hard = quota.body["spec"]["hard"].as_object_mut().unwrap();
    hard.insert("requests.cpu".to_owned(), json!("12000m"));
    hard.insert("requests.memory".to_owned(), json!("1024Mi"));
    hard.insert("requests.ephemeral-storage".to_owned(), json!("1000M"));
    // The default service account has to be there; cpu and memory have to be said, as the planned limit range does.
    plan.probes.clear();
    site.member.enforce(&plan).await.unwrap();
    let stored = live(&site.admin, "v1", "ResourceQuota", "resourcequotas", name, "gpuaas").await.unwrap();
    assert_eq!(stored["status"]["hard"]["requests.memory"], "1Gi", "the API server writes its own way");
    assert_eq!(site.member.enforce(&plan).await.unwrap().sent, 0);
    let version = |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let again = live(&site.admin, "v1", "ResourceQuota", "resourcequotas", name, "gpuaas").await.unwrap();
    assert_eq!(version(&again), version(&stored));
    // What our own templates write is canonical from the first.
    let whole = plan::desired(&super::site::tenancy(name, &[(GPU, 8)]));
    assert_eq!(whole, plan::desired(&super::site::tenancy(name, &[(GPU, 8)])));
}
