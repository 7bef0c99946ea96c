//! Names and fields that belong to others.

use cluster::EnforceError;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ResourceQuota};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::site::{GPU, desired, eventually, quota, role_bindings, site};

async fn namespace(client: &Client, name: &str, labels: Value) {
    let object: Namespace =
        serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &object).await.unwrap();
}

/// The reason why the plan is blocked, once the watch has told of what is in the way.
async fn known(site: &super::site::Site, plan: &plan::Desired, text: &str) -> String {
    eventually(text, || async {
        match site.member.enforce(plan).await {
            Err(EnforceError::Blocked { reason }) => Some(reason).filter(|reason| reason.contains(text)),
            Ok(_) | Err(EnforceError::Cluster(_)) => None,
        }
    })
    .await
}

#[tokio::test]
async fn a_foreign_namespace_is_left_alone_until_it_is_handed_over() {
    let site = site().await;
    namespace(&site.admin, "foreign", json!({"owner": "others"})).await;
    let plan = desired("foreign", &[(GPU, 2)]);
    let reason = known(&site, &plan, "not a tenant's").await;
    assert!(reason.contains("kubectl label namespace foreign gpuaas.io/tenant=foreign"), "{reason}");
    assert!(quota(&site.admin, "foreign").await.is_none());

    let all: Api<Namespace> = Api::all(site.admin.clone());
    let label = |tenant: &str| json!({"metadata": {"labels": {"gpuaas.io/tenant": tenant}}});
    all.patch("foreign", &PatchParams::default(), &Patch::Merge(label("language"))).await.unwrap();
    known(&site, &plan, "belongs to tenant `language`").await;
    all.patch("foreign", &PatchParams::default(), &Patch::Merge(label("foreign"))).await.unwrap();
    eventually("the namespace to be taken over", || async { site.member.enforce(&plan).await.ok() }).await;
    let labels = all.get("foreign").await.unwrap().metadata.labels.unwrap();
    assert_eq!(labels["owner"], "others");
    assert_eq!(labels["app.kubernetes.io/managed-by"], "gpuaas");
}

#[tokio::test]
async fn case_37_conflicts_are_told_and_taken_over_only_once_handed_over() {
    let site = site().await;
    let name = "case37-iris";
    namespace(&site.admin, name, json!({"gpuaas.io/tenant": name})).await;
    let spaces: Api<Namespace> = Api::all(site.admin.clone());
    let istio = json!({"metadata": {"labels": {"istio-injection": "enabled"}}});
    let by =
        |manager: &str| PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    spaces.patch(name, &by("kubectl-edit"), &Patch::Merge(istio)).await.unwrap();
    let quotas: Api<ResourceQuota> = Api::namespaced(site.admin.clone(), name);
    let theirs: ResourceQuota = serde_json::from_value(json!({
        "metadata": {"name": "gpuaas"}, "spec": {"hard": {"requests.nvidia.com/gpu": "12"}},
    }))
    .unwrap();
    let as_kubectl =
        PostParams { field_manager: Some("kubectl-client-side-apply".to_owned()), ..PostParams::default() };
    quotas.create(&as_kubectl, &theirs).await.unwrap();

    let plan = desired(name, &[(GPU, 8)]);
    let reason = known(&site, &plan, "others own fields").await;
    for text in [
        ".spec.hard.requests.nvidia.com/gpu",
        "kubectl-client-side-apply",
        "kubectl label resourcequota gpuaas --namespace case37-iris app.kubernetes.io/managed-by=gpuaas",
    ] {
        assert!(reason.contains(text), "{reason}");
    }
    assert_eq!(quota(&site.admin, name).await.unwrap()["spec"]["hard"]["requests.nvidia.com/gpu"], "12");
    assert!(role_bindings(&site.admin, name).await.is_empty());

    let label = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "gpuaas"}}});
    quotas.patch("gpuaas", &by("kubectl-label"), &Patch::Merge(label)).await.unwrap();
    eventually("the quota to be taken over", || async { site.member.enforce(&plan).await.ok() }).await;
    let live = quotas.get("gpuaas").await.unwrap();
    let hard = live.spec.clone().unwrap().hard.unwrap();
    assert_eq!(hard["requests.nvidia.com/gpu"].0, "8");
    let owners: Vec<_> = live
        .managed_fields()
        .iter()
        .filter(|entry| entry.subresource.is_none())
        .filter(|entry| serde_json::to_string(&entry.fields_v1).unwrap().contains("requests.nvidia.com/gpu"))
        .map(|entry| entry.manager.clone().unwrap_or_default())
        .collect();
    assert_eq!(owners, ["gpuaas"]);
    assert_eq!(spaces.get(name).await.unwrap().labels()["istio-injection"], "enabled");
    assert_eq!(site.member.enforce(&plan).await.unwrap().sent, 0, "no later conflict");
}

#[tokio::test]
async fn case_37_what_argo_cd_writes_is_not_written_directly() {
    let site = site().await;
    let name = "case37-git";
    let plan = desired(name, &[(GPU, 8)]);
    let mut space = plan.guard[0].body.clone();
    space["metadata"]["labels"]["argocd.argoproj.io/instance"] = json!("fleet");
    let spaces: Api<Namespace> = Api::all(site.admin.clone());
    spaces.patch(name, &PatchParams::apply("argocd-controller"), &Patch::Apply(space)).await.unwrap();
    let reason = known(&site, &plan, "git mode").await;
    assert!(reason.contains("argocd-controller"), "{reason}");
    assert!(quota(&site.admin, name).await.is_none());
}

#[tokio::test]
async fn case_40_a_name_in_state_terminating_is_refused_and_no_finalizer_is_taken_off() {
    let site = site().await;
    let name = "case40-iris";
    let plan = desired(name, &[(GPU, 1)]);
    site.member.enforce(&plan).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(site.admin.clone(), name);
    let kept: ConfigMap = serde_json::from_value(
        json!({"metadata": {"name": "datasets", "finalizers": ["example.org/cleanup"]}}),
    )
    .unwrap();
    maps.create(&PostParams::default(), &kept).await.unwrap();
    let spaces: Api<Namespace> = Api::all(site.admin.clone());
    spaces.delete(name, &Default::default()).await.unwrap();

    let reason = known(&site, &plan, "state Terminating").await;
    assert!(reason.contains("in use until it is gone"), "{reason}");
    // The namespace's own words come with the controller's next look.
    known(&site, &plan, "example.org/cleanup").await;
    assert_eq!(maps.get("datasets").await.unwrap().finalizers(), ["example.org/cleanup"]);

    let free = json!({"metadata": {"finalizers": null}});
    maps.patch("datasets", &PatchParams::default(), &Patch::Merge(free)).await.unwrap();
    eventually("the namespace to be gone", || async {
        spaces.get_opt(name).await.ok()?.is_none().then_some(())
    })
    .await;
    eventually("the name to be free", || async { site.member.enforce(&plan).await.ok() }).await;
    assert_eq!(role_bindings(&site.admin, name).await.len(), 3);
}
