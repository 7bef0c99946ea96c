//! An application with its job runner over a real cluster, with a clock that can be moved.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use app::{
    App, Clock, Ctx, Entropy, Once, Parts, Vault,
    jobs::{Runner, RunnerOptions},
};
use domain::{
    Timestamp,
    api::{GrantView, NewCluster, NewOffering, NewPool, NewRequest, NewTeam, NewUser},
    fleet::{ApprovalRules, Kind, Mode, PerUnit, Registration, Writer},
    grant::GrantState,
    id::GrantId,
    name::{ClusterName, DisplayName, OfferingName, PoolName, TeamName},
    people::{PlatformRole, TeamRole},
    request::Ask,
    resource::ResourceName,
    shape::Shape,
};
use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use kit::{
    cluster::Cluster,
    kubelet::{FakeKubelet, NodeGroup},
    wait_for,
};
use kube::{Api, Client, api::PostParams};
use rand::RngCore as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(super) const POOL_LABEL: &str = "gpuaas.io/pool";
const PASSWORD: &str = "a password for the tests";

/// The real time, moved by some seconds.
#[derive(Default)]
struct Moved {
    seconds: AtomicI64,
}

impl Clock for Moved {
    #[expect(clippy::disallowed_methods, reason = "the test kit reads the clock")]
    fn now(&self) -> Timestamp {
        chrono::Utc::now() + chrono::Duration::seconds(self.seconds.load(Ordering::SeqCst))
    }
}

struct Random;

impl Entropy for Random {
    fn fill(&self, buffer: &mut [u8]) {
        rand::rng().fill_bytes(buffer);
    }
}

