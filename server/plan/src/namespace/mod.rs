//! The objects of one namespace of a team.

mod access;
mod boundary;
mod network;
pub(crate) mod quota;
pub(crate) mod security;
mod template;

use std::collections::BTreeMap;

use domain::{fleet::PerUnit, quantity::Quantity};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use crate::{
    labels,
    manifest::Manifest,
    probe,
    tenancy::{Desired, Tenancy},
};

/// Name of the `ResourceQuota` and of the `LimitRange` of a namespace.
pub const QUOTA: &str = "gpuaas";

/// What the cluster should hold of one namespace. The same tenancy gives the same bytes.
#[must_use]
pub fn desired(t: &Tenancy) -> Desired {
    let mut rest = Vec::from_iter(quota::limit_range(t));
    rest.extend(network::policies(t));
    rest.extend(network::attachment(t));
    rest.extend(t.granted().into_iter().map(|line| template::pod_template(t, line)));
    let quota = quota::resource_quota(t);
    Desired {
        gate: probe::gate(t, &quota),
        guard: vec![boundary::namespace(t), quota, boundary::policy(t)],
        rest,
        access: if t.open { access::role_bindings(t) } else { Vec::new() },
        probes: probe::probes(t),
    }
}

/// The native resources that go with devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scratch {
    Cpu,
    Memory,
    EphemeralStorage,
}

impl Scratch {
    pub(crate) const ALL: [Self; 3] = [Self::Cpu, Self::Memory, Self::EphemeralStorage];

    /// The name of the resource in pods.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::EphemeralStorage => "ephemeral-storage",
        }
    }

    fn of(self, unit: &PerUnit) -> Quantity {
        match self {
            Self::Cpu => unit.cpu,
            Self::Memory => unit.memory,
            Self::EphemeralStorage => unit.ephemeral_storage,
        }
    }
}

/// Whether the resource is one of Kubernetes' own.
pub(crate) fn is_native(resource: &str) -> bool {
    !resource.contains('/')
}

/// Name, namespace and labels of an object in the namespace.
fn metadata(t: &Tenancy, name: impl Into<String>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.into()),
        namespace: Some(t.namespace.as_str().to_owned()),
        labels: Some(our_labels(t)),
        ..ObjectMeta::default()
    }
}

fn our_labels(t: &Tenancy) -> BTreeMap<String, String> {
    BTreeMap::from([
        (labels::MANAGED_BY.to_owned(), labels::MANAGER.to_owned()),
        (labels::TENANT.to_owned(), t.team.as_str().to_owned()),
    ])
}

/// The object as a manifest.
///
/// # Panics
/// Never: the objects of this crate have a kind of the table, a name, and a namespace where the kind has one.
#[expect(
    clippy::expect_used,
    reason = "typed objects with fixed kinds and names; the tests make each of them"
)]
pub(crate) fn manifest<T: Serialize>(object: &T) -> Manifest {
    Manifest::of(object).expect("an object with kind, name and the right scope")
}
