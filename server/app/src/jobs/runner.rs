//! Runs the outbox, the leases and the observers of one process.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use domain::name::ClusterName;
use store::outbox::Job;
use tokio::{sync::Semaphore, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{Work, enqueue_cluster, hindrance::Hindrance, leases, namespace, observe, register};
use crate::{App, Result};

/// A job's claim runs out after this time, so that the jobs of a process that died are taken over soon.
const LEASE: chrono::Duration = chrono::Duration::seconds(5);
/// A process that lives keeps its claims this often.
const RENEW: Duration = Duration::from_secs(1);
/// Leases are looked at, and observers started, this often.
const TICK: Duration = Duration::from_secs(1);
/// All namespaces are gone over this often, whatever happened.
const RESYNC: Duration = Duration::from_secs(600);

/// Answers to an Idempotency-Key are kept this long.
const ANSWERS: chrono::Duration = chrono::Duration::hours(24);

/// How a process runs its jobs.
#[derive(Clone, Copy, Debug)]
pub struct RunnerOptions {
    /// Jobs at the same time.
    pub workers: usize,
    /// Longest time until work that another process enqueued is seen.
    pub poll: Duration,
}

impl Default for RunnerOptions {
    fn default() -> Self {
        Self { workers: 32, poll: Duration::from_millis(500) }
    }
}

/// Runs jobs until it is told to stop; one a process, any number of processes on one database.
pub struct Runner {
    app: App,
    options: RunnerOptions,
}

impl Runner {
    /// A runner for this application.
    #[must_use]
    pub fn new(app: App, options: RunnerOptions) -> Self {
        Self { app, options }
    }

    /// Runs until the token is cancelled; jobs that run then are finished first.
    pub async fn run(self, stop: CancellationToken) {
        let options = self.options;
        let app = self.app;
        tokio::join!(
            outbox(&app, options, &stop),
            every_second(&app, &stop),
            observers(&app, &stop),
            resync(&app, &stop)
        );
    }
}

async fn outbox(app: &App, options: RunnerOptions, stop: &CancellationToken) {
    let slots = Arc::new(Semaphore::new(options.workers));
    let me: Arc<str> = app.secret(8).into();
    let mut running = JoinSet::new();
    while !stop.is_cancelled() {
        let free = u32::try_from(slots.available_permits()).unwrap_or(u32::MAX);
        let jobs = if free == 0 { Ok(vec![]) } else { claim(app, free, &me).await };
        let found = match jobs {
            Ok(jobs) => {
                let found = !jobs.is_empty();
                for job in jobs {
                    let Ok(permit) = slots.clone().acquire_owned().await else { break };
                    let (app, me) = (app.clone(), me.clone());
                    running.spawn(async move {
                        perform(&app, job, &me).await;
                        drop(permit);
                        app.inner.wake.notify_one();
                    });
                }
                found
            }
            Err(error) => {
                tracing::warn!(error = ?error, "the outbox cannot be read; tried again");
                false
            }
        };
        while running.try_join_next().is_some() {}
        if !found {
            tokio::select! {
                () = stop.cancelled() => {}
                () = app.inner.wake.notified() => {}
                () = tokio::time::sleep(options.poll) => {}
            }
        }
    }
    while running.join_next().await.is_some() {}
}

async fn claim(app: &App, limit: u32, me: &str) -> Result<Vec<Job>> {
    let (now, mut tx) = (app.now(), app.store().begin().await?);
    let jobs = store::outbox::claim(&mut tx, now, now + LEASE, limit, me).await?;
    tx.commit().await?;
    Ok(jobs)
}

/// Does a job for as long as its claim is ours. Once it is not, the job is dropped where it stands: whoever has the
/// claim now starts from zero.
async fn perform(app: &App, job: Job, me: &str) {
    let done = tokio::select! {
        done = work(app, &job) => done,
        () = until_lost(app, &job, me) => {
            tracing::warn!(job.kind = %job.kind, job.key = %job.key, "the claim of a job was lost; another process goes on");
            return;
        }
    };
    match &done {
        // Tried four times a second until it is there; one line each would bury all others.
        Err(hindrance) if !hindrance.is_news() => {
            tracing::debug!(job.kind = %job.kind, job.key = %job.key, reason = %hindrance.reason, "a job waits");
        }
        Err(hindrance) => {
            tracing::info!(job.kind = %job.kind, job.key = %job.key, attempts = job.attempts, reason = %hindrance.reason, "a job is tried again");
        }
        Ok(()) => {}
    }
    if let Err(error) = finish(app, &job, me, done).await {
        tracing::warn!(job.id = %job.id, error = ?error, "the end of a job could not be stored; it runs again when its claim is over");
    }
}

async fn work(app: &App, job: &Job) -> std::result::Result<(), Hindrance> {
    match Work::parse(job) {
        Some(Work::Register { cluster }) => register::run(app, &cluster).await,
        Some(Work::Namespace { cluster, namespace }) => namespace::run(app, &cluster, &namespace).await,
        None => {
            tracing::error!(job.kind = %job.kind, job.key = %job.key, "a job of an unknown kind is dropped");
            Ok(())
        }
    }
}

/// Keeps the claim; returns when it is another's, or could not be kept before it ran out.
async fn until_lost(app: &App, job: &Job, me: &str) {
    let mut ends = app.now() + LEASE;
    loop {
        tokio::time::sleep(RENEW).await;
        let until = app.now() + LEASE;
        match renew(app, job, me, until).await {
            Ok(true) => ends = until,
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(job.id = %job.id, error = ?error, "the claim of a job could not be kept");
            }
        }
        if app.now() >= ends {
            return;
        }
    }
}

