//! Tests that break a cluster have one of their own.

use std::time::Duration;

use cluster::registration::{install, renew};
use cluster::{ClusterError, EnforceError, Link, LinkOptions, Member, MemberOptions};
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;
use k8s_openapi::api::core::v1::{Namespace, ResourceQuota, ServiceAccount};
use kit::cluster::{Cluster, Options};
use kube::api::{Api, PostParams};
use serde_json::json;

use super::race::Hammer;
use super::site::{GPU, create, desired, eventually, hard, options, pod, register, role_bindings};

fn impatient() -> MemberOptions {
    MemberOptions { probe: Duration::from_secs(2), ..options() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_server_is_registered_and_each_wall_stands_alone() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let kubeconfig = &cluster.kubeconfig().text;
    let link = Link::connect(kubeconfig, LinkOptions::default()).await.unwrap();
    let heard = std::sync::Mutex::new(Vec::new());
    let identities = install(&link, kubeconfig, |text| heard.lock().unwrap().push(text)).await.unwrap();
    let heard = heard.into_inner().unwrap();
    assert!(heard.iter().any(|text| text.contains("gpuaas-tenant-pods")), "{heard:?}");
    assert!(identities.expire_at().is_some());
    install(&link, kubeconfig, |_| ()).await.unwrap();

    let emitter = Link::connect(&identities.emitter, LinkOptions::default()).await.unwrap();
    renew(&emitter, kubeconfig).await.unwrap();
    let foreign = plan::manifest::Manifest::from_json(json!({
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "x", "namespace": "default"}, "spec": {"limits": []},
    }));
    let refused = emitter.apply(&foreign.unwrap()).await.unwrap_err();
    assert!(refused.to_string().contains("only in namespaces of tenants"), "{refused}");

    let member = Member::start(&identities, impatient()).await.unwrap();
    walls(&cluster, &member).await;
}

