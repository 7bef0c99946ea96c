//! Cases of people who ran this job, as far as the plan of a namespace decides them.

use domain::fleet::PerUnit;
use plan::{Memlock, PodSecurity, Tenancy, TenancyLine, desired, diff, manifest::Manifest};
use serde_json::{Value, json};

use crate::fixture::{
    all, bytes, ended, h100, hard, one, partition, per_unit, resource, share, slice, template, tenancy,
    variables, whole_with_partition, with,
};

const NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";

fn everyone() -> Vec<Tenancy> {
    vec![
        whole_with_partition(),
        tenancy(vec![with(slice(), 7, 1)], None),
        tenancy(vec![with(share(), 5, 1)], None),
        tenancy(vec![with(h100(), 4, 4), with(slice(), 7, 1)], None),
        ended(),
    ]
}

fn amounts(template: &Value) -> &Value {
    &template["spec"]["containers"][0]["resources"]["limits"]
}

/// The key that stands for the quota as a whole and limits nobody.
fn is_revision(key: &str) -> bool {
    key == "gpuaas-revision.storageclass.storage.k8s.io/requests.storage"
}

/// Keys of the quota that count devices through claims.
fn of_claims(key: &str) -> bool {
    key.ends_with(".deviceclass.resource.k8s.io/devices")
}

#[test]
fn case_01_only_keys_that_are_counted() {
    for t in everyone() {
        let desired = desired(&t);
        let hard = hard(&desired);
        for key in hard.keys() {
            assert!(key.starts_with("requests.") || of_claims(key) || is_revision(key), "{key}");
        }
        let native: Vec<_> = hard
            .keys()
            .filter_map(|key| key.strip_prefix("requests."))
            .filter(|key| !key.contains('/'))
            .collect();
        assert_eq!(native, ["cpu", "ephemeral-storage", "memory"]);
        let limits = one(&desired, "LimitRange").body["spec"]["limits"].clone();
        let defaults: Vec<_> = limits[0]["defaultRequest"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(defaults, native, "a container that says nothing must not be refused for it");
        assert_eq!(limits[0].as_object().unwrap().len(), 2, "a type and default requests, nothing else");
    }
}

#[test]
fn case_07_every_advertised_resource_has_a_limit() {
    let mut line = with(h100(), 2, 2);
    line.offering.resource = resource("nvidia.com/gpu");
    let mut t = tenancy(vec![line], Some(partition("red", 1, 2)));
    t.known_device_classes.clear();
    t.known_resources = ["gpu", "gpu.shared", "mig-1g.10gb", "sriov8001", "sriov8002", "rdma"]
        .map(|name| resource(&format!("nvidia.com/{name}")))
        .to_vec();
    let devices = |t: &Tenancy| {
        let mut hard = hard(&desired(t));
        hard.retain(|key, _| key.contains('/') && !is_revision(key));
        Value::Object(hard)
    };
    let mut expected = json!({
        "requests.nvidia.com/gpu": "2", "requests.nvidia.com/gpu.shared": "0",
        "requests.nvidia.com/mig-1g.10gb": "0", "requests.nvidia.com/sriov8001": "2",
        "requests.nvidia.com/sriov8002": "0", "requests.nvidia.com/rdma": "0",
    });
    assert_eq!(devices(&t), expected);
    t.known_resources.push(resource("nvidia.com/mig-2g.20gb"));
    expected["requests.nvidia.com/mig-2g.20gb"] = json!("0");
    assert_eq!(devices(&t), expected);
}

#[test]
fn the_gate_stands_for_exactly_these_limits() {
    let with_limit = |amount| desired(&tenancy(vec![with(h100(), amount, amount)], None)).gate;
    assert_eq!(with_limit(8), with_limit(8));
    assert_ne!(with_limit(8).expect, with_limit(7).expect);
    let gate = with_limit(8);
    let (_, revision) = gate.expect.rsplit_once('=').unwrap();
    let asked = gate.claim.body["spec"]["resources"]["requests"]["storage"].as_str().unwrap();
    assert_eq!(asked.parse::<u64>().unwrap(), revision.parse::<u64>().unwrap() + 1);
}

#[test]
fn device_classes_are_at_zero_by_both_keys_unless_a_key_would_be_no_name() {
    let mut t = tenancy(vec![], None);
    let (long, longer) = ("a".repeat(64), "b.".repeat(120) + "b");
    t.known_device_classes = vec!["gpu.nvidia.com".to_owned(), long.clone(), longer];
    let hard = hard(&desired(&t));
    let keys: Vec<_> = hard.keys().filter(|key| key.contains("deviceclass")).map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            format!("{long}.deviceclass.resource.k8s.io/devices").as_str(),
            "gpu.nvidia.com.deviceclass.resource.k8s.io/devices",
            "requests.deviceclass.resource.kubernetes.io/gpu.nvidia.com",
        ]
    );
    assert!(keys.iter().all(|key| hard[*key] == "0"));
}

