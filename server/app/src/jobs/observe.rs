//! Follows the nodes, pods and quotas of a registered cluster and keeps the ledger's observations.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use cluster::{ClusterFacts, Member, MemberOptions, registration::Identities};
use domain::{
    fleet::{Cluster, Registration, Writer},
    name::{ClusterName, NamespaceName},
    resource::ResourceName,
};
use store::{Conn, ledger::Usage};
use tokio_util::sync::CancellationToken;

use crate::{App, AppError, Result, fleet, jobs, observation};

/// Looked at even if nothing seems to change: a new offering has no observation yet.
const AT_LEAST: Duration = Duration::from_secs(5);

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
    let started = Member::start(&Identities { emitter, probe }, MemberOptions::default()).await;
    let member = Arc::new(started.map_err(|e| AppError::internal("the cluster cannot be observed", e))?);
    app.inner.members.put(name.clone(), member.clone());
    app.inner.wake.notify_one();
    let result = follow(app, name, &member, stop).await;
    app.inner.members.remove(name);
    member.stop().await;
    result
}

async fn follow(app: &App, name: &ClusterName, member: &Arc<Member>, stop: &CancellationToken) -> Result<()> {
    let mut last: Option<ClusterFacts> = None;
    loop {
        let replaced = app.inner.members.get(name).is_none_or(|m| !Arc::ptr_eq(&m, member));
        if stop.is_cancelled() || replaced {
            return Ok(());
        }
        let facts = member.facts();
        let changed = last.as_ref() != Some(&facts);
        record(app, name, &facts, changed).await?;
        last = Some(facts);
        tokio::select! {
            () = stop.cancelled() => {}
            () = member.changed() => {}
            () = tokio::time::sleep(AT_LEAST) => {}
        }
    }
}

/// Stores the facts. Quiet passes only refresh the offerings' observations, for those that are new.
async fn record(app: &App, name: &ClusterName, facts: &ClusterFacts, changed: bool) -> Result<()> {
    let (now, seen) = (app.now(), observation::Fleet::of_facts(name, facts));
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
    let pools: BTreeSet<_> = store::pools::list(conn)
        .await?
        .into_iter()
        .filter(|p| p.cluster == *cluster)
        .map(|p| p.name)
        .collect();
    for offering in store::offerings::list(conn).await? {
        if pools.contains(&offering.pool) {
            jobs::enqueue_waiting(app, conn, &offering.name).await?;
        }
    }
    Ok(())
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
