//! A pod that works at the first try, for each offering.

use std::collections::BTreeMap;

use domain::{fleet::Kind, quantity::Quantity};
use k8s_openapi::{
    api::core::v1::{
        Container, EmptyDirVolumeSource, EnvVar, PodSpec, PodTemplate, PodTemplateSpec, ResourceRequirements,
        Toleration, Volume, VolumeMount,
    },
    apimachinery::pkg::{api::resource::Quantity as Written, apis::meta::v1::ObjectMeta},
};

use super::{
    Scratch,
    boundary::{level, locks_memory, pod_labels},
    manifest, metadata, security,
};
use crate::{
    manifest::Manifest,
    nccl::{self, Profile},
    tenancy::{PodSecurity, Tenancy, TenancyLine},
};

/// Annotation that Multus reads.
const NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";

/// Shared memory for each whole GPU: NCCL's segments and the workers of a data loader.
const SHM_PER_GPU: u32 = 8;

/// First user that is no system account in the usual images, for the level `restricted`.
const USER: i64 = 1000;

/// The template of one offering; it carries the offering's name.
pub(super) fn pod_template(t: &Tenancy, line: &TenancyLine) -> Manifest {
    let devices = devices(line);
    let vfs = vfs(t, line, devices);
    manifest(&PodTemplate {
        metadata: metadata(t, line.offering.name.as_str()),
        template: Some(PodTemplateSpec {
            metadata: Some(ObjectMeta {
                labels: Some(pod_labels(line.offering.name.as_str())),
                annotations: networks(t, vfs),
                ..ObjectMeta::default()
            }),
            spec: Some(spec(t, line, devices, vfs)),
        }),
    })
}

/// Devices of one pod: a block of the grant, as far as grant and policy allow. Slices and shares come one to a pod:
/// they cannot work together.
fn devices(line: &TenancyLine) -> u32 {
    match line.offering.kind {
        Kind::Whole => {
            let most = line.offering.per_pod_max.unwrap_or(line.granted).min(line.granted);
            line.block.min(most).max(1)
        }
        Kind::Mig { .. } | Kind::Shared { .. } => 1,
    }
}

/// VFs of one pod, one for each network in its annotation. No more than the quota has, unless it has none yet.
fn vfs(t: &Tenancy, line: &TenancyLine, devices: u32) -> u32 {
    match t.partition() {
        Some(used) if line.offering.partition && line.offering.kind == Kind::Whole => {
            let wanted = devices.saturating_mul(line.pool.vfs_per_gpu);
            if used.vfs == 0 { wanted } else { wanted.min(used.vfs) }
        }
        Some(_) | None => 0,
    }
}

/// The short form: a list of names, in order of the VFs, so that `net1` is on the first rail.
fn networks(t: &Tenancy, vfs: u32) -> Option<BTreeMap<String, String>> {
    let network = t.partition().filter(|_| vfs > 0)?.partition.network();
    let list: Vec<_> = (0..vfs).map(|_| network.as_str()).collect();
    Some(BTreeMap::from([(NETWORKS.to_owned(), list.join(","))]))
}

fn spec(t: &Tenancy, line: &TenancyLine, devices: u32, vfs: u32) -> PodSpec {
    let pool = &line.pool;
    let restricted = level(t) == PodSecurity::Restricted;
    let security_context = if restricted {
        Some(security::restricted_container())
    } else {
        (vfs > 0 && locks_memory(t)).then(security::locking_container)
    };
    PodSpec {
        containers: vec![Container {
            name: "main".to_owned(),
            image: Some(t.settings.image.clone()),
            env: environment(t, line, devices, vfs),
            resources: Some(resources(t, line, devices, vfs)),
            security_context,
            volume_mounts: Some(vec![VolumeMount {
                name: "shm".to_owned(),
                mount_path: "/dev/shm".to_owned(),
                ..VolumeMount::default()
            }]),
            ..Container::default()
        }],
        node_selector: Some(BTreeMap::from([(pool.label_key.clone(), pool.label_value.clone())])),
        restart_policy: Some("Never".to_owned()),
        security_context: restricted.then(|| security::restricted_pod(USER)),
        tolerations: Some(tolerations(line)),
        volumes: Some(vec![Volume {
            name: "shm".to_owned(),
            empty_dir: Some(EmptyDirVolumeSource {
                medium: Some("Memory".to_owned()),
                size_limit: Some(Written(shared_memory(line, devices).to_string())),
            }),
            ..Volume::default()
        }]),
        ..PodSpec::default()
    }
}

