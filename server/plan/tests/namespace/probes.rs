//! What the probes ask, and that nothing but the wall in question has a reason to refuse them.

use plan::{Layer, Probe, Tenancy, desired};
use serde_json::json;

use crate::fixture::{ended, h100, partition, slice, tenancy, whole_with_partition, with};

fn probes(t: &Tenancy, layer: Layer) -> Vec<Probe> {
    desired(t).probes.into_iter().filter(|probe| probe.layer == layer).collect()
}

fn limits(probe: &Probe, hard: u32, used: u32) -> serde_json::Value {
    probe.pod(hard, used).body["spec"]["containers"][0]["resources"].clone()
}

#[test]
fn one_more_than_is_free_of_each_resource_that_a_pod_may_ask_for() {
    let t = tenancy(vec![with(h100(), 16, 8), with(slice(), 7, 1)], Some(partition("vision", 1, 16)));
    let probes = probes(&t, Layer::Quota);
    let asked: Vec<_> = probes.iter().map(|probe| probe.asked.as_str()).collect();
    assert_eq!(asked, ["nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "nvidia.com/sriov8001"]);
    let gpu = &probes[0];
    assert_eq!(gpu.key.as_deref(), Some("requests.nvidia.com/gpu"));
    assert_eq!(gpu.expect, "exceeded quota: gpuaas, requested: requests.nvidia.com/gpu=");
    for (hard, used, asks) in [(16, 0, "17"), (16, 5, "12"), (16, 16, "1"), (4, 6, "1"), (0, 0, "1")] {
        let nothing = json!({"cpu": "0", "memory": "0", "ephemeral-storage": "0"});
        assert_eq!(
            limits(gpu, hard, used),
            json!({"limits": {"nvidia.com/gpu": asks}, "requests": nothing}),
            "{used} of {hard}"
        );
    }
}

#[test]
fn each_probe_selects_the_pool_of_what_it_asks_for() {
    let t = tenancy(vec![with(h100(), 16, 8), with(slice(), 7, 1)], Some(partition("vision", 1, 16)));
    let selectors: Vec<_> = probes(&t, Layer::Quota)
        .iter()
        .map(|probe| probe.pod(1, 0).body["spec"]["nodeSelector"].clone())
        .collect();
    assert_eq!(
        selectors,
        [json!({"gpuaas.io/pool": "h100"}), json!({"gpuaas.io/pool": "a100-mig"}), json!(null)]
    );
}

#[test]
fn without_a_grant_the_zero_of_cpu_is_probed() {
    let probes = probes(&ended(), Layer::Quota);
    assert_eq!(probes.len(), 1);
    assert_eq!(probes[0].key.as_deref(), Some("requests.cpu"));
    assert_eq!(
        limits(&probes[0], 0, 3),
        json!({"requests": {"cpu": "1", "memory": "0", "ephemeral-storage": "0"}})
    );
}

#[test]
fn the_policy_is_asked_for_what_no_quota_knows() {
    for t in [whole_with_partition(), ended()] {
        let probes = probes(&t, Layer::Policy);
        assert_eq!(probes.len(), 1);
        assert_eq!(probes[0].key, None);
        assert_eq!(probes[0].expect, "gpuaas.io/probe is not granted to this namespace");
        assert_eq!(limits(&probes[0], 9, 0)["limits"], json!({"gpuaas.io/probe": "1"}));
        assert!(!crate::fixture::hard(&desired(&t)).contains_key("requests.gpuaas.io/probe"));
    }
}

#[test]
fn every_probe_is_marked_and_keeps_to_the_strictest_level() {
    for t in [whole_with_partition(), ended()] {
        for probe in desired(&t).probes {
            let pod = probe.pod(1, 0).body;
            assert_eq!(pod["metadata"]["labels"], json!({"gpuaas.io/probe": "true"}));
            assert_eq!(pod["spec"]["securityContext"]["runAsNonRoot"], json!(true));
            assert_eq!(
                pod["spec"]["containers"][0]["securityContext"],
                json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}})
            );
        }
    }
}
