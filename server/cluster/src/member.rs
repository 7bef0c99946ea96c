//! A registered cluster that runs: two identities, and an index that watches keep up to date.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use domain::name::ClusterName;
use domain::resource::ResourceName;
use plan::manifest::Key;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::enforce::Answer;
use crate::error::ClusterError;
use crate::facts::{self, ClusterFacts};
use crate::index::{Change, Drift, Index};
use crate::link::{Link, LinkOptions};
use crate::registration::Identities;
use crate::watch::{Progress, start};

/// How a member works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberOptions {
    /// Name of the cluster, for its facts.
    pub cluster: ClusterName,
    /// Bounds of both identities.
    pub link: LinkOptions,
    /// Longest time for the first lists.
    pub start: Duration,
    /// Longest time for the quota's status to follow its spec.
    pub quota: Duration,
    /// A quota in a namespace that was just made has its status filled by us when nobody did after this time.
    pub fill_after: Duration,
    /// Longest time for the cluster to refuse the probes.
    pub probe: Duration,
    /// [`Member::changed`] waits this long for more changes.
    pub debounce: Duration,
}

impl MemberOptions {
    /// The usual ones.
    #[must_use]
    pub fn of(cluster: ClusterName) -> Self {
        Self {
            cluster,
            link: LinkOptions::default(),
            start: Duration::from_secs(30),
            quota: Duration::from_secs(20),
            fill_after: Duration::from_millis(250),
            probe: Duration::from_secs(10),
            debounce: Duration::from_millis(100),
        }
    }
}

/// A registered cluster that runs. Its watches end with it.
pub struct Member {
    pub(crate) emitter: Link,
    pub(crate) probe: Link,
    pub(crate) options: MemberOptions,
    pub(crate) shared: Shared,
    /// One pass at a time for each namespace.
    pub(crate) turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    /// What was proved: hash of the plan, and the answers.
    pub(crate) proved: Mutex<HashMap<String, (u64, Vec<Answer>)>>,
    facts: tokio::sync::Mutex<watch::Receiver<u64>>,
    drift: tokio::sync::Mutex<mpsc::UnboundedReceiver<Drift>>,
    tasks: JoinSet<()>,
}

/// The index, and bells for those who wait for a change of it.
#[derive(Clone)]
pub(crate) struct Shared {
    index: Arc<RwLock<Index>>,
    quotas: Arc<watch::Sender<u64>>,
    facts: Arc<watch::Sender<u64>>,
    drift: mpsc::UnboundedSender<Drift>,
}

impl Shared {
    fn new() -> (Self, mpsc::UnboundedReceiver<Drift>) {
        let (drift, drifts) = mpsc::unbounded_channel();
        let shared = Self {
            index: Arc::default(),
            quotas: Arc::new(watch::Sender::new(0)),
            facts: Arc::new(watch::Sender::new(0)),
            drift,
        };
        (shared, drifts)
    }

    /// Reads the index; never across an await.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Index) -> T) -> T {
        read(&self.index.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn update<T>(&self, update: impl FnOnce(&mut Index) -> T) -> T {
        update(&mut self.index.write().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Index) -> Change) {
        for drift in self.update(change).drift {
            tracing::info!(object = %drift.object, by = drift.by, "an object of ours was changed by others");
            // Without a receiver the member is being stopped.
            let _ = self.drift.send(drift);
        }
    }

    pub(crate) fn quotas_moved(&self) {
        self.quotas.send_modify(|count| *count = count.wrapping_add(1));
        self.facts_moved();
    }

    pub(crate) fn facts_moved(&self) {
        self.facts.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn quota_bell(&self) -> watch::Receiver<u64> {
        self.quotas.subscribe()
    }
}

impl Member {
    /// Connects both identities and reads the first lists.
    ///
    /// # Errors
    /// If a kubeconfig cannot be used, or the lists are not complete in time.
    pub async fn start(identities: &Identities, options: MemberOptions) -> Result<Self, ClusterError> {
        let emitter = Link::connect(&identities.emitter, options.link).await?;
        let probe = Link::connect(&identities.probe, options.link).await?;
        Self::over(emitter, probe, options).await
    }

    pub(crate) async fn over(
        emitter: Link,
        probe: Link,
        options: MemberOptions,
    ) -> Result<Self, ClusterError> {
        let (shared, drifts) = Shared::new();
        let mut tasks = JoinSet::new();
        let (sources, mut news) = start(&emitter.client(), &shared, &mut tasks);
        let mut why = "no answer yet".to_owned();
        let complete = async {
            let mut left = sources;
            while left > 0 {
                match news.recv().await {
                    Some(Progress::Complete) => left -= 1,
                    Some(Progress::Failed(reason)) => why = reason,
                    None => break,
                }
            }
        };
        if tokio::time::timeout(options.start, complete).await.is_err() {
            let what = format!("the first lists of the cluster; last answer: {why}");
            return Err(ClusterError::Deadline { what, limit: options.start });
        }
        Ok(Self {
            emitter,
            probe,
            options,
            facts: tokio::sync::Mutex::new(shared.facts.subscribe()),
            drift: tokio::sync::Mutex::new(drifts),
            shared,
            turns: Mutex::default(),
            proved: Mutex::default(),
            tasks,
        })
    }

    /// Limits of device resources in the status of our quota, as the watch saw them: what the API server compares
    /// with, which follows the spec a moment later.
    #[must_use]
    pub fn hard(&self, namespace: &str) -> BTreeMap<ResourceName, u32> {
        self.shared.read(|index| {
            index
                .levels()
                .filter(|(of, ..)| *of == namespace)
                .map(|(_, resource, hard, _)| (resource, hard))
                .collect()
        })
    }

    /// Nodes, use and limits at this moment.
    #[must_use]
    pub fn facts(&self) -> ClusterFacts {
        self.shared.read(|index| facts::facts(index, &self.options.cluster))
    }

    /// Waits until nodes, pods, quotas or device classes changed since the last call, and a moment longer for what
    /// comes with it.
    pub async fn changed(&self) {
        let mut bell = self.facts.lock().await;
        // The sender lives as long as the member.
        if bell.changed().await.is_ok() {
            tokio::time::sleep(self.options.debounce).await;
            bell.mark_unchanged();
        }
    }

    /// Waits until others changed or deleted objects of ours, and returns all that is known by then.
    pub async fn drifted(&self) -> Vec<Drift> {
        let mut queue = self.drift.lock().await;
        let mut all = Vec::new();
        queue.recv_many(&mut all, 1024).await;
        all.sort();
        all.dedup();
        all
    }

    /// One object as it is in the cluster.
    ///
    /// # Errors
    /// As the API server answers.
    pub async fn live(&self, key: &Key) -> Result<Option<Value>, ClusterError> {
        self.emitter.get(key).await
    }

    /// Ends the watches and waits for their end.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}