/// Everything that a flow needs. Names begin with `prefix`, because tests share a cluster.
pub(super) struct World {
    pub app: App,
    pub admin: Ctx,
    pub approver: Ctx,
    pub cluster: ClusterName,
    pub dir: TempDir,
    prefix: &'static str,
    clock: Arc<Moved>,
    stop: CancellationToken,
    runner: Option<JoinHandle<()>>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl World {
    /// An application with a registered cluster; with a git repository where no kubeconfig is given.
    pub(super) async fn new(prefix: &'static str, kubeconfig: Option<&str>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}?mode=rwc", dir.path().join("db").display());
        let clock = Arc::new(Moved::default());
        let repo = gitops::Repo::open(dir.path().join("repo.git")).await.unwrap();
        let parts = Parts {
            store: store::Store::open(&url).await.unwrap(),
            vault: Vault::new([1; 32]),
            clock: clock.clone(),
            entropy: Arc::new(Random),
            repo: Some(repo),
            site: plan::SiteSettings::default(),
        };
        let app = App::new(parts);
        let token = app.first_start_token().await.unwrap().unwrap();
        let admin = Ctx { actor: app.finish_setup(&token, "admin", "Admin", PASSWORD).await.unwrap() };
        let approver = NewUser {
            login: "approver".into(),
            display: DisplayName::new("Approver").unwrap(),
            password: PASSWORD.into(),
            platform: vec![PlatformRole::Approver],
        };
        let approver = app.create_user(&admin, approver, Once::none()).await.unwrap();
        let approver = Ctx { actor: app.actor(approver.id).await.unwrap().unwrap() };
        let stop = CancellationToken::new();
        let runner = tokio::spawn(Runner::new(app.clone(), RunnerOptions::default()).run(stop.clone()));
        let cluster = ClusterName::new("test").unwrap();
        let new = NewCluster {
            name: cluster.clone(),
            display: DisplayName::new("Test").unwrap(),
            writer: if kubeconfig.is_some() { Writer::Kubernetes } else { Writer::Git },
            kubeconfig: kubeconfig.map(str::to_owned),
            fabric_slots: 4,
        };
        app.create_cluster(&admin, new, Once::none()).await.unwrap();
        let world = Self { app, admin, approver, cluster, dir, prefix, clock, stop, runner: Some(runner) };
        wait_for("the registration", Duration::from_secs(90), || world.registered()).await.unwrap();
        world
    }

    async fn registered(&self) -> Option<()> {
        let cluster = self.app.find_cluster(&self.admin, &self.cluster).await.unwrap();
        (cluster.registration == Registration::Ready).then_some(())
    }

    pub(super) fn name(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    pub(super) fn team_name(&self, name: &str) -> TeamName {
        TeamName::new(self.name(name)).unwrap()
    }

    pub(super) fn offering_name(&self, name: &str) -> OfferingName {
        OfferingName::new(self.name(name)).unwrap()
    }

    /// Moves the clock; jobs see it within a second.
    pub(super) fn advance(&self, days: i64) {
        self.clock.seconds.fetch_add(days * 24 * 3600, Ordering::SeqCst);
    }

    /// A pool, picked by its own label, and an offering of `resource` with `declared` devices.
    pub(super) async fn offering(
        &self,
        name: &str,
        resource: &str,
        mode: Mode,
        declared: u32,
    ) -> OfferingName {
        let pool = NewPool {
            name: PoolName::new(self.name(name)).unwrap(),
            cluster: self.cluster.clone(),
            display: DisplayName::new(name).unwrap(),
            model: "NVIDIA-H100-80GB-HBM3".into(),
            mode,
            label_key: None,
            label_value: None,
            vfs_per_gpu: 1,
            rules: ApprovalRules::default(),
        };
        let kind = match mode {
            Mode::Whole => Kind::Whole,
            Mode::Mig => Kind::Mig { profile: "1g.10gb".into() },
            Mode::Shared => Kind::Shared { replicas: 4 },
        };
        let offering = NewOffering {
            name: self.offering_name(name),
            pool: pool.name.clone(),
            display: DisplayName::new(name).unwrap(),
            description: String::new(),
            partition: mode == Mode::Whole,
            kind,
            resource: ResourceName::new(resource).unwrap(),
            effective_milli: 1000,
            per_unit: PerUnit {
                cpu: "4".parse().unwrap(),
                memory: "16Gi".parse().unwrap(),
                ephemeral_storage: "10Gi".parse().unwrap(),
            },
            per_pod_max: Some(8),
            declared,
            overcommit_percent: 100,
        };
        self.app.create_pool(&self.admin, pool, Once::none()).await.unwrap();
        self.app.create_offering(&self.admin, offering, Once::none()).await.unwrap().name
    }

    /// Nodes of a pool with eight devices each; waits until the ledger sees them.
    pub(super) async fn nodes(&self, client: Client, pool: &str, count: u32, resource: &str) -> FakeKubelet {
        let group = NodeGroup {
            name: self.name(pool),
            count,
            labels: [(POOL_LABEL.to_owned(), self.name(pool))].into(),
            taints: vec![],
            allocatable: [
                ("cpu", "64"),
                ("memory", "512Gi"),
                ("ephemeral-storage", "1Ti"),
                ("pods", "110"),
                (resource, "8"),
                ("nvidia.com/sriov8001", "8"),
            ]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into(),
        };
        let kubelet = FakeKubelet::start(client, vec![group]).await.unwrap();
        let offering = self.offering_name(pool);
        wait_for("the nodes in the ledger", Duration::from_secs(30), || async {
            let entry = self.app.find_offering(&self.admin, &offering).await.unwrap();
            (entry.largest_free_block == Some(8)).then_some(())
        })
        .await
        .unwrap();
        kubelet
    }

    /// A team whose lead is the admin.
    pub(super) async fn team(&self, name: &str) -> TeamName {
        let team = NewTeam { name: self.team_name(name), display: DisplayName::new(name).unwrap() };
        let team = self.app.create_team(&self.admin, team, Once::none()).await.unwrap().name;
        self.app.set_member(&self.admin, &team, "admin", TeamRole::Lead).await.unwrap();
        team
    }

    /// The admin with fresh roles: a lead of the teams that were made meanwhile.
    pub(super) async fn lead(&self) -> Ctx {
        Ctx { actor: self.app.actor(self.admin.actor.user).await.unwrap().unwrap() }
    }

    /// Asks and approves; the error is the approval's.
    pub(super) async fn try_grant(
        &self,
        team: &TeamName,
        offering: &OfferingName,
        amount: u32,
        partition: bool,
    ) -> app::Result<GrantId> {
        let until = self.app.now().date_naive() + chrono::Duration::days(7);
        let ask = Ask::New {
            offering: offering.clone(),
            shape: Shape { nodes: amount, per_node: 1 },
            partition,
            until,
        };
        self.decide(team, ask).await
    }

    /// Asks for anything and approves it.
    pub(super) async fn decide(&self, team: &TeamName, ask: Ask) -> app::Result<GrantId> {
        let new = NewRequest { ask, purpose: "a test".into() };
        let request = self.app.submit_request(&self.lead().await, team, new, Once::none()).await?.request;
        Ok(self.app.approve_request(&self.approver, team, request.id, None).await?.request.grant.unwrap())
    }

    pub(super) async fn grant(
        &self,
        team: &TeamName,
        offering: &OfferingName,
        amount: u32,
        partition: bool,
    ) -> GrantId {
        let id = self.try_grant(team, offering, amount, partition).await.unwrap();
        self.reaches(team, id, GrantState::Enforced).await;
        id
    }

    pub(super) async fn look(&self, team: &TeamName, id: GrantId) -> GrantView {
        self.app.find_grant(&self.admin, team, id).await.unwrap()
    }

    pub(super) async fn reaches(&self, team: &TeamName, id: GrantId, state: GrantState) {
        self.reaches_within(team, id, state, Duration::from_secs(40)).await;
    }

    pub(super) async fn reaches_within(
        &self,
        team: &TeamName,
        id: GrantId,
        state: GrantState,
        limit: Duration,
    ) {
        let what = format!("grant {id} of {team} to be {state:?}");
        let reached = wait_for(&what, limit, || async {
            (self.look(team, id).await.grant.state == state).then_some(())
        })
        .await;
        if let Err(error) = reached {
            panic!("{error}; it is {:#?}", self.look(team, id).await);
        }
    }

    /// Stops the runner and waits for its end.
    pub(super) async fn stop(mut self) {
        self.stop.cancel();
        if let Some(runner) = self.runner.take() {
            runner.await.unwrap();
        }
    }
}

/// Device limits of a namespace's quota, from its spec.
pub(super) async fn limits(client: &Client, namespace: &str) -> BTreeMap<String, String> {
    let quota = Api::<ResourceQuota>::namespaced(client.clone(), namespace).get("gpuaas").await.unwrap();
    let hard = quota.spec.and_then(|s| s.hard).unwrap_or_default();
    hard.into_iter()
        .filter_map(|(k, v)| Some((k.strip_prefix("requests.").filter(|k| k.contains('/'))?.to_owned(), v.0)))
        .collect()
}

/// A pod that asks for GPUs, as a tenant would write it.
pub(super) fn gpu_pod(name: &str, pool: Option<&str>, limits: &Value) -> Pod {
    let selector = pool.map_or(json!({}), |pool| json!({POOL_LABEL: pool}));
    let mut resources = json!({"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"});
    for (key, amount) in limits.as_object().unwrap() {
        resources[key] = amount.clone();
    }
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"nodeSelector": selector, "containers": [{"name": "main", "image": "none", "resources": {"limits": resources}}]}
    }))
    .unwrap()
}

/// Creates a pod; the error's text if it is refused.
pub(super) async fn create(client: &Client, namespace: &str, pod: &Pod) -> Result<(), String> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    pods.create(&PostParams::default(), pod).await.map(drop).map_err(|e| e.to_string())
}

/// The cluster that all tests share.
pub(super) async fn shared() -> &'static Cluster {
    Cluster::shared().await.unwrap()
}
