//! The demo's cluster: four pools of one node label, as GPU Feature Discovery writes it.

use std::{collections::BTreeMap, path::Path};

use app::{App, Ctx, Once};
use domain::{
    api::{ImportNodes, ImportedNode, NewCluster, NewOffering, NewPool},
    fleet::{ApprovalRules, Kind, Mode, PerUnit, Writer},
    name::{ClusterName, DisplayName, OfferingName, PoolName},
    resource::ResourceName,
};

use super::{DemoError, Result};

/// GPU Feature Discovery's label of the product; all four pools are picked by it.
const PRODUCT: &str = "nvidia.com/gpu.product";
/// VF slots of the InfiniBand adapters.
const SLOTS: u16 = 4;

/// Nodes of one model, and the pool that they make.
struct Model {
    pool: &'static str,
    display: &'static str,
    product: &'static str,
    mode: Mode,
    rules: ApprovalRules,
    nodes: u32,
    gpus: u32,
    /// Resources of one node.
    allocatable: &'static [(&'static str, u32)],
}

const fn rules(auto_up_to: u32, two_above: Option<u32>) -> ApprovalRules {
    ApprovalRules { auto_up_to, two_above, max_days: 90 }
}

const MODELS: [Model; 4] = [
    Model {
        pool: "h100-ib",
        display: "H100 with InfiniBand",
        product: "NVIDIA-H100-80GB-HBM3",
        mode: Mode::Whole,
        rules: rules(0, Some(16)),
        nodes: 4,
        gpus: 8,
        allocatable: &[
            ("nvidia.com/gpu", 8),
            ("nvidia.com/sriov8001", 8),
            ("nvidia.com/sriov8002", 8),
            ("nvidia.com/sriov8003", 8),
            ("nvidia.com/sriov8004", 8),
        ],
    },
    Model {
        pool: "a100-mig",
        display: "A100 in slices",
        product: "NVIDIA-A100-SXM4-80GB",
        mode: Mode::Mig,
        rules: rules(0, None),
        nodes: 2,
        gpus: 8,
        allocatable: &[
            ("nvidia.com/mig-1g.10gb", 16),
            ("nvidia.com/mig-2g.20gb", 8),
            ("nvidia.com/mig-3g.40gb", 8),
        ],
    },
    Model {
        pool: "l40s-shared",
        display: "L40S, shared by four",
        product: "NVIDIA-L40S",
        mode: Mode::Shared,
        rules: rules(2, Some(16)),
        nodes: 2,
        gpus: 4,
        allocatable: &[("nvidia.com/gpu.shared", 16)],
    },
    Model {
        pool: "b300-roce",
        display: "B300 with RoCE",
        product: "NVIDIA-B300-SXM6-AC",
        mode: Mode::Whole,
        rules: rules(0, Some(8)),
        nodes: 2,
        gpus: 8,
        allocatable: &[
            ("nvidia.com/gpu", 8),
            ("nvidia.com/roce_1101", 8),
            ("nvidia.com/roce_1102", 8),
            ("nvidia.com/roce_1103", 8),
            ("nvidia.com/roce_1104", 8),
        ],
    },
];

