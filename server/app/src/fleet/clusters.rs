//! Clusters and their nodes.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    api::{ChangeCluster, FieldError, ImportNodes, NewCluster, Page},
    authz::Action,
    fleet::{Cluster, Node, Registration, Writer},
    name::ClusterName,
    resource::ResourceName,
};
use futures::FutureExt as _;
use store::{Conn, Paging, Tx};

use super::{check::check_slots, deed, find_cluster, refuse};
use crate::{App, AppError, Ctx, Once, Result, jobs, observation};

impl App {
    /// Registers a cluster. With the Kubernetes writer a job installs the static objects and waits until the
    /// tenant policy answers; with the git writer it is ready at once.
    ///
    /// # Errors
    /// When the actor is no admin, a field is wrong, or the name exists.
    pub async fn create_cluster(&self, ctx: &Ctx, new: NewCluster, once: Once) -> Result<Cluster> {
        ctx.allow(Action::ManageFleet, "clusters")?;
        self.check_cluster(&new)?;
        let registration = match new.writer {
            Writer::Git => Registration::Ready,
            Writer::Kubernetes => {
                Registration::Registering { waiting_for: "the installation of the static objects".to_owned() }
            }
        };
        let cluster = Cluster {
            name: new.name,
            display: new.display,
            writer: new.writer,
            registration,
            fabric_slots: new.fabric_slots,
            known_resources: vec![],
            known_device_classes: vec![],
            observed_at: None,
            version: 1,
        };
        let (app, by, kubeconfig) = (self.clone(), ctx.clone(), new.kubeconfig);
        self.once(&ctx.actor, &once, move |tx| {
            async move {
                store::clusters::insert(tx, &cluster).await?;
                if let Some(kubeconfig) = kubeconfig {
                    app.put_admin_kubeconfig(tx, &cluster.name, &kubeconfig).await?;
                }
                let detail =
                    serde_json::json!({"writer": cluster.writer, "fabric_slots": cluster.fabric_slots});
                app.audit_by(tx, &by, deed("cluster.create", "cluster", &cluster.name, detail)).await?;
                Ok(cluster)
            }
            .boxed()
        })
        .await
    }

    /// Keeps an admin's kubeconfig, sealed, until the registration job has used it.
    async fn put_admin_kubeconfig(&self, tx: &mut Tx, cluster: &ClusterName, kubeconfig: &str) -> Result<()> {
        let sealed = self.seal(cluster, "admin", kubeconfig)?;
        store::clusters::set_secret(tx, cluster, "admin", &sealed).await?;
        jobs::enqueue(self, tx, &jobs::Work::Register { cluster: cluster.clone() }).await
    }

    pub(crate) fn seal(&self, cluster: &ClusterName, which: &str, plain: &str) -> Result<Vec<u8>> {
        let parts = &self.inner.parts;
        parts.vault.seal(parts.entropy.as_ref(), &format!("cluster/{cluster}/{which}"), plain)
    }

    pub(crate) async fn open_secret(
        &self,
        conn: &mut Conn,
        cluster: &ClusterName,
        which: &str,
    ) -> Result<Option<String>> {
        match store::clusters::secret(conn, cluster, which).await? {
            Some(sealed) => {
                Ok(Some(self.inner.parts.vault.open(&format!("cluster/{cluster}/{which}"), &sealed)?))
            }
            None => Ok(None),
        }
    }

    fn check_cluster(&self, new: &NewCluster) -> Result<()> {
        let mut fields = check_slots(new.fabric_slots);
        match (new.writer, &new.kubeconfig) {
            (Writer::Kubernetes, None) => fields.push(FieldError::new("kubeconfig", "is needed for the kubernetes writer: an admin's kubeconfig, used once to install the static objects")),
            (Writer::Git, Some(_)) => fields.push(FieldError::new("kubeconfig", "does not go with the git writer; leave it out")),
            (Writer::Git, None) if self.inner.parts.repo.is_none() => fields.push(FieldError::new("writer", "no git repository is configured; start gpuaas with --git DIR")),
            _ => {}
        }
        if let Some(Err(why)) = new.kubeconfig.as_deref().map(cluster::check_kubeconfig) {
            fields.push(FieldError::new("kubeconfig", why));
        }
        refuse(fields)
    }

    /// All clusters.
    ///
    /// # Errors
    /// When the actor may not see the platform.
    pub async fn list_clusters(&self, ctx: &Ctx) -> Result<Vec<Cluster>> {
        ctx.allow(Action::ReadPlatform, "clusters")?;
        Ok(store::clusters::list(&mut *self.store().read().await?).await?)
    }

    /// One cluster.
    ///
    /// # Errors
    /// When the actor may not see the platform, or it is not there.
    pub async fn find_cluster(&self, ctx: &Ctx, name: &ClusterName) -> Result<Cluster> {
        ctx.allow(Action::ReadPlatform, &format!("cluster {name}"))?;
        find_cluster(&mut *self.store().read().await?, name).await
    }