async fn renew(app: &App, job: &Job, me: &str, until: domain::Timestamp) -> Result<bool> {
    let mut tx = app.store().begin().await?;
    let kept = store::outbox::renew(&mut tx, job.id, me, until).await?;
    tx.commit().await?;
    Ok(kept)
}

async fn finish(app: &App, job: &Job, me: &str, done: std::result::Result<(), Hindrance>) -> Result<()> {
    let mut tx = app.store().begin().await?;
    let ours = match done {
        Ok(()) => store::outbox::done(&mut tx, job.id, me).await?,
        Err(hindrance) => {
            let due = app.now() + hindrance.pause(job.attempts);
            store::outbox::retry(&mut tx, job.id, me, due, &hindrance.reason).await?
        }
    };
    if !ours {
        tracing::warn!(job.id = %job.id, "a job ended after its claim was lost; another process has it");
    }
    Ok(tx.commit().await?)
}

async fn every_second(app: &App, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        if let Err(error) = leases::run(app).await {
            tracing::warn!(error = ?error, "leases could not be looked at; tried again");
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(TICK) => {}
        }
    }
}

/// Keeps one observer for each registered cluster. One that ends (lost connection, new identities) is started anew.
async fn observers(app: &App, stop: &CancellationToken) {
    let mut running: BTreeMap<ClusterName, tokio::task::JoinHandle<()>> = BTreeMap::new();
    while !stop.is_cancelled() {
        running.retain(|_, task| !task.is_finished());
        for name in observe::wanted(app).await.unwrap_or_default() {
            running.entry(name.clone()).or_insert_with(|| {
                let (app, stop) = (app.clone(), stop.clone());
                tokio::spawn(async move {
                    if let Err(error) = observe::run(&app, &name, &stop).await {
                        tracing::warn!(cluster = %name, error = ?error, "the observer of a cluster ended; it is started anew");
                    }
                })
            });
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(TICK) => {}
        }
    }
    for task in running.into_values() {
        drop(task.await);
    }
}

async fn resync(app: &App, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        if let Err(error) = enqueue_all(app).await {
            tracing::warn!(error = ?error, "namespaces could not be queued for their regular pass");
        }
        if let Err(error) = compare_balances(app).await {
            tracing::warn!(error = ?error, "balances could not be compared with the ledger's events");
        }
        if let Err(error) = forget_old(app).await {
            tracing::warn!(error = ?error, "expired sessions and answers could not be removed");
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(RESYNC) => {}
        }
    }
}

/// Balances are sums of events; a difference is a mistake of ours that somebody must see.
async fn compare_balances(app: &App) -> Result<()> {
    let differences = store::ledger::differences(&mut *app.store().read().await?).await?;
    for (offering, team, stored, rebuilt) in &differences {
        tracing::error!(%offering, %team, ?stored, ?rebuilt, "a balance differs from the sum of its events");
    }
    app.inner.balances_agree.store(differences.is_empty(), Ordering::Relaxed);
    Ok(())
}

async fn forget_old(app: &App) -> Result<()> {
    let (now, mut tx) = (app.now(), app.store().begin().await?);
    store::sessions::expire(&mut tx, now).await?;
    store::idempotency::expire(&mut tx, now - ANSWERS).await?;
    Ok(tx.commit().await?)
}

async fn enqueue_all(app: &App) -> Result<()> {
    let mut tx = app.store().begin().await?;
    for cluster in store::clusters::list(&mut tx).await? {
        enqueue_cluster(app, &mut tx, &cluster.name).await?;
    }
    Ok(tx.commit().await?)
}