#[test]
fn case_26_as_many_networks_as_vfs_and_the_network_names_their_resource() {
    for (granted, block, per_gpu, quota, vfs) in [
        (16, 8, 1, 16, 8),
        (2, 1, 1, 2, 1),
        (8, 8, 2, 16, 16),
        (8, 4, 0, 0, 0),
        (8, 8, 1, 3, 3),
        (8, 8, 1, 0, 8),
    ] {
        let mut line = with(h100(), granted, block);
        line.pool.vfs_per_gpu = per_gpu;
        let t = tenancy(vec![line], Some(partition("vision", 1, quota)));
        let template = template(&t);
        let networks = template["metadata"]["annotations"][NETWORKS].as_str().unwrap_or_default();
        let attached = networks.split(',').filter(|name| !name.is_empty()).count();
        assert_eq!(attached, vfs);
        assert!(networks.split(',').all(|name| name.is_empty() || name == "ib-p0001"), "{networks}");
        let asked = amounts(&template)["nvidia.com/sriov8001"].as_str().map_or(0, |n| n.parse().unwrap());
        assert_eq!(asked, vfs);
        let network = one(&desired(&t), "NetworkAttachmentDefinition").body.clone();
        assert_eq!(network["metadata"]["name"], "ib-p0001");
        assert_eq!(
            network["metadata"]["annotations"],
            json!({"gpuaas.io/pkey": "0x8001", "k8s.v1.cni.cncf.io/resourceName": "nvidia.com/sriov8001"})
        );
        let config: Value = serde_json::from_str(network["spec"]["config"].as_str().unwrap()).unwrap();
        assert_eq!(
            config,
            json!({"cniVersion": "1.0.0", "name": "ib-p0001", "type": "ib-sriov", "link_state": "enable",
                "ibKubernetesEnabled": false, "rdmaIsolation": false, "ipam": {}})
        );
    }
}

#[test]
fn case_26_slices_and_shares_have_no_network() {
    for line in [with(slice(), 7, 7), with(share(), 5, 5)] {
        let mut line = line;
        line.offering.partition = true;
        let name = line.offering.resource.to_string();
        let template = template(&tenancy(vec![line], Some(partition("vision", 1, 7))));
        assert_eq!(template["metadata"]["annotations"], json!(null));
        assert_eq!(amounts(&template)[&name], "1");
        assert_eq!(amounts(&template)["nvidia.com/sriov8001"], json!(null));
        assert!(variables(&template).is_empty());
    }
}

#[test]
fn case_28_the_socket_interface_is_exact() {
    let value = |t: &Tenancy| {
        variables(&template(t))
            .into_iter()
            .find(|(name, _)| name == "NCCL_SOCKET_IFNAME")
            .map(|(_, value)| value)
    };
    assert_eq!(value(&whole_with_partition()).as_deref(), Some("=eth0"));
    assert_eq!(value(&tenancy(vec![with(h100(), 8, 8)], None)).as_deref(), Some("=eth0"));
}

