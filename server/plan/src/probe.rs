//! Dry runs that show that a namespace is closed: one for each limit that counts, one for the tenant policy.
//!
//! The writer may send them as soon as the namespace has its default service account, which Kubernetes makes a moment
//! after the namespace; before, every pod is refused for that reason. Only the text in [`Probe::expect`] is proof:
//! an admitted pod and any other refusal are not.

use std::collections::BTreeMap;

use domain::fleet::Pool;
use k8s_openapi::{
    api::core::v1::{
        Container, PersistentVolumeClaim, PersistentVolumeClaimSpec, Pod, PodSpec, ResourceRequirements,
        VolumeResourceRequirements,
    },
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
};
use serde::{Deserialize, Serialize};

use crate::{
    labels,
    manifest::Manifest,
    namespace::{self, QUOTA, Scratch, quota::REVISION_KEY, security},
    tenancy::Tenancy,
};

/// A resource that nobody is granted and no quota knows, so that only the tenant policy can refuse it.
const NEVER_GRANTED: &str = "gpuaas.io/probe";

/// Which of the two walls is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The `ResourceQuota`.
    Quota,
    /// The tenant policy.
    Policy,
}

/// One dry run that must be refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// What is to refuse it.
    pub layer: Layer,
    /// Resource that the pod asks for: a device resource, or `cpu` where no device is granted.
    pub asked: String,
    /// Key of the quota that must refuse it, in `status.hard` and `status.used`; none for the policy.
    pub key: Option<String>,
    /// Text that must be in the refusal.
    pub expect: String,
    /// The pod, without the amount.
    pod: Pod,
}

impl Probe {
    /// The pod to create as a dry run. `hard` and `used` are those of [`Probe::key`] in the quota's status, in whole
    /// units, `used` rounded up; the policy's probe needs neither.
    #[must_use]
    pub fn pod(&self, hard: u32, used: u32) -> Manifest {
        let amount = match self.layer {
            Layer::Quota => hard.saturating_sub(used).saturating_add(1),
            Layer::Policy => 1,
        };
        let mut pod = self.pod.clone();
        let containers = pod.spec.iter_mut().flat_map(|spec| &mut spec.containers);
        for resources in containers.filter_map(|container| container.resources.as_mut()) {
            // Extended resources stand under limits; for the native ones a request alone is what the quota counts.
            let list = if namespace::is_native(&self.asked) {
                &mut resources.requests
            } else {
                &mut resources.limits
            };
            list.get_or_insert_default().insert(self.asked.clone(), Quantity(amount.to_string()));
        }
        namespace::manifest(&pod)
    }
}

/// A dry run that shows that the API server's quota admission acts on exactly the limits that are planned. It is asked
/// before the tenant policy is widened: a policy that names a resource whose limit admission does not know yet is open.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// A claim for more storage than the revision, of a class that does not exist.
    pub claim: Manifest,
    /// Text that must be in the refusal.
    pub expect: String,
}

/// The gate of a planned quota.
pub(crate) fn gate(t: &Tenancy, quota: &Manifest) -> Gate {
    let revision =
        quota.body.pointer("/spec/hard").and_then(|hard| hard.get(REVISION_KEY)?.as_str()).unwrap_or("0");
    let more = revision.parse::<u64>().unwrap_or(0) + 1;
    let storage = BTreeMap::from([("storage".to_owned(), Quantity(more.to_string()))]);
    let claim = PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some("gpuaas-probe".to_owned()),
            namespace: Some(t.namespace.as_str().to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            resources: Some(VolumeResourceRequirements {
                requests: Some(storage),
                ..VolumeResourceRequirements::default()
            }),
            storage_class_name: Some("gpuaas-revision".to_owned()),
            ..PersistentVolumeClaimSpec::default()
        }),
        ..PersistentVolumeClaim::default()
    };
    Gate { claim: namespace::manifest(&claim), expect: format!("limited: {REVISION_KEY}={revision}") }
}

/// One probe for each limit that the tenant policy lets a pod reach, and one for the policy. Where no device is
/// granted the policy stands before every limit on devices; there the zero of cpu shows that the quota acts.
pub(crate) fn probes(t: &Tenancy) -> Vec<Probe> {
    let granted = t.granted();
    let mut probes: Vec<_> = t
        .allowed()
        .iter()
        .map(|resource| {
            let pool = granted.iter().find(|line| line.offering.resource == *resource).map(|line| &line.pool);
            quota(t, resource.as_str(), pool)
        })
        .collect();
    if probes.is_empty() {
        probes.push(quota(t, Scratch::Cpu.name(), None));
    }
    probes.push(Probe {
        layer: Layer::Policy,
        asked: NEVER_GRANTED.to_owned(),
        key: None,
        expect: format!("{NEVER_GRANTED} is not granted to this namespace"),
        pod: pod(t, None),
    });
    probes
}

fn quota(t: &Tenancy, asked: &str, pool: Option<&Pool>) -> Probe {
    let key = format!("requests.{asked}");
    Probe {
        layer: Layer::Quota,
        asked: asked.to_owned(),
        // Only keys that are exceeded stand here, so the text names the one that refused.
        expect: format!("exceeded quota: {QUOTA}, requested: {key}="),
        key: Some(key),
        pod: pod(t, pool),
    }
}

/// A pod that every level of Pod Security and the tenant policy admit, but for what it asks. It asks for no cpu,
/// memory or storage in so many words: a limit on these demands that something is said, and nothing is exceeded.
fn pod(t: &Tenancy, pool: Option<&Pool>) -> Pod {
    let nothing = Scratch::ALL.map(|kind| (kind.name().to_owned(), Quantity("0".to_owned())));
    Pod {
        metadata: ObjectMeta {
            name: Some("gpuaas-probe".to_owned()),
            namespace: Some(t.namespace.as_str().to_owned()),
            labels: Some(BTreeMap::from([(labels::PROBE.to_owned(), "true".to_owned())])),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            automount_service_account_token: Some(false),
            containers: vec![Container {
                name: "probe".to_owned(),
                image: Some("none".to_owned()),
                resources: Some(ResourceRequirements {
                    requests: Some(BTreeMap::from(nothing)),
                    ..ResourceRequirements::default()
                }),
                security_context: Some(security::restricted_container()),
                ..Container::default()
            }],
            node_selector: pool
                .map(|pool| BTreeMap::from([(pool.label_key.clone(), pool.label_value.clone())])),
            security_context: Some(security::restricted_pod(security::NOBODY)),
            ..PodSpec::default()
        }),
        ..Pod::default()
    }
}
