//! A kubelet for many nodes: registers them from files, keeps them alive, and runs the pods that are bound to them,
//! without containers. It can be told to fail.

mod decide;
mod fleet;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::error::{Error, Result};

pub use decide::{EXIT_CODE, Fault, RUN_FOR, Step, ended, next, running};
pub use fleet::{NodeGroup, Taint};

const MANAGER: &str = "kit-kubelet";
/// A real kubelet renews every ten seconds too; the controller manager calls a node lost after fifty.
const RENEW: Duration = Duration::from_secs(10);
/// Requests at a time, so that a thousand pods do not open a thousand streams.
const PARALLEL: usize = 16;

/// The running kubelet. Dropping it stops everything that it does, as if all its nodes lost power; the objects stay.
#[derive(Debug)]
pub struct FakeKubelet {
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

#[derive(Debug)]
struct NodeState {
    group: NodeGroup,
    number: usize,
    fault: Fault,
}

struct Shared {
    client: Client,
    nodes: Mutex<BTreeMap<String, NodeState>>,
    limit: Semaphore,
    /// Pods whose end is already being waited for, by uid.
    ending: Mutex<HashSet<String>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl FakeKubelet {
    /// Registers all nodes of the groups, waits until each is ready and free of the not-ready taint, and begins to
    /// run pods. Nodes that are there already are taken over; labels of others on them stay.
    ///
    /// # Errors
    /// When the API server refuses a node.
    pub async fn start(client: Client, groups: Vec<NodeGroup>) -> Result<Self> {
        let all = groups.into_iter().flat_map(|group| {
            let names: Vec<String> = group.names().collect();
            names.into_iter().map(move |name| (name, group.clone()))
        });
        let nodes: BTreeMap<String, NodeState> = all
            .zip(1..)
            .map(|((name, group), number)| (name, NodeState { group, number, fault: Fault::default() }))
            .collect();
        let names: Vec<String> = nodes.keys().cloned().collect();
        let shared = Arc::new(Shared {
            client,
            nodes: Mutex::new(nodes),
            limit: Semaphore::new(PARALLEL),
            ending: Mutex::new(HashSet::new()),
        });
        futures::stream::iter(&names)
            .map(|name| shared.register(name))
            .buffer_unordered(PARALLEL)
            .try_collect::<()>()
            .await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&shared).keep_alive());
        tasks.spawn(Arc::clone(&shared).run_pods());
        Ok(Self { shared, _tasks: tasks })
    }

    /// The names of all its nodes.
    #[must_use]
    pub fn nodes(&self) -> Vec<String> {
        self.shared.nodes().keys().cloned().collect()
    }

    /// Takes a node down, or up again. While it is down it reports `NotReady`, and its pods neither start nor end.
    ///
    /// # Errors
    /// When there is no such node, or the API server refuses.
    pub async fn set_ready(&self, node: &str, ready: bool) -> Result<()> {
        self.shared.change(node, |state| state.fault.down = !ready)?;
        self.shared.report(node).await?;
        if ready { self.shared.revisit(node).await } else { Ok(()) }
    }

    /// Changes what a node can give, as a device plugin does that lost a device; `None` takes the resource away.
    ///
    /// # Errors
    /// When there is no such node, or the API server refuses.
    pub async fn set_allocatable(&self, node: &str, resource: &str, quantity: Option<&str>) -> Result<()> {
        self.shared.change(node, |state| {
            match quantity {
                Some(quantity) => state.group.allocatable.insert(resource.to_owned(), quantity.to_owned()),
                None => state.group.allocatable.remove(resource),
            };
        })?;
        self.shared.report(node).await
    }

    /// Lets pods of a node hang in `Terminating`, or lets them go again.
    ///
    /// # Errors
    /// When there is no such node, or its pods cannot be listed.
    pub async fn hang_deletions(&self, node: &str, hang: bool) -> Result<()> {
        self.shared.change(node, |state| state.fault.deletion_hangs = hang)?;
        if hang { Ok(()) } else { self.shared.revisit(node).await }
    }

    /// Ends a pod now with this exit code.
    ///
    /// # Errors
    /// When there is no such pod.
    pub async fn end_pod(&self, namespace: &str, name: &str, code: i32) -> Result<()> {
        let pods: Api<Pod> = Api::namespaced(self.shared.client.clone(), namespace);
        let pod = pods.get(name).await?;
        self.shared.write_status(&pod, ended(&pod, code, &now())).await?;
        Ok(())
    }
}

