//! A small fleet: H100 with InfiniBand, A100 whole and cut, L40S shared.

use domain::{
    fabric::Partition,
    fleet::{Kind, Mode, Offering, PerUnit, Pool},
    name::{ClusterName, DisplayName, NamespaceName, OfferingName, PoolName, TeamName},
    resource::ResourceName,
};
use plan::{Desired, PartitionUse, SiteSettings, Tenancy, TenancyLine, manifest::Manifest};
use serde_json::Value;

pub(crate) const KNOWN: [&str; 5] = [
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "nvidia.com/mig-1g.10gb",
    "nvidia.com/sriov8001",
    "nvidia.com/sriov8002",
];

pub(crate) fn resource(name: &str) -> ResourceName {
    ResourceName::new(name).unwrap()
}

pub(crate) fn cluster() -> ClusterName {
    ClusterName::new("main").unwrap()
}

pub(crate) fn per_unit(cpu: &str, memory: &str, storage: &str) -> PerUnit {
    PerUnit {
        cpu: cpu.parse().unwrap(),
        memory: memory.parse().unwrap(),
        ephemeral_storage: storage.parse().unwrap(),
    }
}

fn pool(name: &str, model: &str, mode: Mode) -> Pool {
    Pool {
        name: PoolName::new(name).unwrap(),
        cluster: cluster(),
        display: DisplayName::new(model).unwrap(),
        model: model.to_owned(),
        mode,
        label_key: "gpuaas.io/pool".to_owned(),
        label_value: name.to_owned(),
        vfs_per_gpu: 1,
        rules: domain::fleet::ApprovalRules::default(),
        retired: false,
        version: 1,
    }
}

fn line(pool: Pool, kind: Kind, name: &str, unit: PerUnit) -> TenancyLine {
    let offering = Offering {
        name: OfferingName::new(format!("{}-{}", pool.name, kind_name(&kind))).unwrap(),
        pool: pool.name.clone(),
        display: pool.display.clone(),
        description: String::new(),
        partition: kind == Kind::Whole,
        kind,
        resource: resource(name),
        effective_milli: 1000,
        per_unit: unit,
        per_pod_max: None,
        declared: 1000,
        overcommit_percent: 100,
        retired: false,
        version: 1,
    };
    TenancyLine { offering, pool, granted: 0, hard: 0, block: 1 }
}

fn kind_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Whole => "whole",
        Kind::Mig { .. } => "slice",
        Kind::Shared { .. } => "share",
    }
}

/// The line with `n` devices granted and allowed, in blocks of `block`.
pub(crate) fn with(line: TenancyLine, n: u32, block: u32) -> TenancyLine {
    TenancyLine { granted: n, hard: n, block, ..line }
}

pub(crate) fn h100() -> TenancyLine {
    let mut line = line(
        pool("h100", "NVIDIA-H100-80GB-HBM3", Mode::Whole),
        Kind::Whole,
        "nvidia.com/gpu",
        per_unit("12", "120Gi", "100Gi"),
    );
    line.offering.per_pod_max = Some(8);
    line
}

pub(crate) fn a100() -> TenancyLine {
    line(
        pool("a100", "NVIDIA-A100-SXM4-80GB", Mode::Whole),
        Kind::Whole,
        "nvidia.com/gpu",
        per_unit("8", "96Gi", "100Gi"),
    )
}

pub(crate) fn slice() -> TenancyLine {
    let mut line = line(
        pool("a100-mig", "NVIDIA-A100-SXM4-80GB", Mode::Mig),
        Kind::Mig { profile: "1g.10gb".to_owned() },
        "nvidia.com/mig-1g.10gb",
        per_unit("2", "16Gi", "20Gi"),
    );
    line.offering.per_pod_max = Some(1);
    line
}

pub(crate) fn share() -> TenancyLine {
    let mut line = line(
        pool("l40s", "NVIDIA-L40S", Mode::Shared),
        Kind::Shared { replicas: 4 },
        "nvidia.com/gpu.shared",
        per_unit("500m", "1536Mi", "10G"),
    );
    line.offering.per_pod_max = Some(1);
    line
}

pub(crate) fn partition(team: &str, slot: u16, vfs: u32) -> PartitionUse {
    let team = TeamName::new(team).unwrap();
    PartitionUse { partition: Partition::in_slot(cluster(), team, slot).unwrap(), vfs }
}

/// An open namespace of team vision.
pub(crate) fn tenancy(lines: Vec<TenancyLine>, partition: Option<PartitionUse>) -> Tenancy {
    let team = TeamName::new("vision").unwrap();
    Tenancy {
        cluster: cluster(),
        namespace: NamespaceName::of_team(&team),
        team,
        team_display: DisplayName::new("Vision · Зрение").unwrap(),
        lines,
        partition,
        known_resources: KNOWN.map(resource).to_vec(),
        known_device_classes: vec!["gpu.nvidia.com".to_owned()],
        open: true,
        settings: SiteSettings::default(),
    }
}

pub(crate) fn whole_with_partition() -> Tenancy {
    tenancy(vec![with(h100(), 16, 8)], Some(partition("vision", 1, 16)))
}

/// The same team after its lease.
pub(crate) fn ended() -> Tenancy {
    let lines = vec![with(h100(), 0, 1)];
    Tenancy { open: false, ..tenancy(lines, None) }
}

/// The only object of a kind.
pub(crate) fn one<'a>(desired: &'a Desired, kind: &str) -> &'a Manifest {
    let found = all(desired, kind);
    assert_eq!(found.len(), 1, "objects of kind {kind}");
    found[0]
}

pub(crate) fn all<'a>(desired: &'a Desired, kind: &str) -> Vec<&'a Manifest> {
    desired.all().filter(|manifest| manifest.kind == kind).collect()
}

pub(crate) fn hard(desired: &Desired) -> serde_json::Map<String, Value> {
    one(desired, "ResourceQuota").body["spec"]["hard"].as_object().unwrap().clone()
}

/// The template of an offering: its pod template.
pub(crate) fn template(t: &Tenancy) -> Value {
    one(&plan::desired(t), "PodTemplate").body["template"].clone()
}

/// Variables of the template's container.
pub(crate) fn variables(template: &Value) -> Vec<(String, String)> {
    let list = template["spec"]["containers"][0]["env"].as_array().cloned().unwrap_or_default();
    list.iter()
        .map(|variable| {
            let text = |key: &str| variable[key].as_str().unwrap().to_owned();
            (text("name"), text("value"))
        })
        .collect()
}

pub(crate) fn bytes(quantity: &Value) -> i64 {
    quantity.as_str().unwrap().parse::<domain::quantity::Quantity>().unwrap().ceil().unwrap()
}
