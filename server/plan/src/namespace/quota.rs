//! How much of each resource the namespace may have.

use std::collections::BTreeMap;

use domain::quantity::Quantity;
use k8s_openapi::{
    api::core::v1::{LimitRange, LimitRangeItem, LimitRangeSpec, ResourceQuota, ResourceQuotaSpec},
    apimachinery::pkg::api::resource::Quantity as Written,
};

use super::{QUOTA, Scratch, manifest, metadata};
use sha2::{Digest as _, Sha256};

use crate::{manifest::Manifest, tenancy::Tenancy};

/// Longest part of a qualified name behind the slash, and longest prefix before it.
const NAME_MAX: usize = 63;
const PREFIX_MAX: usize = 253;

/// Key that carries the [`revision`] of the limits: storage of a class that does not exist, so that nobody is limited
/// by it. The API server's quota admission reads quotas through a cache of its own, which may be behind what a watch
/// shows; a dry run of a claim of this class is refused with the limit that admission has (see [`crate::Gate`]).
pub(crate) const REVISION_KEY: &str = "gpuaas-revision.storageclass.storage.k8s.io/requests.storage";

/// One explicit limit for every device that the cluster knows, by every key that counts it, and what goes with the
/// grants. A key that is absent means no limit, so nothing is left out because it is zero.
pub(super) fn resource_quota(t: &Tenancy) -> Manifest {
    let mut hard: BTreeMap<String, Written> =
        t.limits().iter().map(|(name, limit)| (name.quota_key(), written(Quantity::whole(*limit)))).collect();
    for class in &t.known_device_classes {
        hard.extend(class_keys(class).into_iter().map(|key| (key, written(Quantity::ZERO))));
    }
    for kind in limited(t) {
        hard.insert(format!("requests.{}", kind.name()), written(together(t, kind)));
    }
    let revision = revision(&hard);
    hard.insert(REVISION_KEY.to_owned(), Written(revision.to_string()));
    manifest(&ResourceQuota {
        metadata: metadata(t, QUOTA),
        spec: Some(ResourceQuotaSpec { hard: Some(hard), ..ResourceQuotaSpec::default() }),
        ..ResourceQuota::default()
    })
}

/// A number that stands for exactly these limits. It is odd, so that the API server writes it without a suffix.
fn revision(hard: &BTreeMap<String, Written>) -> u32 {
    let mut hash = Sha256::new();
    for (key, limit) in hard {
        hash.update(format!("{key}={}\n", limit.0));
    }
    let bytes = hash.finalize();
    (u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) >> 2) | 1
}

/// In canonical form, as the API server stores it: 1000 is `1k` there.
fn written(amount: Quantity) -> Written {
    Written(amount.to_string())
}

/// The two keys that count devices of a class: those of claims, and those of pods that name the class as a resource.
/// A key that is no qualified name would have the API server refuse the whole quota. Nobody can ask for the second
/// one then; of the first, the tenant policy refuses every claim, as it does with classes that are not granted.
fn class_keys(class: &str) -> Vec<String> {
    let prefix = format!("{class}.deviceclass.resource.k8s.io");
    let claims = (prefix.len() <= PREFIX_MAX).then(|| format!("{prefix}/devices"));
    let pods =
        (class.len() <= NAME_MAX).then(|| format!("requests.deviceclass.resource.kubernetes.io/{class}"));
    claims.into_iter().chain(pods).collect()
}

/// Native resources that have a limit here. While something is granted: those of which some offering gives a share; a
/// site that gives none does not count them. While nothing is granted: all of them, and the limit is zero, because a
/// team without a grant has nothing to run on GPU nodes; its controllers (a `CronJob`, a `Deployment`) would otherwise
/// go on starting pods after the lease, with less limit than they had in it.
fn limited(t: &Tenancy) -> Vec<Scratch> {
    let granted = t.granted();
    let counts = |kind: &Scratch| {
        granted.is_empty() || granted.iter().any(|line| !kind.of(&line.offering.per_unit).is_zero())
    };
    Scratch::ALL.into_iter().filter(counts).collect()
}

/// What goes with all devices that the quota allows now.
fn together(t: &Tenancy, kind: Scratch) -> Quantity {
    t.granted()
        .into_iter()
        .fold(Quantity::ZERO, |sum, line| sum.plus(kind.of(&line.offering.per_unit).times(line.limit())))
}

/// A limit on a native resource has the API server refuse every container that does not ask for it, so containers
/// that say nothing are taken to ask for a little. No default limits, and never a word on devices: a `max` or
/// `default` there would give devices to every container.
pub(super) fn limit_range(t: &Tenancy) -> Option<Manifest> {
    let requests: BTreeMap<_, _> = limited(t)
        .into_iter()
        .map(|kind| (kind.name().to_owned(), Written(default_request(kind).to_owned())))
        .collect();
    (!requests.is_empty()).then(|| {
        manifest(&LimitRange {
            metadata: metadata(t, QUOTA),
            spec: Some(LimitRangeSpec {
                limits: vec![LimitRangeItem {
                    type_: "Container".to_owned(),
                    default_request: Some(requests),
                    ..LimitRangeItem::default()
                }],
            }),
        })
    })
}

fn default_request(kind: Scratch) -> &'static str {
    match kind {
        Scratch::Cpu => "100m",
        Scratch::Memory | Scratch::EphemeralStorage => "128Mi",
    }
}
