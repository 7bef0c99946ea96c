//! The streams of the API server that keep the index up to date.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, Pod, ResourceQuota};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Client, Resource};
use plan::labels;
use plan::manifest::KINDS;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::facts::{NodeState, PodState};
use crate::index::Index;
use crate::member::Shared;

/// Kinds of which only the metadata is read. Namespaces and quotas have sources of their own.
const KINDS_BY_LABEL: [&str; 6] = [
    "TenantPolicy",
    "LimitRange",
    "NetworkPolicy",
    "NetworkAttachmentDefinition",
    "PodTemplate",
    "RoleBinding",
];

/// Waits between the tries of a broken watch: short at first, because drift is repaired in a second, and never longer
/// than 3 s. The stream reports progress also when it only begins anew, so that is no reason to start over; ten quiet
/// seconds are.
struct Patience {
    pause: Duration,
    last: Option<Instant>,
}

impl Patience {
    const FIRST: Duration = Duration::from_millis(50);
    const LAST: Duration = Duration::from_secs(3);

    fn new() -> Self {
        Self { pause: Self::FIRST, last: None }
    }
}

impl Iterator for Patience {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let quiet = self.last.is_none_or(|last| last.elapsed() > Duration::from_secs(10));
        self.pause = if quiet { Self::FIRST } else { (self.pause * 2).min(Self::LAST) };
        self.last = Some(Instant::now());
        Some(self.pause)
    }
}

impl Backoff for Patience {
    fn reset(&mut self) {}
}

/// News of one source: its list is complete, or why it is not.
pub(crate) enum Progress {
    /// The first list is in the index, or the cluster does not know the kind.
    Complete,
    /// It did not work; the next try follows.
    Failed(String),
}

/// Starts all sources. Each sends [`Progress`] to the receiver.
pub(crate) fn start(
    client: &Client,
    shared: &Shared,
    tasks: &mut JoinSet<()>,
) -> (usize, mpsc::Receiver<Progress>) {
    let (news, receiver) = mpsc::channel(64);
    let ours = watcher::Config::default().labels(&format!("{}={}", labels::MANAGED_BY, labels::MANAGER));
    let all = watcher::Config::default();
    let mut count = 0;
    let mut add = |task: futures::future::BoxFuture<'static, ()>| {
        tasks.spawn(task);
        count += 1;
    };

    for known in KINDS.iter().filter(|known| KINDS_BY_LABEL.contains(&known.kind)) {
        let api = metadata(client, known.group, known.version, known.kind, known.plural);
        let (shared, api_version) = (shared.clone(), known.api_version());
        add(Box::pin(follow(api, ours.clone(), news.clone(), move |event| {
            shared
                .change(|index| index.object(&api_version, known.kind, map(event, |object| object.metadata)));
        })));
    }
    let namespaces = metadata(client, "", "v1", "Namespace", "namespaces");
    let to = shared.clone();
    add(Box::pin(follow(namespaces, all.clone(), news.clone(), move |event| {
        to.change(|index| index.namespace(map(event, |object| object.metadata)));
    })));
    let classes = metadata(client, "resource.k8s.io", "v1", "DeviceClass", "deviceclasses");
    let mut sink = mirror(shared.clone(), class_entry, |index| &mut index.device_classes);
    add(Box::pin(follow(classes, all.clone(), news.clone(), move |event| {
        sink(map(event, |object| object.metadata));
    })));
    let to = shared.clone();
    add(Box::pin(follow(Api::<ResourceQuota>::all(client.clone()), ours, news.clone(), move |event| {
        to.change(|index| index.quota(event));
        to.quotas_moved();
    })));
    let sink = mirror(shared.clone(), node_entry, |index| &mut index.nodes);
    add(Box::pin(follow(Api::<Node>::all(client.clone()), all, news.clone(), sink)));
    // Pods that ended hold nothing: the API server tells of their end as of a deletion.
    let running = watcher::Config::default().fields("status.phase!=Succeeded,status.phase!=Failed");
    let sink = mirror(shared.clone(), pod_entry, |index| &mut index.pods);
    add(Box::pin(follow(Api::<Pod>::all(client.clone()), running, news, sink)));
    (count, receiver)
}

