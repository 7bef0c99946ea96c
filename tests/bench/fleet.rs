//! Tenancies for the apply runs: eleven objects each.

use domain::{
    fabric::Partition,
    fleet::{ApprovalRules, Kind, Mode, Offering, PerUnit, Pool},
    name::{ClusterName, DisplayName, NamespaceName, OfferingName, PoolName, TeamName},
    resource::ResourceName,
};
use plan::{PartitionUse, SiteSettings, Tenancy, TenancyLine};

/// Pool of the bench.
pub(crate) fn pool() -> Pool {
    Pool {
        name: PoolName::new("h100-ib").unwrap(),
        cluster: ClusterName::new("bench").unwrap(),
        display: DisplayName::new("H100 InfiniBand").unwrap(),
        model: "NVIDIA-H100-80GB-HBM3".to_owned(),
        mode: Mode::Whole,
        label_key: "nvidia.com/gpu.product".to_owned(),
        label_value: "NVIDIA-H100-80GB-HBM3".to_owned(),
        vfs_per_gpu: 1,
        rules: ApprovalRules::default(),
        retired: false,
        version: 1,
    }
}

/// Offering of the bench.
pub(crate) fn offering() -> Offering {
    Offering {
        name: OfferingName::new("h100").unwrap(),
        pool: pool().name,
        display: DisplayName::new("H100").unwrap(),
        description: String::new(),
        kind: Kind::Whole,
        resource: ResourceName::new("nvidia.com/gpu").unwrap(),
        effective_milli: 1000,
        per_unit: PerUnit {
            cpu: "12".parse().unwrap(),
            memory: "128Gi".parse().unwrap(),
            ephemeral_storage: "200Gi".parse().unwrap(),
        },
        partition: true,
        per_pod_max: Some(8),
        declared: 1_000_000,
        overcommit_percent: 100,
        retired: false,
        version: 1,
    }
}

/// A team with eight GPUs and a partition: eleven objects.
pub(crate) fn tenancy(name: &str, number: u32) -> Tenancy {
    let team = TeamName::new(name).unwrap();
    let slot = u16::try_from(number % 100 + 1).unwrap();
    let partition = Partition::in_slot(ClusterName::new("bench").unwrap(), team.clone(), slot).unwrap();
    Tenancy {
        cluster: ClusterName::new("bench").unwrap(),
        team_display: DisplayName::new(name).unwrap(),
        namespace: NamespaceName::of_team(&team),
        team,
        lines: vec![TenancyLine { offering: offering(), pool: pool(), granted: 8, hard: 8, block: 8 }],
        known_resources: [
            "nvidia.com/gpu",
            "nvidia.com/gpu.shared",
            "nvidia.com/mig-1g.10gb",
            "nvidia.com/mig-3g.40gb",
        ]
        .map(|n| ResourceName::new(n).unwrap())
        .to_vec(),
        partition: Some(PartitionUse { partition, vfs: 8 }),
        known_device_classes: vec![],
        open: true,
        settings: SiteSettings::default(),
    }
}