#[test]
fn case_31_ipc_lock_only_where_nodes_cannot_raise_memlock() {
    let enforced = |t: &Tenancy| {
        let desired = desired(t);
        let labels = one(&desired, "Namespace").body["metadata"]["labels"].clone();
        let policy = one(&desired, "TenantPolicy").body["spec"]["capabilities"].clone();
        (labels["pod-security.kubernetes.io/enforce"].as_str().unwrap().to_owned(), policy)
    };
    let security = |t: &Tenancy| template(t)["spec"]["containers"][0]["securityContext"].clone();
    let mut t = whole_with_partition();
    assert_eq!(enforced(&t), ("baseline".to_owned(), json!([])));
    assert_eq!(security(&t), json!(null));

    t.settings.memlock = Memlock::Capability;
    assert_eq!(enforced(&t), ("privileged".to_owned(), json!(["IPC_LOCK"])));
    assert_eq!(security(&t), json!({"capabilities": {"add": ["IPC_LOCK"]}}));

    t.settings.pod_security = PodSecurity::Restricted;
    assert_eq!(enforced(&t).0, "privileged", "the capability needs root and its level");
    assert_eq!(security(&t), json!({"capabilities": {"add": ["IPC_LOCK"]}}));
    assert_eq!(template(&t)["spec"]["securityContext"], json!(null));

    t.partition = None;
    assert_eq!(enforced(&t), ("restricted".to_owned(), json!([])));
    assert_eq!(security(&t), json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}));
    assert_eq!(template(&t)["spec"]["securityContext"]["runAsNonRoot"], json!(true));
}

#[test]
fn case_32_no_template_names_a_key_or_an_index() {
    for t in everyone() {
        for manifest in all(&desired(&t), "PodTemplate") {
            let names = variables(&manifest.body["template"]);
            assert!(!names.iter().any(|(name, _)| name.contains("PKEY")), "{names:?}");
        }
    }
}

#[test]
fn case_35_shared_memory_is_memory_has_a_size_and_fits() {
    let small = PerUnit { memory: "4Gi".parse().unwrap(), ..per_unit("1", "0", "0") };
    let mut lean = with(h100(), 8, 8);
    lean.offering.per_unit = small;
    for (line, size) in [
        (with(h100(), 16, 8), "64Gi"),
        (with(h100(), 1, 1), "8Gi"),
        (lean, "16Gi"),
        (with(slice(), 7, 1), "1Gi"),
        (with(share(), 5, 1), "768Mi"),
    ] {
        let template = template(&tenancy(vec![line], None));
        let volume = &template["spec"]["volumes"][0];
        assert_eq!(volume["emptyDir"], json!({"medium": "Memory", "sizeLimit": size}));
        assert_eq!(
            template["spec"]["containers"][0]["volumeMounts"],
            json!([{"name": volume["name"], "mountPath": "/dev/shm"}])
        );
        assert!(bytes(&volume["emptyDir"]["sizeLimit"]) < bytes(&amounts(&template)["memory"]));
    }
}

#[test]
fn case_38_every_change_is_in_the_next_plan() {
    let plan = |gpus: u32, slices: u32| {
        let t = tenancy(vec![with(h100(), gpus, 8), with(slice(), slices, 1)], None);
        desired(&Tenancy { open: gpus + slices > 0, ..t })
    };
    let live = |desired: &plan::Desired| {
        let hard = hard(desired);
        (hard["requests.nvidia.com/gpu"].clone(), hard["requests.nvidia.com/mig-1g.10gb"].clone())
    };
    assert_eq!(live(&plan(4, 7)), (json!("4"), json!("7")));
    assert_eq!(live(&plan(6, 7)), (json!("6"), json!("7")));
    assert_eq!(live(&plan(6, 0)), (json!("6"), json!("0")), "not absent");
    let withdrawn = plan(0, 0);
    assert_eq!(live(&withdrawn), (json!("0"), json!("0")));
    assert_eq!(withdrawn.guard.len(), 3, "namespace, policy and quota stay");
    assert!(withdrawn.access.is_empty());

    let quota = one(&plan(6, 0), "ResourceQuota").clone();
    assert!(diff(&quota, None).unified.contains("+    requests.nvidia.com/gpu: \"6\"\n"), "deleted");
    let mut edited = quota.body.clone();
    edited["spec"]["hard"]["requests.nvidia.com/gpu"] = json!("64");
    let unified = diff(&quota, Some(&edited)).unified;
    assert!(
        unified.contains("-    requests.nvidia.com/gpu: \"64\"\n+    requests.nvidia.com/gpu: \"6\"\n"),
        "{unified}"
    );
}

