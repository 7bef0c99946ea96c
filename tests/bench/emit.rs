//! Apply rate with the readiness wait, requests per changed object, and the cost of a pass that changes nothing.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use cluster::{Link, LinkOptions, Member, MemberOptions, registration};
use futures::{StreamExt as _, stream};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kit::cluster::{Cluster, Options};
use kube::{Api, api::PostParams};
use plan::Desired;
use serde_json::json;

use crate::{against, fleet, peers};

/// User name of the probe in the API server's audit log.
const PROBE: &str = "system:serviceaccount:gpuaas-system:gpuaas-probe";
/// User name of the emitter in the API server's audit log.
const EMITTER: &str = "system:serviceaccount:gpuaas-system:gpuaas-emitter";

struct Round {
    ours: Duration,
    bare: Duration,
    kubectl: Duration,
    writes: usize,
    dry_runs: usize,
    idle: Duration,
    idle_writes: usize,
}

pub(crate) async fn run(tenants: u32, rounds: u32, concurrency: usize) {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let kubeconfig = cluster.kubeconfig().text.clone();
    let admin = Link::connect(&kubeconfig, LinkOptions::default()).await.unwrap();
    let identities = registration::install(&admin, &kubeconfig, |_| {}).await.unwrap();
    let options = MemberOptions {
        link: LinkOptions { concurrency, ..LinkOptions::default() },
        ..MemberOptions::of(fleet::pool().cluster)
    };
    let member = Arc::new(Member::start(&identities, options).await.unwrap());
    // The contenders act as an ordinary user: system:masters would be exempt from priority and fairness.
    let user = cluster.kubeconfig_for_user("bench", &[]).unwrap();
    let bindings: Api<ClusterRoleBinding> = Api::all(cluster.client().await.unwrap());
    let binding = json!({
        "metadata": {"name": "bench"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "name": "bench"}]
    });
    bindings.create(&PostParams::default(), &serde_json::from_value(binding).unwrap()).await.unwrap();
    let client = user.client().await.unwrap();
    let kubectl = Cluster::assets().unwrap().join("kubectl");
    let dir = tempfile::tempdir().unwrap();

    let mut done = vec![];
    for round in 0..rounds {
        let set = |who: &str| -> Vec<Desired> {
            (0..tenants).map(|n| plan::desired(&fleet::tenancy(&format!("{who}{round}-{n}"), n))).collect()
        };
        let (for_us, for_bare, for_kubectl) = (set("ours"), set("bare"), set("kubectl"));
        let mut figures = Round {
            ours: Duration::ZERO,
            bare: Duration::ZERO,
            kubectl: Duration::ZERO,
            writes: 0,
            dry_runs: 0,
            idle: Duration::ZERO,
            idle_writes: 0,
        };
        for contender in 0..3 {
            match (contender + round) % 3 {
                0 => {
                    let mark = cluster.audit_mark().unwrap();
                    figures.ours = enforce(&member, &for_us, concurrency).await;
                    figures.writes = writes(&cluster, mark);
                    figures.dry_runs = cluster.audit_since(mark).unwrap().of(PROBE).count();
                    let mark = cluster.audit_mark().unwrap();
                    figures.idle = enforce(&member, &for_us, concurrency).await;
                    figures.idle_writes = writes(&cluster, mark);
                }
                1 => figures.bare = peers::bare_loop(&client, &for_bare, concurrency).await,
                _ => figures.kubectl = peers::kubectl(&kubectl, &user.path, dir.path(), &for_kubectl).await,
            }
        }
        done.push(figures);
    }
    print(tenants, &done);
}

async fn enforce(member: &Arc<Member>, tenants: &[Desired], concurrency: usize) -> Duration {
    let start = Instant::now();
    stream::iter(tenants)
        .for_each_concurrent(concurrency, |desired| async move {
            member.enforce(desired).await.unwrap();
        })
        .await;
    start.elapsed()
}

/// Writes of the emitter since the mark; dry runs belong to the probe and are no writes.
fn writes(cluster: &Cluster, mark: u64) -> usize {
    cluster.audit_since(mark).unwrap().of(EMITTER).filter(|e| e.is_write() && !e.is_dry_run()).count()
}

fn print(tenants: u32, rounds: &[Round]) {
    let objects = f64::from(tenants) * 11.0;
    let rate = |of: fn(&Round) -> Duration| {
        let mut times: Vec<_> = rounds.iter().map(of).collect();
        objects / crate::percentile(&mut times, 0.5).as_secs_f64()
    };
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let (ours, bare, kubectl) = (rate(|r| r.ours), rate(|r| r.bare), rate(|r| r.kubectl));
    println!("Apply, fresh namespaces, {objects} objects, median of {} rounds:", rounds.len());
    println!("  gpuaas, waits for each quota, both probes and access included   {ours:>8.0} objects/s");
    println!("  bare loop of server-side applies, waits for nothing             {bare:>8.0} objects/s");
    println!("  kubectl apply --server-side -f                                  {kubectl:>8.0} objects/s");
    against("share of the bare loop's rate", ours / bare * 100.0, "%", 90.0, true);
    against("times the rate of kubectl", ours / kubectl, "x", 2.4, true);
    let dry_runs: usize = rounds.iter().map(|r| r.dry_runs).sum();
    println!(
        "  why: beside its 11 writes gpuaas asks {:.1} dry runs for each tenant (does admission act on the new quota; is\n       each limit and the policy proved), and waits for the quota controller between the third write and the rest",
        count(dry_runs) / (f64::from(tenants) * count(rounds.len()))
    );
    let writes: usize = rounds.iter().map(|r| r.writes).sum();
    let idle_writes: usize = rounds.iter().map(|r| r.idle_writes).sum();
    against(
        "requests per changed object",
        count(writes) / (objects * count(rounds.len())),
        "requests",
        1.0,
        false,
    );
    against("writes of a pass that changes nothing", count(idle_writes), "writes", 0.0, false);
    let mut idle: Vec<_> = rounds.iter().map(|r| r.idle).collect();
    let idle = crate::percentile(&mut idle, 0.5).as_secs_f64();
    println!("  a pass over {tenants} tenants that changes nothing, probes included    {idle:>8.2} s\n");
}
