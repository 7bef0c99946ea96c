//! Follows the nodes, pods and quotas of a registered cluster and keeps the ledger's observations.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use cluster::{
    ClusterFacts, Drift, Link, LinkOptions, Member, MemberOptions,
    registration::{self, Identities},
};
use domain::{
    fleet::{Cluster, Registration, Writer},
    name::{ClusterName, NamespaceName},
    resource::ResourceName,
};
use store::{Conn, ledger::Usage};
use tokio_util::sync::CancellationToken;

use super::Work;
use crate::{App, AppError, Result, access::Deed, fleet, jobs, observation};

/// Looked at even if nothing seems to change: a new offering has no observation yet.
const AT_LEAST: Duration = Duration::from_secs(5);
/// Longer than a pass's note of use stands against an observer (`store::ledger::set_usage`).
const AGAIN: Duration = Duration::from_secs(3);
/// Tokens are renewed this long before they end.
const RENEW: chrono::Duration = chrono::Duration::days(30);

/// Clusters that should be observed.
pub(super) async fn wanted(app: &App) -> Result<Vec<ClusterName>> {
    let clusters = store::clusters::list(&mut *app.store().read().await?).await?;
    let observed = |c: &Cluster| c.writer == Writer::Kubernetes && c.registration == Registration::Ready;
    Ok(clusters.into_iter().filter(observed).map(|c| c.name).collect())
}

/// Observes one cluster until the token is cancelled, the identities change, or the connection cannot be made.
pub(super) async fn run(app: &App, name: &ClusterName, stop: &CancellationToken) -> Result<()> {
    let mut conn = app.store().read().await?;
    let emitter = app.open_secret(&mut conn, name, "emitter").await?;
    let probe = app.open_secret(&mut conn, name, "probe").await?;
    drop(conn);
    let (Some(emitter), Some(probe)) = (emitter, probe) else { return Ok(()) };
    let identities = Identities { emitter, probe };
    let started = Member::start(&identities, MemberOptions::of(name.clone())).await;
    let member = Arc::new(started.map_err(|e| AppError::internal("the cluster cannot be observed", e))?);
    app.inner.members.put(name.clone(), member.clone());
    // What changed while nobody watched is not told as drift; a pass over each namespace finds it.
    let mut tx = app.store().begin().await?;
    jobs::enqueue_cluster(app, &mut tx, name).await?;
    tx.commit().await?;
    app.inner.wake.notify_one();
    let result = follow(app, name, &member, &identities, stop).await;
    app.inner.members.remove(name);
    result
}

async fn follow(
    app: &App,
    name: &ClusterName,
    member: &Arc<Member>,
    identities: &Identities,
    stop: &CancellationToken,
) -> Result<()> {
    let mut last: Option<ClusterFacts> = None;
    // What passes noted is not lowered for a while, so a change is recorded a second time when that while is over.
    let mut again_from: Option<Instant> = None;
    loop {
        let replaced = app.inner.members.get(name).is_none_or(|m| !Arc::ptr_eq(&m, member));
        if stop.is_cancelled() || replaced {
            return Ok(());
        }
        if identities.expire_at().is_some_and(|end| end - app.now() < RENEW) {
            // The observer is started anew with the new tokens.
            return renew(app, name, identities).await;
        }
        let facts = member.facts();
        let changed = last.as_ref() != Some(&facts);
        let again = again_from.is_some_and(|from| Instant::now() >= from);
        record(app, name, &facts, changed || again).await?;
        again_from = if changed { Some(Instant::now() + AGAIN) } else { again_from.filter(|_| !again) };
        last = Some(facts);
        tokio::select! {
            () = stop.cancelled() => {}
            () = member.changed() => {}
            drifts = member.drifted() => repair(app, name, &drifts).await?,
            () = tokio::time::sleep(AT_LEAST) => {}
        }
    }
}