    /// Changes a cluster; a new kubeconfig registers it again.
    ///
    /// # Errors
    /// When the actor is no admin, a field is wrong, slots in use would be gone, or the version is stale.
    pub async fn change_cluster(
        &self,
        ctx: &Ctx,
        name: &ClusterName,
        change: ChangeCluster,
        expected: Option<i64>,
    ) -> Result<Cluster> {
        ctx.allow(Action::ManageFleet, &format!("cluster {name}"))?;
        refuse(change.fabric_slots.map(check_slots).unwrap_or_default())?;
        let mut tx = self.store().begin().await?;
        let found = find_cluster(&mut tx, name).await?;
        let slots = change.fabric_slots.unwrap_or(found.fabric_slots);
        if let Some(used) =
            store::partitions::taken(&mut tx, name).await?.into_iter().max().filter(|used| *used > slots)
        {
            return Err(AppError::invalid(
                "fabric_slots",
                format!("slot {used} belongs to a team; at least {used} slots are needed"),
            ));
        }
        let wanted = Cluster {
            display: change.display.unwrap_or(found.display),
            fabric_slots: slots,
            version: expected.unwrap_or(found.version),
            ..found
        };
        let mut saved = store::clusters::update(&mut tx, &wanted).await?;
        if let Some(kubeconfig) = &change.kubeconfig {
            if saved.writer == Writer::Git {
                return Err(AppError::invalid("kubeconfig", "does not go with the git writer; leave it out"));
            }
            cluster::check_kubeconfig(kubeconfig).map_err(|why| AppError::invalid("kubeconfig", why))?;
            self.put_admin_kubeconfig(&mut tx, name, kubeconfig).await?;
            saved.registration = Registration::Registering {
                waiting_for: "the installation of the static objects".to_owned(),
            };
            store::clusters::set_registration(&mut tx, name, &saved.registration).await?;
        }
        let detail = serde_json::json!({"fabric_slots": slots, "kubeconfig": change.kubeconfig.is_some()});
        self.audit_by(&mut tx, ctx, deed("cluster.change", "cluster", name, detail)).await?;
        tx.commit().await?;
        self.inner.wake.notify_one();
        Ok(saved)
    }

    /// Replaces the nodes of a cluster that is not observed, and answers how many there are.
    ///
    /// # Errors
    /// When the actor is no admin, the cluster is observed, or a node's name comes twice.
    pub async fn import_nodes(&self, ctx: &Ctx, name: &ClusterName, import: ImportNodes) -> Result<u32> {
        ctx.allow(Action::ManageFleet, &format!("cluster {name}"))?;
        let mut tx = self.store().begin().await?;
        let cluster = find_cluster(&mut tx, name).await?;
        if cluster.writer == Writer::Kubernetes {
            return Err(AppError::conflict(format!(
                "cluster {name} is observed: its nodes are read from its API server"
            )));
        }
        let nodes = imported(name, import)?;
        let known: BTreeSet<ResourceName> = cluster
            .known_resources
            .iter()
            .cloned()
            .chain(nodes.iter().flat_map(|n| n.allocatable.keys().cloned()))
            .collect();
        let known: Vec<_> = known.into_iter().collect();
        store::nodes::replace_all(&mut tx, name, &nodes).await?;
        store::clusters::set_observed(&mut tx, name, &known, &cluster.known_device_classes, self.now())
            .await?;
        let fleet = observation::Fleet::of_nodes(nodes);
        observation::record(&mut tx, name, &fleet, self.now()).await?;
        let count = u32::try_from(fleet.nodes.len()).unwrap_or(u32::MAX);
        self.audit_by(
            &mut tx,
            ctx,
            deed("cluster.import", "cluster", name, serde_json::json!({"nodes": count})),
        )
        .await?;
        if known != cluster.known_resources {
            jobs::enqueue_cluster(self, &mut tx, name).await?;
        }
        tx.commit().await?;
        self.inner.wake.notify_one();
        Ok(count)
    }

    /// Nodes of a cluster.
    ///
    /// # Errors
    /// When the actor may not see the platform, or the cluster is not there.
    pub async fn list_nodes(
        &self,
        ctx: &Ctx,
        cluster: &ClusterName,
        filter: Option<&str>,
        paging: &Paging,
    ) -> Result<Page<Node>> {
        ctx.allow(Action::ReadPlatform, &format!("cluster {cluster}"))?;
        let mut conn = self.store().read().await?;
        find_cluster(&mut conn, cluster).await?;
        Ok(store::nodes::list(&mut conn, cluster, filter, paging).await?)
    }

    /// One node.
    ///
    /// # Errors
    /// When the actor may not see the platform, or it is not there.
    pub async fn find_node(&self, ctx: &Ctx, cluster: &ClusterName, node: &str) -> Result<Node> {
        ctx.allow(Action::ReadPlatform, &format!("node {node}"))?;
        let found = store::nodes::find(&mut *self.store().read().await?, cluster, node).await?;
        found.ok_or_else(|| AppError::not_found(format!("node {node} of cluster {cluster}")))
    }
}

fn imported(cluster: &ClusterName, import: ImportNodes) -> Result<Vec<Node>> {
    let mut seen = BTreeSet::new();
    let mut nodes = vec![];
    for (index, node) in import.nodes.into_iter().enumerate() {
        if node.name.is_empty() || node.name.len() > 253 || !seen.insert(node.name.clone()) {
            return Err(AppError::invalid(
                &format!("nodes[{index}].name"),
                format!("`{}` is empty, too long or comes twice", node.name),
            ));
        }
        nodes.push(Node {
            cluster: cluster.clone(),
            name: node.name,
            labels: node.labels,
            allocatable: node.allocatable,
            used: BTreeMap::new(),
            ready: true,
        });
    }
    Ok(nodes)
}