fn environment(t: &Tenancy, line: &TenancyLine, devices: u32, vfs: u32) -> Option<Vec<EnvVar>> {
    let profile = match line.offering.kind {
        Kind::Whole if vfs > 0 => Profile::InfiniBand {
            gpus: devices,
            vfs,
            numa_aligned: t.settings.numa_aligned,
            service_level: t.settings.service_level,
        },
        Kind::Whole => Profile::SingleNode,
        Kind::Mig { .. } | Kind::Shared { .. } => Profile::Alone,
    };
    let variables: Vec<_> = nccl::environment(profile, t.settings.nccl)
        .into_iter()
        .map(|(name, value)| EnvVar { name: name.to_owned(), value: Some(value), value_from: None })
        .collect();
    (!variables.is_empty()).then_some(variables)
}

/// Requests equal limits: the pod is Guaranteed, so a kubelet that pins cores does it for this pod, and pinned memory
/// is bounded.
fn resources(t: &Tenancy, line: &TenancyLine, devices: u32, vfs: u32) -> ResourceRequirements {
    let mut amounts: BTreeMap<_, _> = Scratch::ALL
        .into_iter()
        .map(|kind| (kind.name().to_owned(), kind.of(&line.offering.per_unit).times(devices)))
        .filter(|(_, amount)| !amount.is_zero())
        .collect();
    amounts.insert(line.offering.resource.to_string(), Quantity::whole(devices));
    if let Some(used) = t.partition().filter(|_| vfs > 0) {
        amounts.insert(used.partition.resource().to_string(), Quantity::whole(vfs));
    }
    let written: BTreeMap<_, _> =
        amounts.into_iter().map(|(name, amount)| (name, Written(amount.to_string()))).collect();
    ResourceRequirements { claims: None, limits: Some(written.clone()), requests: Some(written) }
}

/// A taint named like a resource is tolerated because the pod asks for it; one like the pool's label because the
/// tenant policy lists it.
fn tolerations(line: &TenancyLine) -> Vec<Toleration> {
    let taint = |key: String, value: Option<String>| Toleration {
        effect: Some("NoSchedule".to_owned()),
        key: Some(key),
        operator: Some(if value.is_some() { "Equal" } else { "Exists" }.to_owned()),
        value,
        ..Toleration::default()
    };
    vec![
        taint(line.offering.resource.to_string(), None),
        taint(line.pool.label_key.clone(), Some(line.pool.label_value.clone())),
    ]
}

/// Size of `/dev/shm`: 8 GiB for each whole GPU, 1 GiB for a slice or share, and at most half of the memory, because
/// what lies there counts against it.
fn shared_memory(line: &TenancyLine, devices: u32) -> Quantity {
    let gib = match line.offering.kind {
        Kind::Whole => devices.saturating_mul(SHM_PER_GPU),
        Kind::Mig { .. } | Kind::Shared { .. } => 1,
    };
    let wanted = kib(1024 * 1024).times(gib);
    let memory = line.offering.per_unit.memory.times(devices);
    match memory.ceil() {
        Some(bytes) if !memory.is_zero() => wanted.min(kib(bytes / 2 / 1024)),
        Some(_) | None => wanted,
    }
}

fn kib(amount: i64) -> Quantity {
    format!("{amount}Ki").parse().unwrap_or(Quantity::ZERO)
}