/// New tokens, made by the emitter itself.
async fn renew(app: &App, name: &ClusterName, identities: &Identities) -> Result<()> {
    let failed = |e| AppError::internal("the tokens of a cluster could not be renewed", e);
    let link = Link::connect(&identities.emitter, LinkOptions::default()).await.map_err(failed)?;
    let new = registration::renew(&link, &identities.emitter).await.map_err(failed)?;
    let (emitter, probe) = (app.seal(name, "emitter", &new.emitter)?, app.seal(name, "probe", &new.probe)?);
    let mut tx = app.store().begin().await?;
    store::clusters::set_secret(&mut tx, name, "emitter", &emitter).await?;
    store::clusters::set_secret(&mut tx, name, "probe", &probe).await?;
    Ok(tx.commit().await?)
}

/// Others changed or deleted objects of ours: their namespaces are written anew, and the audit list says who did it.
async fn repair(app: &App, name: &ClusterName, drifts: &[Drift]) -> Result<()> {
    let mut tx = app.store().begin().await?;
    for drift in drifts {
        let namespace = NamespaceName::stored(
            drift.object.namespace.clone().unwrap_or_else(|| drift.object.name.clone()),
        );
        let Some(view) = store::namespaces::find(&mut tx, name, &namespace).await? else { continue };
        jobs::enqueue(app, &mut tx, &Work::Namespace { cluster: name.clone(), namespace }).await?;
        let detail = serde_json::json!({"object": drift.object.to_string(), "by": drift.by});
        let deed = Deed {
            action: "namespace.drift",
            subject: format!("namespace/{}", view.name),
            team: Some(&view.team),
            detail,
        };
        app.audit_job(&mut tx, "observer", deed).await?;
    }
    tx.commit().await?;
    app.inner.wake.notify_one();
    Ok(())
}

/// Stores the facts. Quiet passes only refresh the offerings' observations, for those that are new.
async fn record(app: &App, name: &ClusterName, facts: &ClusterFacts, changed: bool) -> Result<()> {
    let (now, seen) = (app.now(), observation::Fleet::of_facts(facts));
    let mut tx = app.store().begin().await?;
    let cluster = fleet::find_cluster(&mut tx, name).await?;
    if changed {
        store::nodes::replace_all(&mut tx, name, &seen.nodes).await?;
        store::ledger::set_usage(&mut tx, name, &usage(facts), now).await?;
    }
    observation::record(&mut tx, name, &seen, now).await?;
    let known: BTreeSet<_> = cluster.known_resources.iter().cloned().chain(advertised(facts)).collect();
    let classes: BTreeSet<_> =
        cluster.known_device_classes.iter().cloned().chain(facts.device_classes.iter().cloned()).collect();
    let grown =
        known.len() > cluster.known_resources.len() || classes.len() > cluster.known_device_classes.len();
    let (known, classes): (Vec<_>, Vec<_>) = (known.into_iter().collect(), classes.into_iter().collect());
    store::clusters::set_observed(&mut tx, name, &known, &classes, now).await?;
    if grown {
        jobs::enqueue_cluster(app, &mut tx, name).await?;
    } else if changed {
        enqueue_waiting(app, &mut tx, name).await?;
    }
    tx.commit().await?;
    app.inner.wake.notify_one();
    Ok(())
}

/// Quotas that wait for room may have it now: use fell, or a node came back.
async fn enqueue_waiting(app: &App, conn: &mut Conn, cluster: &ClusterName) -> Result<()> {
    let pools = store::pools::list(conn).await?.into_iter().filter(|p| p.cluster == *cluster);
    let pools: BTreeSet<_> = pools.map(|p| p.name).collect();
    let offerings = store::offerings::list(conn).await?.into_iter().filter(|o| pools.contains(&o.pool));
    let offerings: Vec<_> = offerings.map(|o| o.name).collect();
    jobs::enqueue_waiting(app, conn, &offerings).await
}

fn advertised(facts: &ClusterFacts) -> impl Iterator<Item = ResourceName> + '_ {
    facts.nodes.iter().flat_map(|n| n.allocatable.keys().cloned())
}

fn usage(facts: &ClusterFacts) -> Vec<Usage> {
    let mut rows = vec![];
    for (namespace, seen) in facts.namespaces.iter().filter(|(_, n)| n.tenant.is_some()) {
        for (resource, figures) in &seen.resources {
            rows.push(Usage {
                namespace: NamespaceName::stored(namespace.clone()),
                resource: resource.clone(),
                hard: figures.hard,
                charged: figures.charged,
                running: figures.running,
                pending: figures.pending,
            });
        }
    }
    rows
}