#[test]
fn case_41_canonical_quantities_and_the_same_bytes_each_time() {
    let mut line = with(h100(), 8, 1);
    line.offering.per_unit = per_unit("1500m", "128Mi", "125M");
    let mut shares = with(share(), 1000, 1);
    shares.offering.per_unit = per_unit("0", "0", "0");
    let t = tenancy(vec![line, shares], None);
    let planned = desired(&t);
    let hard = hard(&planned);
    for (key, value) in [
        ("requests.cpu", "12"),
        ("requests.memory", "1Gi"),
        ("requests.ephemeral-storage", "1G"),
        ("requests.nvidia.com/gpu", "8"),
        ("requests.nvidia.com/gpu.shared", "1k"),
    ] {
        assert_eq!(hard[key], value, "{key}");
    }
    let half = template(&tenancy(vec![with(share(), 5, 1)], None));
    assert_eq!(amounts(&half)["cpu"], "500m");

    let mut other = t.clone();
    other.lines.reverse();
    other.known_resources.reverse();
    other.known_resources.extend(t.known_resources.clone());
    for again in [desired(&t), desired(&other)] {
        assert!(planned.all().map(Manifest::to_yaml).eq(again.all().map(Manifest::to_yaml)));
        assert_eq!(plan::git::files(&planned, true), plan::git::files(&again, true));
    }
}

#[test]
fn a_site_that_counts_no_cpu_has_no_limit_on_it_until_nothing_is_granted() {
    let mut line = with(h100(), 8, 8);
    line.offering.per_unit = per_unit("0", "0", "0");
    let open = desired(&tenancy(vec![line.clone()], None));
    assert!(hard(&open).keys().all(|key| key.contains('/')));
    assert!(all(&open, "LimitRange").is_empty());
    let ended = desired(&tenancy(vec![TenancyLine { granted: 0, ..line }], None));
    for key in ["requests.cpu", "requests.memory", "requests.ephemeral-storage"] {
        assert_eq!(hard(&ended)[key], "0");
    }
}

#[test]
fn a_raise_that_waits_is_allowed_but_has_no_quota_yet() {
    let waiting = TenancyLine { hard: 0, ..with(h100(), 8, 8) };
    let planned = desired(&tenancy(vec![waiting], Some(partition("vision", 1, 0))));
    assert_eq!(hard(&planned)["requests.nvidia.com/gpu"], "0");
    assert_eq!(hard(&planned)["requests.cpu"], "0");
    let policy = &one(&planned, "TenantPolicy").body["spec"];
    assert_eq!(policy["resources"][0], json!({"name": "nvidia.com/gpu", "pool": "h100", "perPodMax": 8}));
    assert_eq!(policy["networks"], json!([{"name": "ib-p0001", "resource": "nvidia.com/sriov8001"}]));
    assert_eq!(planned.access.len(), 3);
}

#[test]
fn egress_is_open_or_what_the_site_lists() {
    let rules = |t: &Tenancy| {
        let desired = desired(t);
        let policies = all(&desired, "NetworkPolicy");
        assert_eq!(policies[1].name, "gpuaas-egress");
        policies[1].body["spec"]["egress"].clone()
    };
    let mut t = whole_with_partition();
    assert_eq!(rules(&t), json!([{}]));
    t.settings.egress = vec!["10.20.0.0/16".to_owned()];
    let rules = rules(&t);
    assert_eq!(rules[0]["ports"][1], json!({"port": 53, "protocol": "UDP"}));
    assert_eq!(
        rules[1]["to"],
        json!([
            {"namespaceSelector": {"matchLabels": {"gpuaas.io/tenant": "vision"}}},
            {"ipBlock": {"cidr": "10.20.0.0/16"}},
        ])
    );
}

#[test]
fn the_default_priority_class_of_the_cluster_is_allowed() {
    let mut t = whole_with_partition();
    t.settings.default_priority_class = Some("standard".to_owned());
    assert_eq!(one(&desired(&t), "TenantPolicy").body["spec"]["priorityClasses"], json!(["standard"]));
}
