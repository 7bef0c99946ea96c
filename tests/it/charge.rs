//! Our arithmetic of a pod's devices against the quota of a real API server (case 2).

use std::time::Duration;

use domain::charge::{Init, charged};
use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use proptest::{
    collection::vec,
    prelude::*,
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Value, json};

const RESOURCE: &str = "nvidia.com/gpu";
const KEY: &str = "requests.nvidia.com/gpu";
/// Random pods in the property test: each is a create and a read on the API server.
const PODS: usize = 60;

fn pod(name: &str, inits: &[Init], containers: &[u32]) -> Pod {
    let container = |name: String, amount: u32| {
        let limits = if amount == 0 { json!({}) } else { json!({RESOURCE: amount.to_string()}) };
        json!({"name": name, "image": "none", "resources": {"limits": limits}})
    };
    let inits: Vec<Value> = inits
        .iter()
        .enumerate()
        .map(|(n, init)| {
            let mut made = container(format!("init-{n}"), init.amount);
            if init.sidecar {
                made["restartPolicy"] = json!("Always");
            }
            made
        })
        .collect();
    let containers: Vec<Value> =
        containers.iter().enumerate().map(|(n, a)| container(format!("app-{n}"), *a)).collect();
    // No scheduler of this name runs, so the pods stay pending, and charged.
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"schedulerName": "nobody", "initContainers": inits, "containers": containers}
    }))
    .unwrap()
}

/// A namespace with a quota that the controller has filled.
async fn namespace(name: &str, hard: u32) -> Client {
    let cluster = kit::cluster::Cluster::shared().await.unwrap();
    cluster.namespace(name).await.unwrap();
    let client = cluster.client().await.unwrap();
    let quotas: Api<ResourceQuota> = Api::namespaced(client.clone(), name);
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {KEY: hard.to_string()}}});
    quotas.create(&PostParams::default(), &serde_json::from_value(quota).unwrap()).await.unwrap();
    kit::wait_for("the quota's status", Duration::from_secs(20), || used(&quotas)).await.unwrap();
    client
}

async fn used(quotas: &Api<ResourceQuota>) -> Option<u32> {
    let status = quotas.get("q").await.ok()?.status?;
    status.hard?.get(KEY)?;
    status.used?.get(KEY)?.0.parse().ok()
}

async fn used_is(quotas: &Api<ResourceQuota>, wanted: u32) -> Option<()> {
    (used(quotas).await? == wanted).then_some(())
}

#[tokio::test]
async fn case_02_the_listed_pods_against_a_quota_of_twelve() {
    let client = namespace("charge-case-02", 12).await;
    let pods: Api<Pod> = Api::namespaced(client.clone(), "charge-case-02");
    let (plain, side) = (|amount| Init { amount, sidecar: false }, |amount| Init { amount, sidecar: true });
    let listed = [
        ("p1", vec![plain(4)], vec![2], true),
        ("p2", vec![plain(2), plain(2)], vec![2], true),
        ("p3", vec![plain(4), side(1)], vec![2], true),
        ("p4", vec![side(1), plain(4)], vec![2], false),
        ("p5", vec![side(1), side(1)], vec![1, 1], false),
        ("p6", vec![], vec![3, 3], false),
        ("p7", vec![side(8)], vec![8], false),
    ];
    for (name, inits, containers, admitted) in &listed {
        let answer = pods.create(&PostParams::default(), &pod(name, inits, containers)).await;
        assert_eq!(answer.is_ok(), *admitted, "{name}: {answer:?}");
        if let Err(error) = answer {
            assert!(error.to_string().contains("exceeded quota"), "{name}: {error}");
        }
    }
    let succeeded = json!({"status": {"phase": "Succeeded"}});
    pods.patch_status("p1", &PatchParams::default(), &Patch::Merge(&succeeded)).await.unwrap();
    let quotas: Api<ResourceQuota> = Api::namespaced(client, "charge-case-02");
    kit::wait_for("p1's devices", Duration::from_secs(20), || used_is(&quotas, 6)).await.unwrap();
    let (_, inits, containers, _) = &listed[3];
    pods.create(&PostParams::default(), &pod("p4", inits, containers)).await.unwrap();
}

#[tokio::test]
async fn case_02_random_pods_cost_what_we_say() {
    let client = namespace("charge-random", 100_000).await;
    let (pods, quotas): (Api<Pod>, Api<ResourceQuota>) =
        (Api::namespaced(client.clone(), "charge-random"), Api::namespaced(client, "charge-random"));
    let init = (0u32..5, any::<bool>()).prop_map(|(amount, sidecar)| Init { amount, sidecar });
    let shape = (vec(init, 0..4), vec(0u32..5, 1..4));
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut sum = 0;
    for n in 0..PODS {
        let (inits, containers) = shape.new_tree(&mut runner).unwrap().current();
        pods.create(&PostParams::default(), &pod(&format!("p{n}"), &inits, &containers)).await.unwrap();
        sum += charged(&inits, &containers);
        // The controller recalculates from a cache that may be a moment behind, so the figure may come late.
        let what = format!("{sum} used after pod {n}: {inits:?} {containers:?}");
        kit::wait_for(&what, Duration::from_secs(10), || used_is(&quotas, sum)).await.unwrap();
    }
    assert!(sum > 100, "the random pods ask for next to nothing");
}
