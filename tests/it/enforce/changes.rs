//! Grants that change, and access that ends.

use k8s_openapi::api::batch::v1::Job;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::site::{
    GPU, SLICE, clear, create, desired, eventually, hard, pod, pods, quota, role_bindings, site,
    with_partition,
};

async fn limits(client: &Client, namespace: &str) -> [Option<String>; 2] {
    [hard(client, namespace, GPU).await, hard(client, namespace, SLICE).await]
}

fn texts(limits: [Option<String>; 2]) -> [String; 2] {
    limits.map(|limit| limit.unwrap_or_else(|| "absent".to_owned()))
}

#[tokio::test]
async fn case_38_every_change_reaches_the_cluster() {
    let site = site().await;
    let name = "case38-iris";
    let steps = [
        ([(GPU, 4), (SLICE, 7)], ["4", "7"]),
        ([(GPU, 6), (SLICE, 7)], ["6", "7"]),
        ([(GPU, 6), (SLICE, 0)], ["6", "0"]),
        ([(GPU, 0), (SLICE, 0)], ["0", "0"]),
    ];
    for (grants, want) in steps {
        site.member.enforce(&desired(name, &grants)).await.unwrap();
        assert_eq!(texts(limits(&site.admin, name).await), want);
    }
    assert!(role_bindings(&site.admin, name).await.is_empty());

    let plan = desired(name, &[(GPU, 6), (SLICE, 7)]);
    site.member.enforce(&plan).await.unwrap();
    let quotas: Api<k8s_openapi::api::core::v1::ResourceQuota> = Api::namespaced(site.admin.clone(), name);
    quotas.delete("gpuaas", &Default::default()).await.unwrap();
    let drift = seen(&site, name).await;
    assert!(drift.iter().any(|one| one.object.kind == "ResourceQuota" && one.by.is_none()), "{drift:?}");
    site.member.enforce(&plan).await.unwrap();
    assert_eq!(texts(limits(&site.admin, name).await), ["6", "7"]);

    let edit = json!({"spec": {"hard": {"requests.nvidia.com/gpu": "64"}}});
    let by_hand = PatchParams { field_manager: Some("kubectl-edit".to_owned()), ..PatchParams::default() };
    quotas.patch("gpuaas", &by_hand, &Patch::Merge(edit)).await.unwrap();
    let drift = seen(&site, name).await;
    assert!(drift.iter().any(|one| one.by.as_deref() == Some("kubectl-edit")), "{drift:?}");
    let repaired = site.member.enforce(&plan).await.unwrap();
    assert_eq!(repaired.sent, 1);
    assert_eq!(texts(limits(&site.admin, name).await), ["6", "7"]);
}

