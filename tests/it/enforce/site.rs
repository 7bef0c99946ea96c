//! A registered cluster, plans of small tenants, and people who create pods.

use std::time::Duration;

use cluster::registration::{Identities, install};
use cluster::{Link, LinkOptions, Member, MemberOptions};
use domain::fabric::Partition;
use domain::fleet::{Offering, Pool};
use domain::name::{ClusterName, DisplayName, NamespaceName, TeamName};
use domain::resource::ResourceName;
use k8s_openapi::api::core::v1::Pod;
use kit::cluster::Cluster;
use kube::api::{Api, DeleteParams, PostParams};
use kube::core::{ApiResource, DynamicObject};
use kube::{Client, ResourceExt};
use plan::{Desired, PartitionUse, SiteSettings, Tenancy, TenancyLine};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

pub(super) const GPU: &str = "nvidia.com/gpu";
pub(super) const SLICE: &str = "nvidia.com/mig-1g.10gb";
pub(super) const EMITTER: &str = "system:serviceaccount:gpuaas-system:gpuaas-emitter";
pub(super) const PROBE: &str = "system:serviceaccount:gpuaas-system:gpuaas-probe";

/// The shared cluster with a member of its own.
pub(super) struct Site {
    pub(super) cluster: &'static Cluster,
    pub(super) member: Member,
    pub(super) admin: Client,
}

/// The shared cluster, registered.
pub(super) async fn site() -> Site {
    static REGISTERED: OnceCell<Identities> = OnceCell::const_new();
    let cluster = Cluster::shared().await.unwrap();
    let identities = REGISTERED.get_or_init(|| register(cluster)).await;
    let member = Member::start(identities, options()).await.unwrap();
    Site { cluster, member, admin: cluster.client().await.unwrap() }
}

pub(super) fn options() -> MemberOptions {
    MemberOptions::of(ClusterName::new("prod").unwrap())
}

/// Registers a cluster.
pub(super) async fn register(cluster: &Cluster) -> Identities {
    let admin = Link::connect(&cluster.kubeconfig().text, LinkOptions::default()).await.unwrap();
    install(&admin, &cluster.kubeconfig().text, |_| ()).await.unwrap()
}

/// Asks until there is an answer, for 30 s.
pub(super) async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, ask: impl FnMut() -> F) -> T {
    kit::wait_for(what, Duration::from_secs(30), ask).await.unwrap()
}

fn line(resource: &str, granted: u32) -> TenancyLine {
    let slice = resource != GPU;
    let (pool, kind) = if slice {
        ("a100", json!({"kind": "mig", "profile": "1g.10gb"}))
    } else {
        ("h100", json!({"kind": "whole"}))
    };
    let mut offering = json!({
        "name": pool, "pool": pool, "display": pool, "description": "", "resource": resource,
        "effective_milli": 1000, "per_unit": {"cpu": "0", "memory": "0", "ephemeral_storage": "0"},
        "partition": !slice, "per_pod_max": null, "declared": 64, "overcommit_percent": 100,
        "retired": false, "version": 1,
    });
    offering.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
    let offering: Offering = serde_json::from_value(offering).unwrap();
    let pool: Pool = serde_json::from_value(json!({
        "name": pool, "cluster": "prod", "display": pool, "model": "x", "mode": "whole",
        "label_key": "gpuaas.io/pool", "label_value": pool, "vfs_per_gpu": 1,
        "rules": {"auto_up_to": 0, "two_above": null, "max_days": 90}, "retired": false, "version": 1,
    }))
    .unwrap();
    TenancyLine { offering, pool, granted, hard: granted, block: 1 }
}

/// A team's namespace of the same name with these grants; closed when all are zero.
pub(super) fn tenancy(team: &str, grants: &[(&str, u32)]) -> Tenancy {
    let team = TeamName::new(team).unwrap();
    Tenancy {
        cluster: ClusterName::new("prod").unwrap(),
        namespace: NamespaceName::of_team(&team),
        team_display: DisplayName::new(team.as_str()).unwrap(),
        team,
        lines: grants.iter().map(|(resource, granted)| line(resource, *granted)).collect(),
        partition: None,
        known_resources: [GPU, SLICE, "nvidia.com/gpu.shared", "nvidia.com/sriov8007"]
            .map(|name| ResourceName::new(name).unwrap())
            .to_vec(),
        known_device_classes: vec!["gpu.nvidia.com".to_owned()],
        open: grants.iter().any(|(_, granted)| *granted > 0),
        settings: SiteSettings::default(),
    }
}

/// As [`tenancy`], with the partition in slot 7.
pub(super) fn with_partition(team: &str, grants: &[(&str, u32)], vfs: u32) -> Tenancy {
    let mut tenancy = tenancy(team, grants);
    let partition = Partition::in_slot(tenancy.cluster.clone(), tenancy.team.clone(), 7).unwrap();
    tenancy.partition = Some(PartitionUse { partition, vfs });
    tenancy
}

pub(super) fn desired(team: &str, grants: &[(&str, u32)]) -> Desired {
    plan::desired(&tenancy(team, grants))
}

/// A pod of a tenant that asks for devices of a pool.
pub(super) fn pod(resource: &str, amount: u32, pool: Option<&str>) -> Pod {
    let selector = pool.map(|pool| json!({"gpuaas.io/pool": pool}));
    serde_json::from_value(json!({
        "metadata": {"generateName": "work-"},
        "spec": {
            "nodeSelector": selector,
            "containers": [{"name": "main", "image": "none", "resources": {"limits": {resource: amount.to_string()}}}],
        },
    }))
    .unwrap()
}

pub(super) fn pods(client: &Client, namespace: &str) -> Api<Pod> {
    Api::namespaced(client.clone(), namespace)
}

/// Creates a pod; the name, or the API server's text.
pub(super) async fn create(client: &Client, namespace: &str, pod: &Pod) -> Result<String, String> {
    match pods(client, namespace).create(&PostParams::default(), pod).await {
        Ok(made) => Ok(made.name_any()),
        Err(kube::Error::Api(status)) => Err(status.message),
        Err(other) => panic!("no answer: {other}"),
    }
}

/// Deletes all pods of a namespace at once.
pub(super) async fn clear(client: &Client, namespace: &str) {
    let now = DeleteParams::default().grace_period(0);
    pods(client, namespace).delete_collection(&now, &Default::default()).await.unwrap();
}

/// One object as it is.
pub(super) async fn live(
    client: &Client,
    group: &str,
    kind: &str,
    plural: &str,
    namespace: &str,
    name: &str,
) -> Option<Value> {
    let (group, version) = group.rsplit_once('/').unwrap_or(("", group));
    let resource = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") },
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    api.get_opt(name).await.unwrap().map(|object| serde_json::to_value(object).unwrap())
}

pub(super) async fn quota(client: &Client, namespace: &str) -> Option<Value> {
    live(client, "v1", "ResourceQuota", "resourcequotas", namespace, "gpuaas").await
}

/// A limit in the quota's status.
pub(super) async fn hard(client: &Client, namespace: &str, resource: &str) -> Option<String> {
    let quota = quota(client, namespace).await?;
    Some(quota["status"]["hard"].get(format!("requests.{resource}"))?.as_str()?.to_owned())
}

pub(super) async fn role_bindings(client: &Client, namespace: &str) -> Vec<String> {
    let api: Api<k8s_openapi::api::rbac::v1::RoleBinding> = Api::namespaced(client.clone(), namespace);
    api.list(&Default::default()).await.unwrap().iter().map(ResourceExt::name_any).collect()
}