fn metadata(
    client: &Client,
    group: &str,
    version: &str,
    kind: &str,
    plural: &str,
) -> Api<PartialObjectMeta<DynamicObject>> {
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let resource = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version,
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    Api::all_with(client.clone(), &resource)
}

/// Reads one stream for ever.
async fn follow<K>(
    api: Api<K>,
    config: watcher::Config,
    news: mpsc::Sender<Progress>,
    mut sink: impl FnMut(Event<K>) + Send,
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let url = api.resource_url().to_owned();
    let mut stream = Box::pin(watch(api, config).backoff(Patience::new()));
    while let Some(event) = stream.next().await {
        let progress = match event {
            Ok(event) => {
                let complete = matches!(event, Event::InitDone);
                sink(event);
                complete.then_some(Progress::Complete)
            }
            Err(watcher::Error::InitialListFailed(kube::Error::Api(status))) if status.code == 404 => {
                Some(Progress::Complete)
            }
            Err(error) => {
                tracing::debug!(url, %error, "watch broke off, another try follows");
                Some(Progress::Failed(format!("{url}: {error}")))
            }
        };
        if let Some(progress) = progress {
            // Nobody listens after the start, and that is fine.
            let _ = news.try_send(progress);
        }
    }
}

fn map<A, B>(event: Event<A>, change: impl Fn(A) -> B) -> Event<B> {
    match event {
        Event::Apply(object) => Event::Apply(change(object)),
        Event::Delete(object) => Event::Delete(change(object)),
        Event::InitApply(object) => Event::InitApply(change(object)),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    }
}

/// A map that one source keeps. A list that begins anew is collected beside what is known and takes its place when it
/// is complete: nobody may see a cluster without nodes because a watch broke off.
struct Mirror<K, V> {
    listing: HashMap<K, V>,
}

impl<K: Eq + Hash, V: PartialEq> Mirror<K, V> {
    fn new() -> Self {
        Self { listing: HashMap::new() }
    }

    /// Takes one event; an object without value is one that is not kept. True when the map may have changed.
    fn take(&mut self, known: &mut HashMap<K, V>, event: Event<(K, Option<V>)>) -> bool {
        match event {
            Event::Apply((key, Some(new))) => {
                if known.get(&key) == Some(&new) {
                    return false;
                }
                known.insert(key, new);
                true
            }
            Event::Apply((key, None)) | Event::Delete((key, _)) => known.remove(&key).is_some(),
            Event::Init => {
                // A list that broke off is not continued.
                self.listing.clear();
                false
            }
            Event::InitApply((key, new)) => {
                if let Some(new) = new {
                    self.listing.insert(key, new);
                }
                false
            }
            Event::InitDone => {
                *known = std::mem::take(&mut self.listing);
                true
            }
        }
    }
}

fn class_entry(meta: ObjectMeta) -> (String, Option<()>) {
    (meta.name.unwrap_or_default(), Some(()))
}

fn node_entry(node: Node) -> (String, Option<NodeState>) {
    let state = NodeState::of(&node);
    (node.metadata.name.unwrap_or_default(), Some(state))
}

fn pod_entry(pod: Pod) -> ((String, String), Option<PodState>) {
    let state = PodState::of(&pod);
    ((pod.metadata.namespace.unwrap_or_default(), pod.metadata.name.unwrap_or_default()), state)
}

/// Feeds a map of the index and rings when it changed. A kubelet reports every few seconds, mostly the same.
fn mirror<O, K: Eq + Hash, V: PartialEq>(
    shared: Shared,
    entry: fn(O) -> (K, Option<V>),
    of: fn(&mut Index) -> &mut HashMap<K, V>,
) -> impl FnMut(Event<O>) {
    let mut mirror = Mirror::new();
    move |event| {
        let event = map(event, entry);
        if shared.update(|index| mirror.take(of(index), event)) {
            shared.facts_moved();
        }
    }
}

#[cfg(test)]
mod tests;