/// Drift in one namespace; other tests share the cluster.
async fn seen(site: &super::site::Site, namespace: &str) -> Vec<cluster::Drift> {
    let wait = async {
        loop {
            let mut all = site.member.drifted().await;
            all.retain(|drift| drift.object.namespace.as_deref() == Some(namespace));
            if !all.is_empty() {
                return all;
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), wait).await.unwrap()
}

#[tokio::test]
async fn withdrawal_closes_the_quota_before_access_goes_and_keeps_the_namespace() {
    let site = site().await;
    let name = "withdrawn";
    let open = plan::desired(&with_partition(name, &[(GPU, 4)], 4));
    site.member.enforce(&open).await.unwrap();
    let running = create(&site.admin, name, &pod(GPU, 2, Some("h100"))).await.unwrap();

    let mark = site.cluster.audit_mark().unwrap();
    site.member.enforce(&desired(name, &[(GPU, 0)])).await.unwrap();
    assert!(role_bindings(&site.admin, name).await.is_empty());
    assert_eq!(hard(&site.admin, name, GPU).await.as_deref(), Some("0"));
    pods(&site.admin, name).get(&running).await.unwrap();
    let audit = site.cluster.audit_since(mark).unwrap();
    let steps: Vec<_> = audit
        .of(super::site::EMITTER)
        .filter(|entry| entry.is_write() && entry.namespace == name)
        .map(|entry| (entry.resource.as_str(), entry.verb.as_str()))
        .collect();
    assert_eq!(steps[..2], [("resourcequotas", "patch"), ("tenantpolicies", "patch")], "{steps:?}");
    assert_eq!(steps[2..5], [("rolebindings", "delete"); 3], "{steps:?}");
    assert!(steps.contains(&("network-attachment-definitions", "delete")), "{steps:?}");
    assert!(steps.iter().all(|(resource, verb)| *verb != "delete" || *resource != "resourcequotas"));

    let refused = create(&site.admin, name, &pod(GPU, 1, Some("h100"))).await.unwrap_err();
    assert!(refused.contains("not granted"), "{refused}");
    site.member.enforce(&open).await.unwrap();
    assert_eq!(role_bindings(&site.admin, name).await.len(), 3);
    clear(&site.admin, name).await;
}

#[tokio::test]
async fn lowering_below_use_evicts_nobody_and_admits_nobody() {
    let site = site().await;
    let name = "lowered";
    site.member.enforce(&desired(name, &[(GPU, 6)])).await.unwrap();
    let running = create(&site.admin, name, &pod(GPU, 5, Some("h100"))).await.unwrap();
    let done = site.member.enforce(&desired(name, &[(GPU, 2)])).await.unwrap();
    assert!(done.answers.iter().any(|answer| answer.asked == "1 × nvidia.com/gpu (2 granted)"), "{done:?}");
    pods(&site.admin, name).get(&running).await.unwrap();
    let refused = create(&site.admin, name, &pod(GPU, 1, Some("h100"))).await.unwrap_err();
    assert!(
        refused.contains("used: requests.nvidia.com/gpu=5, limited: requests.nvidia.com/gpu=2"),
        "{refused}"
    );
    let facts = site.member.facts();
    let usage = facts.namespaces[name].resources.iter().find(|(name, _)| name.as_str() == GPU).unwrap().1;
    assert_eq!((usage.hard, usage.charged, usage.pending), (Some(2), 5, 5));
    // Pods without devices are not hindered by the limit on devices.
    create(&site.admin, name, &pod("memory", 1, None)).await.unwrap();
    clear(&site.admin, name).await;
    eventually("use to fall", || async {
        (quota(&site.admin, name).await?["status"]["used"]["requests.nvidia.com/gpu"] == "0").then_some(())
    })
    .await;
    create(&site.admin, name, &pod(GPU, 2, Some("h100"))).await.unwrap();
    clear(&site.admin, name).await;
}

#[tokio::test]
async fn a_finished_job_goes_away_after_the_grant_was_narrowed() {
    let site = site().await;
    let name = "narrowed";
    site.member.enforce(&desired(name, &[(GPU, 2), (SLICE, 2)])).await.unwrap();
    let jobs: Api<Job> = Api::namespaced(site.admin.clone(), name);
    let job: Job = serde_json::from_value(json!({
        "metadata": {"name": "training"},
        "spec": {"ttlSecondsAfterFinished": 0, "template": {"spec": {
            "restartPolicy": "Never", "nodeSelector": {"gpuaas.io/pool": "a100"},
            "containers": [{"name": "main", "image": "none", "resources": {"limits": {SLICE: "1"}}}],
        }}},
    }))
    .unwrap();
    jobs.create(&PostParams::default(), &job).await.unwrap();
    let all = pods(&site.admin, name);
    let of_job = eventually("the pod of the job", || async {
        all.list(&Default::default()).await.ok()?.items.first().map(ResourceExt::name_any)
    })
    .await;
    site.member.enforce(&desired(name, &[(GPU, 2), (SLICE, 0)])).await.unwrap();
    let ended: Value = json!({"status": {"phase": "Succeeded"}});
    all.patch_status(&of_job, &PatchParams::default(), &Patch::Merge(ended)).await.unwrap();
    eventually("the job and its pod to be gone", || async {
        let gone =
            jobs.get_opt("training").await.ok()?.is_none() && all.get_opt(&of_job).await.ok()?.is_none();
        gone.then_some(())
    })
    .await;
}
