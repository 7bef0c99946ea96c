use k8s_openapi::api::core::v1::ResourceQuota;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::*;

fn pod(spec: &Value, phase: &str) -> Option<PodState> {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "p", "namespace": "n"}, "spec": spec, "status": {"phase": phase},
    }))
    .unwrap();
    PodState::of(&pod)
}

fn asks(resource: &str, amount: u32) -> Value {
    json!({"name": "c", "resources": {"limits": {resource: amount.to_string(), "cpu": "1"}}})
}

#[test]
fn case_02_pods_are_charged_as_the_api_server_does() {
    let mut sidecar = asks("nvidia.com/gpu", 1);
    sidecar["restartPolicy"] = json!("Always");
    let spec = json!({
        "nodeName": "a", "initContainers": [sidecar, asks("nvidia.com/gpu", 4)],
        "containers": [asks("nvidia.com/gpu", 2), asks("nvidia.com/sriov8001", 1), {"name": "x"}],
    });
    let state = pod(&spec, "Running").unwrap();
    let devices: Vec<_> = state.devices.iter().map(|(name, amount)| (name.as_str(), *amount)).collect();
    assert_eq!(devices, [("nvidia.com/gpu", 5), ("nvidia.com/sriov8001", 1)]);
    assert_eq!(pod(&spec, "Succeeded"), None);
    assert_eq!(pod(&json!({"containers": [{"name": "c"}]}), "Running"), None);
}

#[test]
fn amounts_are_read_as_the_api_server_writes_them() {
    let hca = ResourceName::new("rdma/hca").unwrap();
    let container = json!({"name": "c", "resources": {"limits": {"rdma/hca": "1k"}}});
    let state = pod(&json!({"nodeName": "a", "containers": [container]}), "Running").unwrap();
    assert_eq!(state.devices, BTreeMap::from([(hca.clone(), 1000)]));
    let node: KubeNode = serde_json::from_value(json!({
        "metadata": {"name": "a"}, "status": {"allocatable": {"rdma/hca": "1k", "nvidia.com/gpu": "8e0"}},
    }))
    .unwrap();
    let gpu = ResourceName::new("nvidia.com/gpu").unwrap();
    assert_eq!(NodeState::of(&node).allocatable, BTreeMap::from([(gpu, 8), (hca, 1000)]));
}

fn index() -> Index {
    let mut index = Index::default();
    let node = |ready: &str, cordoned: bool| -> KubeNode {
        serde_json::from_value(json!({
            "metadata": {"name": "x", "labels": {"gpuaas.io/pool": "h100"}}, "spec": {"unschedulable": cordoned},
            "status": {
                "allocatable": {"nvidia.com/gpu": "8", "cpu": "128", "hugepages-2Mi": "0"},
                "conditions": [{"type": "Ready", "status": ready}],
            },
        }))
        .unwrap()
    };
    for (name, ready, cordoned) in [("a", "True", false), ("b", "True", true), ("c", "Unknown", false)] {
        index.nodes.insert(name.to_owned(), NodeState::of(&node(ready, cordoned)));
    }
    for (namespace, name, node, amount) in [
        ("vision", "1", Some("a"), 2),
        ("vision", "2", None, 1),
        ("tools", "3", Some("a"), 1),
        ("vision", "4", Some("a"), 1),
    ] {
        let spec = json!({"nodeName": node, "containers": [asks("nvidia.com/gpu", amount)]});
        index.pods.insert((namespace.to_owned(), name.to_owned()), pod(&spec, "Pending").unwrap());
    }
    let space: ObjectMeta =
        serde_json::from_value(json!({"name": "vision", "labels": {"gpuaas.io/tenant": "vision"}})).unwrap();
    index.namespace(Event::Apply(space));
    let quota: ResourceQuota = serde_json::from_value(json!({
        "metadata": {"name": "gpuaas", "namespace": "vision"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "8"}},
        "status": {
            "hard": {"requests.nvidia.com/gpu": "8", "requests.cpu": "4", "x.deviceclass.resource.k8s.io/devices": "0"},
            "used": {"requests.nvidia.com/gpu": "5"},
        },
    }))
    .unwrap();
    index.quota(Event::Apply(quota));
    index
}

#[test]
fn facts_split_use_by_node_namespace_and_state() {
    let facts = facts(&index(), &ClusterName::new("prod").unwrap());
    let gpu = ResourceName::new("nvidia.com/gpu").unwrap();
    let ready: Vec<_> = facts.nodes.iter().map(|node| (node.name.as_str(), node.ready)).collect();
    assert_eq!(ready, [("a", true), ("b", false), ("c", false)]);
    assert_eq!(facts.nodes[0].allocatable, BTreeMap::from([(gpu.clone(), 8)]));
    assert_eq!(facts.nodes[0].used[&gpu], 4);
    let vision = &facts.namespaces["vision"];
    assert_eq!(vision.tenant.as_deref(), Some("vision"));
    assert_eq!(vision.resources.len(), 1);
    assert_eq!(vision.resources[&gpu], UsageFacts { hard: Some(8), charged: 5, running: 3, pending: 1 });
    let tools = &facts.namespaces["tools"];
    assert_eq!(tools.tenant, None);
    assert_eq!(tools.resources[&gpu], UsageFacts { hard: None, charged: 0, running: 1, pending: 0 });
    let unmanaged: u32 = facts.devices.iter().filter(|one| !one.tenant).map(|one| one.amount).sum();
    assert_eq!((unmanaged, facts.devices.len()), (1, 3));
}