impl Shared {
    fn nodes(&self) -> MutexGuard<'_, BTreeMap<String, NodeState>> {
        // A test that panicked while it held the lock has left whole values behind.
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, node: &str, change: impl FnOnce(&mut NodeState)) -> Result<()> {
        let mut nodes = self.nodes();
        let state =
            nodes.get_mut(node).ok_or_else(|| Error::Setup(format!("the kubelet has no node {node}")))?;
        change(state);
        Ok(())
    }

    /// The nodes that are not down.
    fn up(&self) -> Vec<String> {
        let nodes = self.nodes();
        nodes.iter().filter(|(_, state)| !state.fault.down).map(|(name, _)| name.clone()).collect()
    }

    async fn register(&self, name: &str) -> Result<()> {
        let api: Api<Node> = Api::all(self.client.clone());
        let found = self.nodes().get(name).map(|state| state.group.node(name));
        let Some(node) = found else { return Ok(()) };
        let _permit = self.limit.acquire().await;
        let force = PatchParams::apply(MANAGER).force();
        api.patch(name, &force, &Patch::Apply(&node)).await?;
        self.renew(name).await?;
        self.report(name).await?;
        // The API server gives each new node the not-ready taint. The list of taints is one value, so applying ours
        // again takes it off at once; the controller manager would too, somewhat later.
        api.patch(name, &force, &Patch::Apply(&node)).await?;
        Ok(())
    }

    /// Writes the node's status as it is now.
    async fn report(&self, name: &str) -> Result<()> {
        let api: Api<Node> = Api::all(self.client.clone());
        let status = self
            .nodes()
            .get(name)
            .map(|state| state.group.status(name, state.number, !state.fault.down, &now()));
        let Some(status) = status else { return Ok(()) };
        api.patch_status(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&status)).await?;
        Ok(())
    }

    async fn renew(&self, name: &str) -> Result<()> {
        let api: Api<Lease> = Api::namespaced(self.client.clone(), "kube-node-lease");
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "name": name },
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": 40,
                "renewTime": format!("{:.6}", Timestamp::now()),
            },
        });
        api.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&lease)).await?;
        Ok(())
    }

    async fn keep_alive(self: Arc<Self>) {
        loop {
            tokio::time::sleep(RENEW).await;
            let this = &self;
            futures::stream::iter(self.up())
                .for_each_concurrent(PARALLEL, |name| async move {
                    // An API server that is away is part of some tests: the next round tries again.
                    let _ = this.renew(&name).await;
                })
                .await;
        }
    }

    async fn run_pods(self: Arc<Self>) {
        let pods: Api<Pod> = Api::all(self.client.clone());
        // Only bound pods. The watcher lists again by itself after an error or a restart of the API server.
        let bound = watcher::Config::default().fields("spec.nodeName!=");
        let mut events = watcher(pods, bound).default_backoff().boxed();
        let mut tasks = JoinSet::new();
        while let Some(event) = events.next().await {
            while tasks.try_join_next().is_some() {}
            if let Ok(Event::Apply(pod) | Event::InitApply(pod)) = event {
                tasks.spawn(Arc::clone(&self).attend(pod));
            }
        }
    }

    /// Looks at all pods of a node again, because what it may do has changed.
    async fn revisit(self: &Arc<Self>, node: &str) -> Result<()> {
        let pods: Api<Pod> = Api::all(self.client.clone());
        let on_node = kube::api::ListParams::default().fields(&format!("spec.nodeName={node}"));
        for pod in pods.list(&on_node).await?.items {
            Arc::clone(self).attend(pod).await;
        }
        Ok(())
    }

    /// Does the next step with a pod. Errors are left: a pod that changed meanwhile comes again as an event.
    async fn attend(self: Arc<Self>, pod: Pod) {
        let Some((host, fault)) = self.host_of(&pod) else { return };
        let _ = match next(&pod, fault, Timestamp::now()) {
            Step::Wait => Ok(()),
            Step::Run => {
                let address = pod_address(&pod);
                self.write_status(&pod, running(&pod, &address, &host, &now())).await
            }
            Step::EndAfter(time, code) => self.end_later(&pod, time, code).await,
            Step::Remove => self.remove(&pod).await,
        };
    }

    /// The address of the pod's node and what is wrong with it; nothing for a node of somebody else.
    fn host_of(&self, pod: &Pod) -> Option<(String, Fault)> {
        let node = pod.spec.as_ref()?.node_name.as_ref()?;
        self.nodes().get(node).map(|state| (fleet::address(10, state.number), state.fault))
    }

    async fn end_later(&self, pod: &Pod, time: Duration, code: i32) -> Result<()> {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let first = || self.ending.lock().unwrap_or_else(PoisonError::into_inner).insert(uid.clone());
        if !first() {
            return Ok(());
        }
        tokio::time::sleep(time).await;
        // The node may have gone down meanwhile; then the pod ends when it is looked at again.
        let down = self.host_of(pod).is_none_or(|(_, fault)| fault.down);
        let result = if down { Ok(()) } else { self.write_status(pod, ended(pod, code, &now())).await };
        self.ending.lock().unwrap_or_else(PoisonError::into_inner).remove(&uid);
        result
    }

    async fn write_status(&self, pod: &Pod, mut status: Value) -> Result<()> {
        let Some((api, name)) = self.object(pod) else { return Ok(()) };
        // With the uid a pod of the same name that came later is left alone.
        status["metadata"] = json!({ "uid": pod.metadata.uid });
        let _permit = self.limit.acquire().await;
        api.patch_status(name, &PatchParams::default(), &Patch::Strategic(&status)).await?;
        Ok(())
    }

    async fn remove(&self, pod: &Pod) -> Result<()> {
        let Some((api, name)) = self.object(pod) else { return Ok(()) };
        let same = Preconditions { uid: pod.metadata.uid.clone(), resource_version: None };
        let now = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(same),
            ..DeleteParams::default()
        };
        let _permit = self.limit.acquire().await;
        api.delete(name, &now).await?;
        Ok(())
    }

    fn object<'a>(&self, pod: &'a Pod) -> Option<(Api<Pod>, &'a str)> {
        let namespace = pod.metadata.namespace.as_deref()?;
        Some((Api::namespaced(self.client.clone(), namespace), pod.metadata.name.as_deref()?))
    }
}

/// An address in 10.128.0.0/9 that follows from the pod's uid, so that no count has to be kept.
fn pod_address(pod: &Pod) -> String {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let hash = uid.bytes().fold(7_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
    fleet::address(10, 0x80_0000 | (hash & 0x7f_ffff))
}

fn now() -> String {
    format!("{:.0}", Timestamp::now())
}
