//! From an approver's word to a namespace that the cluster enforces: probes refused, access given.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use app::{
    App, Clock, Ctx, Entropy, Once, Parts, Vault,
    jobs::{Runner, RunnerOptions},
};
use domain::{
    Timestamp,
    api::{NewCluster, NewOffering, NewPool, NewRequest, NewTeam, NewUser},
    fleet::{Registration, Writer},
    grant::GrantState,
    name::{ClusterName, DisplayName, TeamName},
    people::{PlatformRole, TeamRole},
    request::Ask,
    shape::Shape,
};
use kit::{
    cluster::{Cluster, Options},
    kubelet::{FakeKubelet, NodeGroup},
};
use rand::RngCore as _;
use tokio_util::sync::CancellationToken;

use crate::{against, fleet, percentile};

const PASSWORD: &str = "a password for the bench";
const GPUS_PER_NODE: u32 = 8;

struct System;

impl Clock for System {
    #[expect(clippy::disallowed_methods, reason = "a bench runs in real time")]
    fn now(&self) -> Timestamp {
        chrono::Utc::now()
    }
}

impl Entropy for System {
    fn fill(&self, buffer: &mut [u8]) {
        rand::rng().fill_bytes(buffer);
    }
}

pub(crate) async fn run(approvals: u32) {
    let cluster = Cluster::start(Options { audit: false, ..Options::default() }).await.unwrap();
    let nodes = NodeGroup::built_in("h100").unwrap().times(approvals.div_ceil(GPUS_PER_NODE));
    let _kubelet = FakeKubelet::start(cluster.client().await.unwrap(), vec![nodes]).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store =
        store::Store::open(&format!("sqlite:{}?mode=rwc", dir.path().join("db").display())).await.unwrap();
    let app = App::new(Parts {
        store,
        vault: Vault::new([1; 32]),
        clock: Arc::new(System),
        entropy: Arc::new(System),
        repo: None,
        site: plan::SiteSettings::default(),
    });
    let stop = CancellationToken::new();
    let runner = tokio::spawn(Runner::new(app.clone(), RunnerOptions::default()).run(stop.clone()));
    let (admin, approver) = people(&app).await;
    register(&app, &admin, &cluster.kubeconfig().text).await;

    let mut times = vec![];
    for n in 0..approvals {
        times.push(one(&app, &admin, &approver, n).await);
    }
    stop.cancel();
    runner.await.unwrap();
    println!(
        "Approval to enforced, one tenant at a time, {approvals} approvals (SQLite, job runner in the same process):"
    );
    let p50 = percentile(&mut times, 0.5).as_secs_f64() * 1000.0;
    let p95 = percentile(&mut times, 0.95).as_secs_f64() * 1000.0;
    println!("  p50 {p50:>66.0} ms");
    against("p95", p95, "ms", 1000.0, false);
}

async fn people(app: &App) -> (Ctx, Ctx) {
    let token = app.first_start_token().await.unwrap().unwrap();
    let admin = Ctx { actor: app.finish_setup(&token, "admin", "Admin", PASSWORD).await.unwrap() };
    let new = NewUser {
        login: "approver".into(),
        display: DisplayName::new("Approver").unwrap(),
        password: PASSWORD.into(),
        platform: vec![PlatformRole::Approver],
    };
    let approver = app.create_user(&admin, new, Once::none()).await.unwrap();
    (admin, Ctx { actor: app.actor(approver.id).await.unwrap().unwrap() })
}

async fn register(app: &App, admin: &Ctx, kubeconfig: &str) {
    let name = ClusterName::new("bench").unwrap();
    let cluster = NewCluster {
        name: name.clone(),
        display: DisplayName::new("Bench").unwrap(),
        writer: Writer::Kubernetes,
        kubeconfig: Some(kubeconfig.to_owned()),
        fabric_slots: 100,
    };
    app.create_cluster(admin, cluster, Once::none()).await.unwrap();
    let (pool, offering) = (fleet::pool(), fleet::offering());
    let new = NewPool {
        name: pool.name,
        cluster: name.clone(),
        display: pool.display,
        model: pool.model,
        mode: pool.mode,
        label_key: Some(pool.label_key),
        label_value: Some(pool.label_value),
        vfs_per_gpu: 1,
        rules: pool.rules,
    };
    app.create_pool(admin, new, Once::none()).await.unwrap();
    let new = NewOffering {
        name: offering.name.clone(),
        pool: offering.pool,
        display: offering.display,
        description: offering.description,
        kind: offering.kind,
        resource: offering.resource,
        effective_milli: offering.effective_milli,
        per_unit: offering.per_unit,
        partition: true,
        per_pod_max: offering.per_pod_max,
        declared: 1000,
        overcommit_percent: 100,
    };
    app.create_offering(admin, new, Once::none()).await.unwrap();
    let registered = || async {
        let ready = app.find_cluster(admin, &name).await.unwrap().registration == Registration::Ready;
        let seen = app.find_offering(admin, &offering.name).await.unwrap().limit > 0;
        (ready && seen).then_some(())
    };
    kit::wait_for("the registration of the cluster", Duration::from_secs(90), registered).await.unwrap();
}

async fn one(app: &App, admin: &Ctx, approver: &Ctx, n: u32) -> Duration {
    let team = TeamName::new(format!("team-{n}")).unwrap();
    app.create_team(
        admin,
        NewTeam { name: team.clone(), display: DisplayName::new(team.as_str()).unwrap() },
        Once::none(),
    )
    .await
    .unwrap();
    app.set_member(admin, &team, "admin", TeamRole::Lead).await.unwrap();
    let asker = Ctx { actor: app.actor(admin.actor.user).await.unwrap().unwrap() };
    let until = app.now().date_naive() + chrono::Duration::days(7);
    let ask = Ask::New {
        offering: fleet::offering().name,
        shape: Shape { nodes: 1, per_node: 1 },
        partition: n < 4,
        until,
    };
    let request = app
        .submit_request(&asker, &team, NewRequest { ask, purpose: "bench".into() }, Once::none())
        .await
        .unwrap()
        .request;
    let start = Instant::now();
    let grant = app.approve_request(approver, &team, request.id, None).await.unwrap().request.grant.unwrap();
    loop {
        let now = app.find_grant(approver, &team, grant).await.unwrap().grant;
        if now.state == GrantState::Enforced {
            return start.elapsed();
        }
        assert!(start.elapsed() < Duration::from_secs(60), "not enforced in a minute: {:?}", now.blocked);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