/// What can be asked for.
struct Offer {
    name: &'static str,
    pool: &'static str,
    display: &'static str,
    description: &'static str,
    resource: &'static str,
    /// Thousandths of a GPU.
    milli: u32,
    declared: u32,
    partition: bool,
    /// Per unit: cpu, memory and ephemeral storage.
    per_unit: (&'static str, &'static str, &'static str),
}

const OFFERS: [Offer; 6] = [
    Offer {
        name: "h100",
        pool: "h100-ib",
        display: "H100",
        description: "Whole GPU with 80 GB; a fabric partition of the team's own where it is asked for.",
        resource: "nvidia.com/gpu",
        milli: 1000,
        declared: 32,
        partition: true,
        per_unit: ("24", "200Gi", "500Gi"),
    },
    Offer {
        name: "a100-1g-10gb",
        pool: "a100-mig",
        display: "A100 1g.10gb",
        description: "One seventh of the cores of an A100, with 10 GB.",
        resource: "nvidia.com/mig-1g.10gb",
        milli: 143,
        declared: 32,
        partition: false,
        per_unit: ("4", "32Gi", "50Gi"),
    },
    Offer {
        name: "a100-2g-20gb",
        pool: "a100-mig",
        display: "A100 2g.20gb",
        description: "Two sevenths of the cores of an A100, with 20 GB.",
        resource: "nvidia.com/mig-2g.20gb",
        milli: 286,
        declared: 16,
        partition: false,
        per_unit: ("8", "64Gi", "100Gi"),
    },
    Offer {
        name: "a100-3g-40gb",
        pool: "a100-mig",
        display: "A100 3g.40gb",
        description: "Three sevenths of the cores of an A100, with 40 GB.",
        resource: "nvidia.com/mig-3g.40gb",
        milli: 500,
        declared: 16,
        partition: false,
        per_unit: ("12", "100Gi", "150Gi"),
    },
    Offer {
        name: "l40s-shared",
        pool: "l40s-shared",
        display: "L40S, shared (soft)",
        description: "A quarter of the time of an L40S; memory is not kept apart.",
        resource: "nvidia.com/gpu.shared",
        milli: 250,
        declared: 32,
        partition: false,
        per_unit: ("4", "32Gi", "50Gi"),
    },
    Offer {
        name: "b300",
        pool: "b300-roce",
        display: "B300",
        description: "Whole GPU with 288 GB.",
        resource: "nvidia.com/gpu",
        milli: 1000,
        declared: 16,
        partition: false,
        per_unit: ("28", "400Gi", "1Ti"),
    },
];

/// Makes cluster, nodes, pools and offerings. With a kubeconfig the cluster's own nodes are observed, else nodes are
/// imported and everything is published to git.
pub(super) async fn seed(app: &App, admin: &Ctx, kubeconfig: Option<&Path>) -> Result<()> {
    let cluster = ClusterName::new("demo")?;
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|source| DemoError::Io {
            what: format!("the kubeconfig {} cannot be read", path.display()),
            source,
        })
    };
    let kubeconfig = kubeconfig.map(read).transpose()?;
    let observed = kubeconfig.is_some();
    let writer = if observed { Writer::Kubernetes } else { Writer::Git };
    let display = DisplayName::new("Demo cluster")?;
    let new = NewCluster { name: cluster.clone(), display, writer, kubeconfig, fabric_slots: SLOTS };
    app.create_cluster(admin, new, Once::none()).await?;
    for model in &MODELS {
        app.create_pool(admin, model.pool(&cluster)?, Once::none()).await?;
    }
    for offer in OFFERS {
        app.create_offering(admin, offer.offering()?, Once::none()).await?;
    }
    if !observed {
        let mut nodes = vec![];
        for model in &MODELS {
            nodes.extend(model.imported()?);
        }
        app.import_nodes(admin, &cluster, ImportNodes { nodes }).await?;
    }
    Ok(())
}

impl Model {
    fn pool(&self, cluster: &ClusterName) -> Result<NewPool> {
        Ok(NewPool {
            name: PoolName::new(self.pool)?,
            cluster: cluster.clone(),
            display: DisplayName::new(self.display)?,
            model: self.product.to_owned(),
            mode: self.mode,
            label_key: Some(PRODUCT.to_owned()),
            label_value: Some(self.product.to_owned()),
            vfs_per_gpu: 1,
            rules: self.rules,
        })
    }

    fn imported(&self) -> Result<Vec<ImportedNode>> {
        let mut allocatable = BTreeMap::new();
        for (name, amount) in self.allocatable {
            allocatable.insert(resource(name)?, *amount);
        }
        let labels = BTreeMap::from([
            (PRODUCT.to_owned(), self.product.to_owned()),
            ("nvidia.com/gpu.count".to_owned(), self.gpus.to_string()),
            ("nvidia.com/gpu.present".to_owned(), "true".to_owned()),
        ]);
        let stem = self.pool.split('-').next().unwrap_or(self.pool);
        let node = |number: u32| ImportedNode {
            name: format!("{stem}-{number}"),
            labels: labels.clone(),
            allocatable: allocatable.clone(),
        };
        Ok((1..=self.nodes).map(node).collect())
    }
}

fn resource(name: &str) -> Result<ResourceName> {
    ResourceName::new(name).map_err(|error| DemoError::Wrong(error.to_string()))
}

impl Offer {
    fn offering(self) -> Result<NewOffering> {
        let quantity =
            |text: &str| text.parse().map_err(|error| DemoError::Wrong(format!("{text}: {error}")));
        let (cpu, memory, storage) = self.per_unit;
        let kind = match self.resource.strip_prefix("nvidia.com/mig-") {
            Some(profile) => Kind::Mig { profile: profile.to_owned() },
            None if self.resource.ends_with(".shared") => Kind::Shared { replicas: 4 },
            None => Kind::Whole,
        };
        Ok(NewOffering {
            name: OfferingName::new(self.name)?,
            pool: PoolName::new(self.pool)?,
            display: DisplayName::new(self.display)?,
            description: self.description.to_owned(),
            kind,
            resource: resource(self.resource)?,
            effective_milli: self.milli,
            per_unit: PerUnit {
                cpu: quantity(cpu)?,
                memory: quantity(memory)?,
                ephemeral_storage: quantity(storage)?,
            },
            partition: self.partition,
            per_pod_max: None,
            declared: self.declared,
            overcommit_percent: 100,
        })
    }
}
