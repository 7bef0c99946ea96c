//! The test kit itself: what all other tests of a cluster stand on.

use std::path::PathBuf;
use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::{Node, Pod, ResourceQuota};
use kit::cluster::{Cluster, Options};
use kit::kubelet::{FakeKubelet, NodeGroup};
use kit::postgres::Postgres;
use kit::proxy::{Fault, FaultyApi};
use kit::wait_for;
use kube::api::{Api, DeleteParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);

fn pod(name: &str, gpus: u32, annotations: &Value) -> Pod {
    let device = json!({ "nvidia.com/gpu": gpus.to_string() });
    serde_json::from_value(json!({
        "metadata": { "name": name, "annotations": annotations },
        "spec": {
            "tolerations": [{ "key": "nvidia.com/gpu", "operator": "Exists" }],
            "containers": [{ "name": "main", "image": "train", "resources": { "limits": device } }],
        },
    }))
    .unwrap()
}

async fn phase(pods: &Api<Pod>, name: &str, wanted: &str) -> Pod {
    wait_for(&format!("pod {name} {wanted}"), SOON, || async move {
        let pod = pods.get_opt(name).await.ok().flatten()?;
        (pod.status.as_ref()?.phase.as_deref() == Some(wanted)).then_some(pod)
    })
    .await
    .unwrap()
}

