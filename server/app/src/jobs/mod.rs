//! Work that runs after the transaction that asked for it: idempotent, from zero each time.

mod hindrance;
mod leases;
mod namespace;
mod observe;
mod register;
mod runner;

use std::collections::BTreeSet;

use domain::{
    grant::Grant,
    id::JobId,
    name::{ClusterName, NamespaceName, OfferingName},
};
use store::{Conn, outbox::Job};

pub(crate) use namespace::confirm_lowered;
pub use runner::{Runner, RunnerOptions};

use crate::{App, Result};

/// A piece of work. Two of the same key are one: each pass makes all of it true.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Work {
    /// Install the static objects and identities, and wait until the tenant policy answers.
    Register { cluster: ClusterName },
    /// Make a namespace what the ledger says.
    Namespace { cluster: ClusterName, namespace: NamespaceName },
}

impl Work {
    pub(crate) fn namespace_of(grant: &Grant) -> Self {
        Self::Namespace { cluster: grant.cluster.clone(), namespace: grant.namespace.clone() }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Register { .. } => "register",
            Self::Namespace { .. } => "namespace",
        }
    }

    fn key(&self) -> String {
        match self {
            Self::Register { cluster } => cluster.to_string(),
            Self::Namespace { cluster, namespace } => format!("{cluster}/{namespace}"),
        }
    }

    fn parse(job: &Job) -> Option<Self> {
        match job.kind.as_str() {
            "register" => Some(Self::Register { cluster: ClusterName::new(job.key.as_str()).ok()? }),
            "namespace" => {
                let (cluster, namespace) = job.key.split_once('/')?;
                Some(Self::Namespace {
                    cluster: ClusterName::new(cluster).ok()?,
                    namespace: NamespaceName::stored(namespace.to_owned()),
                })
            }
            _ => None,
        }
    }
}

/// Puts work into the outbox, in the caller's transaction.
pub(crate) async fn enqueue(app: &App, conn: &mut Conn, work: &Work) -> Result<()> {
    let job = Job {
        id: app.id::<JobId>(),
        kind: work.kind().to_owned(),
        key: work.key(),
        due_at: app.now(),
        attempts: 0,
        last_error: None,
    };
    Ok(store::outbox::enqueue(conn, &job).await?)
}

/// Is this work still to be done, or being done?
pub(crate) async fn is_waiting(conn: &mut Conn, work: &Work) -> Result<bool> {
    Ok(store::outbox::is_waiting(conn, work.kind(), &work.key()).await?)
}

/// Puts several pieces of work into the outbox, always in the same order: two transactions that enqueue the same work
/// in different orders would wait for each other for ever.
async fn enqueue_all(app: &App, conn: &mut Conn, works: BTreeSet<Work>) -> Result<()> {
    for work in works {
        enqueue(app, conn, &work).await?;
    }
    Ok(())
}

/// Every namespace of a cluster: a resource became known, and each needs its explicit zero.
pub(crate) async fn enqueue_cluster(app: &App, conn: &mut Conn, cluster: &ClusterName) -> Result<()> {
    let views = store::namespaces::of_cluster(conn, cluster).await?;
    let works =
        views.into_iter().map(|v| Work::Namespace { cluster: v.cluster, namespace: v.name }).collect();
    enqueue_all(app, conn, works).await
}

/// Every namespace that holds something of an offering.
pub(crate) async fn enqueue_offering(app: &App, conn: &mut Conn, offering: &OfferingName) -> Result<()> {
    let works = store::grants::of_offering(conn, offering).await?.iter().map(Work::namespace_of).collect();
    enqueue_all(app, conn, works).await
}

/// The namespaces whose quota of one of these offerings waits for room.
pub(crate) async fn enqueue_waiting(app: &App, conn: &mut Conn, offerings: &[OfferingName]) -> Result<()> {
    let mut works = BTreeSet::new();
    for offering in offerings {
        let line = store::ledger::line(conn, offering).await?.unwrap_or_default();
        let waits = |grant: &Grant| line.holdings.get(&grant.team).is_some_and(|h| h.granted > h.held);
        if line.holdings.values().any(|h| h.granted > h.held) {
            works.extend(
                store::grants::of_offering(conn, offering)
                    .await?
                    .iter()
                    .filter(|g| waits(g))
                    .map(Work::namespace_of),
            );
        }
    }
    enqueue_all(app, conn, works).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_survives_the_outbox() {
        let cluster = ClusterName::new("c").unwrap();
        for work in [
            Work::Register { cluster: cluster.clone() },
            Work::Namespace { cluster, namespace: NamespaceName::stored("vision-a100".into()) },
        ] {
            let job = Job {
                id: JobId(ulid::Ulid::from_parts(1, 1)),
                kind: work.kind().into(),
                key: work.key(),
                due_at: "2026-11-30T12:00:00Z".parse().unwrap(),
                attempts: 0,
                last_error: None,
            };
            assert_eq!(Work::parse(&job), Some(work));
        }
    }
}