async fn walls(cluster: &Cluster, member: &Member) {
    let admin = cluster.client().await.unwrap();
    let plan = desired("vision", &[(GPU, 4)]);
    member.enforce(&plan).await.unwrap();
    let quotas: Api<ResourceQuota> = Api::namespaced(admin.clone(), "vision");
    quotas.delete("gpuaas", &Default::default()).await.unwrap();
    eventually("the quota to be gone for the API server", || async {
        create(&admin, "vision", &pod(GPU, 5, Some("h100"))).await.ok()
    })
    .await;
    let unlisted = create(&admin, "vision", &pod("example.com/unknown", 1, None)).await.unwrap_err();
    assert!(unlisted.contains("not granted"), "the policy alone: {unlisted}");
    let reason = member.prove(&plan).await.unwrap_err().to_string();
    assert!(reason.contains("does not enforce the quota in namespace vision"), "{reason}");
    member.enforce(&plan).await.unwrap();

    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(admin.clone());
    bindings.delete("gpuaas-tenant-pods", &Default::default()).await.unwrap();
    eventually("the policy to be gone for the API server", || async {
        create(&admin, "vision", &pod("example.com/unknown", 1, None)).await.ok()
    })
    .await;
    let over = create(&admin, "vision", &pod(GPU, 5, None)).await.unwrap_err();
    assert!(over.contains("exceeded quota: gpuaas"), "the quota alone: {over}");
    let reason = member.prove(&plan).await.unwrap_err().to_string();
    assert!(reason.contains("does not enforce the policy in namespace vision"), "{reason}");
    // Nobody gets access to a namespace that is not proved.
    let late = member.enforce(&desired("language", &[(GPU, 1)])).await.unwrap_err();
    assert!(matches!(late, EnforceError::Blocked { .. }), "{late}");
    assert!(role_bindings(&admin, "language").await.is_empty());

    let kubeconfig = &cluster.kubeconfig().text;
    let link = Link::connect(kubeconfig, LinkOptions::default()).await.unwrap();
    install(&link, kubeconfig, |_| ()).await.unwrap();
    member.enforce(&desired("language", &[(GPU, 1)])).await.unwrap();
    member.enforce(&plan).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_goes_away_in_the_middle_loses_nothing() {
    let mut cluster = Cluster::start(Options::default()).await.unwrap();
    let identities = register(&cluster).await;
    let member = std::sync::Arc::new(Member::start(&identities, options()).await.unwrap());
    let names: Vec<String> = (0..12).map(|number| format!("outage-{number}")).collect();
    let work: Vec<_> = names
        .iter()
        .map(|name| {
            let (member, plan) = (member.clone(), desired(name, &[(GPU, 2)]));
            tokio::spawn(async move {
                // As the outbox does: what may work later is done again.
                loop {
                    match member.enforce(&plan).await {
                        Ok(done) => return done,
                        Err(EnforceError::Cluster(error)) if error.is_transient() => {}
                        // The policies answer up to 30 s after a start of the API server.
                        Err(EnforceError::Blocked { reason }) if reason.contains("does not enforce") => {}
                        Err(other) => panic!("{other}"),
                    }
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(150)).await;
    cluster.stop_apiserver().unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    cluster.restart_apiserver().await.unwrap();
    for work in work {
        let done = tokio::time::timeout(Duration::from_secs(120), work).await.unwrap().unwrap();
        assert!(done.answers.iter().all(|answer| answer.refused));
    }
    let admin = cluster.client().await.unwrap();
    for name in &names {
        assert_eq!(role_bindings(&admin, name).await.len(), 3, "{name}");
        assert_eq!(hard(&admin, name, GPU).await.as_deref(), Some("2"), "{name}");
    }
    // The watches are back: what happens now is seen.
    let quotas: Api<ResourceQuota> = Api::namespaced(admin.clone(), "outage-3");
    quotas.delete("gpuaas", &Default::default()).await.unwrap();
    let wait =
        async { while !member.drifted().await.iter().any(|drift| drift.object.kind == "ResourceQuota") {} };
    tokio::time::timeout(Duration::from_secs(20), wait).await.unwrap();
    member.enforce(&desired("outage-3", &[(GPU, 2)])).await.unwrap();
    assert_eq!(hard(&admin, "outage-3", GPU).await.as_deref(), Some("2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_controller_the_status_of_a_new_quota_is_filled_and_of_an_old_one_not() {
    let cluster =
        Cluster::start(Options { controller_manager: false, scheduler: false, ..Options::default() })
            .await
            .unwrap();
    let admin = cluster.client().await.unwrap();
    // Nobody else makes the accounts that pods have.
    let accounts = ["gpuaas-probe", "lonely"].map(|namespace| {
        let api: Api<ServiceAccount> = Api::namespaced(admin.clone(), namespace);
        tokio::spawn(async move {
            let object: ServiceAccount =
                serde_json::from_value(json!({"metadata": {"name": "default"}})).unwrap();
            while api.create(&PostParams::default(), &object).await.is_err() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
    });
    let identities = register(&cluster).await;
    let quick = MemberOptions { quota: Duration::from_secs(2), ..options() };
    let member = Member::start(&identities, quick).await.unwrap();
    let plan = desired("lonely", &[(GPU, 4)]);
    // Until the status is filled nothing counts: the longest window that there can be, and nobody may slip in.
    let over_four = Hammer::start(&admin, "lonely", GPU, 5, "h100");
    over_four.goes_on(4).await;
    let done = member.enforce(&plan).await.unwrap();
    over_four.goes_on(20).await;
    assert_eq!(over_four.end().await, 0, "5 of 4 at birth");
    for account in accounts {
        account.await.unwrap();
    }
    assert_eq!(usize::try_from(done.sent).unwrap(), plan.all().count() + 1);
    let over = create(&admin, "lonely", &pod(GPU, 5, Some("h100"))).await.unwrap_err();
    assert!(over.contains("exceeded quota: gpuaas"), "{over}");

    // Here others may have used something; only the controller can count it.
    let late = member.enforce(&desired("lonely", &[(GPU, 2)])).await.unwrap_err();
    let EnforceError::Cluster(ClusterError::Deadline { what, .. }) = &late else { panic!("{late}") };
    assert!(
        what.contains("requests.nvidia.com/gpu is at 4, not 2") && what.contains("kube-controller-manager"),
        "{what}"
    );
    assert!(Api::<Namespace>::all(admin).get("lonely").await.is_ok());
}