async fn quota_of(client: &Client, namespace: &str, gpus: &str) {
    let quotas: Api<ResourceQuota> = Api::namespaced(client.clone(), namespace);
    let quota =
        json!({ "metadata": { "name": "q" }, "spec": { "hard": { "requests.nvidia.com/gpu": gpus } } });
    quotas.create(&PostParams::default(), &serde_json::from_value(quota).unwrap()).await.unwrap();
    let quotas = &quotas;
    wait_for("quota filled in", SOON, || async move {
        let quota = quotas.get("q").await.ok()?;
        quota.status?.hard.filter(|hard| hard.contains_key("requests.nvidia.com/gpu"))
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_quota_of_two_refuses_the_third_gpu() {
    let cluster = Cluster::shared().await.unwrap();
    let client = cluster.client().await.unwrap();
    cluster.namespace("kit-quota").await.unwrap();
    quota_of(&client, "kit-quota", "2").await;
    let pods: Api<Pod> = Api::namespaced(client, "kit-quota");
    pods.create(&PostParams::default(), &pod("two", 2, &json!({}))).await.unwrap();
    let refused = pods.create(&PostParams::default(), &pod("third", 1, &json!({}))).await.unwrap_err();
    let kube::Error::Api(status) = refused else { panic!("{refused}") };
    assert_eq!(status.code, 403);
    assert!(
        status.message.contains("exceeded quota: q, requested: requests.nvidia.com/gpu=1"),
        "{}",
        status.message
    );
}

#[tokio::test]
async fn pods_run_end_fail_and_hang_as_told() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let client = cluster.client().await.unwrap();
    let h100 = NodeGroup::built_in("h100").unwrap().times(1);
    let kubelet = FakeKubelet::start(client.clone(), vec![h100]).await.unwrap();
    let nodes: Api<Node> = Api::all(client.clone());
    let node = nodes.get("h100-01").await.unwrap();
    let taints: Vec<String> =
        node.spec.unwrap().taints.unwrap().into_iter().filter_map(|t| t.key.into()).collect();
    assert_eq!(taints, ["nvidia.com/gpu"]);

    cluster.namespace("jobs").await.unwrap();
    let pods: Api<Pod> = Api::namespaced(client.clone(), "jobs");
    let create = PostParams::default();
    pods.create(&create, &pod("stays", 4, &json!({}))).await.unwrap();
    pods.create(&create, &pod("ends", 1, &json!({ "kit.gpuaas.io/run-for": "1s" }))).await.unwrap();
    let fails = json!({ "kit.gpuaas.io/run-for": "0s", "kit.gpuaas.io/exit-code": "7" });
    pods.create(&create, &pod("fails", 1, &fails)).await.unwrap();
    let stays = phase(&pods, "stays", "Running").await;
    assert!(stays.status.unwrap().pod_ip.is_some());
    phase(&pods, "ends", "Succeeded").await;
    phase(&pods, "fails", "Failed").await;

    // A device is lost: the next pod finds no room.
    kubelet.set_allocatable("h100-01", "nvidia.com/gpu", Some("4")).await.unwrap();
    pods.create(&create, &pod("late", 1, &json!({}))).await.unwrap();
    let (pods, nodes) = (&pods, &nodes);
    wait_for("unschedulable", SOON, || async move {
        let conditions = pods.get("late").await.ok()?.status?.conditions?;
        conditions.iter().any(|c| c.reason.as_deref() == Some("Unschedulable")).then_some(())
    })
    .await
    .unwrap();

    kubelet.hang_deletions("h100-01", true).await.unwrap();
    pods.delete("stays", &DeleteParams::default()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(pods.get("stays").await.unwrap().metadata.deletion_timestamp.is_some());
    kubelet.hang_deletions("h100-01", false).await.unwrap();
    wait_for("pod gone", SOON, || async move { pods.get_opt("stays").await.ok()?.is_none().then_some(()) })
        .await
        .unwrap();

    kubelet.set_ready("h100-01", false).await.unwrap();
    wait_for("taint of a node that is down", SOON, || async move {
        let taints = nodes.get("h100-01").await.ok()?.spec?.taints?;
        taints.iter().any(|t| format!("{:?}", t.key).contains("node.kubernetes.io/not-ready")).then_some(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn identities_are_told_apart_in_the_audit_log() {
    let cluster = Cluster::shared().await.unwrap();
    cluster.namespace("kit-audit").await.unwrap();
    let alice =
        cluster.kubeconfig_for_user("kit-alice", &["kit-one", "kit-two"]).unwrap().client().await.unwrap();
    let account = cluster.service_account_kubeconfig("kit-audit", "default").await.unwrap();
    let mark = cluster.audit_mark().unwrap();
    for client in [alice.clone(), account.client().await.unwrap()] {
        let refused =
            Api::<Pod>::namespaced(client, "kit-audit").list(&Default::default()).await.unwrap_err();
        assert!(matches!(refused, kube::Error::Api(status) if status.code == 403));
    }
    let audit = cluster.audit_since(mark).unwrap();
    for user in ["kit-alice", "system:serviceaccount:kit-audit:default"] {
        let seen: Vec<_> = audit.of(user).map(|e| (e.verb.as_str(), e.resource.as_str(), e.code)).collect();
        assert_eq!(seen, [("list", "pods", 403)], "{user}");
    }

    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let request = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews");
    let answer: Value = alice.request(request.body(review.to_string().into_bytes()).unwrap()).await.unwrap();
    let groups = answer["status"]["userInfo"]["groups"].to_string();
    assert!(groups.contains("kit-one") && groups.contains("kit-two"), "{groups}");
}

#[tokio::test]
async fn a_restarted_api_server_remembers_and_a_dropped_cluster_leaves_no_process() {
    let mut cluster = Cluster::start(Options { fsync: true, ..Options::default() }).await.unwrap();
    let client = cluster.client().await.unwrap();
    cluster.namespace("kept").await.unwrap();
    cluster.stop_apiserver().unwrap();
    assert!(client.apiserver_version().await.is_err());
    cluster.restart_apiserver().await.unwrap();
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(cluster.client().await.unwrap());
    assert_eq!(namespaces.get("kept").await.unwrap().name_any(), "kept");

    let (ids, dir) = (cluster.process_ids(), cluster.dir().to_owned());
    assert_eq!(ids.len(), 4);
    drop(cluster);
    for id in ids {
        assert!(!PathBuf::from(format!("/proc/{id}")).exists(), "process {id} is left");
    }
    assert!(!dir.exists());
}

#[tokio::test]
async fn the_faulty_api_fails_by_rule_and_passes_on_the_rest() {
    let cluster = Cluster::shared().await.unwrap();
    let proxy = FaultyApi::start(cluster.kubeconfig()).await.unwrap();
    let through = kube::config::Kubeconfig::from_yaml(&proxy.kubeconfig().unwrap()).unwrap();
    let mut config = kube::Config::from_custom_kubeconfig(through, &Default::default()).await.unwrap();
    config.default_retry = false;
    let client = Client::try_from(config).unwrap();
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client);

    proxy.fail(Method::GET, "/api/v1/namespaces/*", 1, Fault::TooMany { retry_after: 1 });
    proxy.fail(Method::GET, "/api/v1/namespaces/*", 1, Fault::DropRequest);
    let refused = namespaces.get("default").await.unwrap_err();
    assert!(matches!(refused, kube::Error::Api(status) if status.code == 429));
    let broken = namespaces.get("default").await.unwrap_err();
    assert!(!matches!(broken, kube::Error::Api(_)), "{broken}");
    assert_eq!(namespaces.get("default").await.unwrap().name_any(), "default");

    // The answer is lost, but the work is done.
    proxy.fail(Method::POST, "/api/v1/namespaces*", 1, Fault::DropAnswer);
    let wanted = serde_json::from_value(json!({ "metadata": { "name": "kit-lost-answer" } })).unwrap();
    assert!(namespaces.create(&PostParams::default(), &wanted).await.is_err());
    assert!(namespaces.get_opt("kit-lost-answer").await.unwrap().is_some());
    assert_eq!(proxy.seen().iter().filter(|seen| seen.fault.is_some()).count(), 3);
}

#[tokio::test]
async fn postgres_makes_fresh_databases_and_stops() {
    let postgres = Postgres::start().await.unwrap();
    let (one, two) = (postgres.database().unwrap(), postgres.database().unwrap());
    assert_ne!(one, two);
    let port: u16 = one.split(['/', ':']).find_map(|part| part.parse().ok()).unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    drop(postgres);
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}
