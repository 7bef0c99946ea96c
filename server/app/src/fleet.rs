//! Clusters, nodes, pools and offerings.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    api::{
        CatalogueEntry, ChangeCluster, ChangeOffering, ChangePool, FieldError, ImportNodes, NewCluster,
        NewOffering, NewPool, Page,
    },
    authz::Action,
    fleet::{Cluster, Kind, Mode, Node, Offering, POOL_LABEL, Pool, Registration, Writer},
    ledger::Line,
    name::{ClusterName, OfferingName, PoolName},
    placement,
    resource::{AMOUNT_MAX, ResourceName},
    shape::Blocks,
};
use futures::FutureExt as _;
use store::{Conn, Paging, Tx};

use crate::{App, AppError, Ctx, Once, Result, access::Deed, jobs, observation};

/// VF slots that a physical function can have at most (PCIe SR-IOV on ConnectX: 127).
const SLOTS_MAX: u16 = 127;
/// Lease that a pool may allow at most.
const DAYS_MAX: u32 = 3650;
/// Over-commit that a shared pool may have at most, in percent.
const OVERCOMMIT_MAX: u32 = 1000;

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

    /// Makes a pool.
    ///
    /// # Errors
    /// When the actor is no admin, a field is wrong, or the name exists.
    pub async fn create_pool(&self, ctx: &Ctx, new: NewPool, once: Once) -> Result<Pool> {
        ctx.allow(Action::ManageFleet, "pools")?;
        let pool = Pool {
            label_key: new.label_key.unwrap_or_else(|| POOL_LABEL.to_owned()),
            label_value: new.label_value.unwrap_or_else(|| new.name.to_string()),
            name: new.name,
            cluster: new.cluster,
            display: new.display,
            model: new.model,
            mode: new.mode,
            vfs_per_gpu: new.vfs_per_gpu,
            rules: new.rules,
            retired: false,
            version: 1,
        };
        refuse(check_pool(&pool))?;
        let (app, by) = (self.clone(), ctx.clone());
        self.once(&ctx.actor, &once, move |tx| {
            async move {
                if store::clusters::find(tx, &pool.cluster).await?.is_none() {
                    return Err(AppError::invalid(
                        "cluster",
                        format!("there is no cluster `{}`", pool.cluster),
                    ));
                }
                no_team_of_that_namespace(tx, &pool.name).await?;
                one_label_key(&store::pools::list(tx).await?, &pool)?;
                store::pools::insert(tx, &pool).await?;
                app.audit_by(tx, &by, deed("pool.create", "pool", &pool.name, serde_json::json!(pool)))
                    .await?;
                Ok(pool)
            }
            .boxed()
        })
        .await
    }

    /// All pools.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn list_pools(&self, ctx: &Ctx) -> Result<Vec<Pool>> {
        ctx.allow(Action::ReadCatalogue, "pools")?;
        Ok(store::pools::list(&mut *self.store().read().await?).await?)
    }

    /// One pool.
    ///
    /// # Errors
    /// When it is not there.
    pub async fn find_pool(&self, ctx: &Ctx, name: &PoolName) -> Result<Pool> {
        ctx.allow(Action::ReadCatalogue, &format!("pool {name}"))?;
        find_pool(&mut *self.store().read().await?, name).await
    }

    /// Changes a pool's display name or rules, or retires it.
    ///
    /// # Errors
    /// When the actor is no admin, a field is wrong, or the version is stale.
    pub async fn change_pool(
        &self,
        ctx: &Ctx,
        name: &PoolName,
        change: ChangePool,
        expected: Option<i64>,
    ) -> Result<Pool> {
        ctx.allow(Action::ManageFleet, &format!("pool {name}"))?;
        let mut tx = self.store().begin().await?;
        let found = find_pool(&mut tx, name).await?;
        let detail = serde_json::json!(change);
        let wanted = Pool {
            display: change.display.unwrap_or(found.display),
            rules: change.rules.unwrap_or(found.rules),
            retired: change.retired.unwrap_or(found.retired),
            version: expected.unwrap_or(found.version),
            ..found
        };
        refuse(check_pool(&wanted))?;
        let saved = store::pools::update(&mut tx, &wanted).await?;
        self.audit_by(&mut tx, ctx, deed("pool.change", "pool", name, detail)).await?;
        tx.commit().await?;
        Ok(saved)
    }

    /// Makes an offering.
    ///
    /// # Errors
    /// When the actor is no admin, a field is wrong, or the name or the pool's resource exists.
    pub async fn create_offering(&self, ctx: &Ctx, new: NewOffering, once: Once) -> Result<Offering> {
        ctx.allow(Action::ManageFleet, "offerings")?;
        let offering = Offering {
            name: new.name,
            pool: new.pool,
            display: new.display,
            description: new.description,
            kind: new.kind,
            resource: new.resource,
            effective_milli: new.effective_milli,
            per_unit: new.per_unit,
            partition: new.partition,
            per_pod_max: new.per_pod_max,
            declared: new.declared,
            overcommit_percent: new.overcommit_percent,
            retired: false,
            version: 1,
        };
        let (app, by) = (self.clone(), ctx.clone());
        self.once(&ctx.actor, &once, move |tx| {
            async move {
                let Some(pool) = store::pools::find(tx, &offering.pool).await? else {
                    return Err(AppError::invalid("pool", format!("there is no pool `{}`", offering.pool)));
                };
                refuse(check_offering(&offering, &pool))?;
                store::offerings::insert(tx, &offering).await?;
                app.learn_resource(tx, &pool.cluster, &offering.resource).await?;
                let fleet = observation::Fleet::stored(tx, &pool.cluster).await?;
                observation::record(tx, &pool.cluster, &fleet, app.now()).await?;
                app.audit_by(
                    tx,
                    &by,
                    deed("offering.create", "offering", &offering.name, serde_json::json!(offering)),
                )
                .await?;
                Ok(offering)
            }
            .boxed()
        })
        .await
    }

    /// A resource that an offering or a partition names is known in the cluster, whether or not a node advertises
    /// it yet: every other team gets an explicit zero for it, and keeps it when the partition ends.
    pub(crate) async fn learn_resource(
        &self,
        tx: &mut Tx,
        cluster: &ClusterName,
        resource: &ResourceName,
    ) -> Result<()> {
        let found = find_cluster(tx, cluster).await?;
        if found.known_resources.contains(resource) {
            return Ok(());
        }
        let known: BTreeSet<_> = found.known_resources.into_iter().chain([resource.clone()]).collect();
        let known: Vec<_> = known.into_iter().collect();
        store::clusters::set_observed(
            tx,
            cluster,
            &known,
            &found.known_device_classes,
            found.observed_at.unwrap_or_else(|| self.now()),
        )
        .await?;
        jobs::enqueue_cluster(self, tx, cluster).await
    }

    /// One offering, with what is there of it.
    ///
    /// # Errors
    /// When it is not there.
    pub async fn find_offering(&self, ctx: &Ctx, name: &OfferingName) -> Result<CatalogueEntry> {
        ctx.allow(Action::ReadCatalogue, &format!("offering {name}"))?;
        let mut conn = self.store().read().await?;
        let offering = find_offering(&mut conn, name).await?;
        let pool = find_pool(&mut conn, &offering.pool).await?;
        let line = store::ledger::line(&mut conn, name).await?.unwrap_or_default();
        let blocks = store::ledger::blocks(&mut conn, name).await?;
        Ok(entry(offering, pool, &line, &blocks))
    }

    /// Changes an offering, or retires it.
    ///
    /// # Errors
    /// When the actor is no admin, a field is wrong, or the version is stale.
    pub async fn change_offering(
        &self,
        ctx: &Ctx,
        name: &OfferingName,
        change: ChangeOffering,
        expected: Option<i64>,
    ) -> Result<Offering> {
        ctx.allow(Action::ManageFleet, &format!("offering {name}"))?;
        let mut tx = self.store().begin().await?;
        let found = lock_offering(&mut tx, name).await?;
        let pool = find_pool(&mut tx, &found.pool).await?;
        let detail = serde_json::json!(change);
        let wanted = Offering {
            display: change.display.unwrap_or(found.display),
            description: change.description.unwrap_or(found.description),
            declared: change.declared.unwrap_or(found.declared),
            retired: change.retired.unwrap_or(found.retired),
            version: expected.unwrap_or(found.version),
            ..found
        };
        refuse(check_offering(&wanted, &pool))?;
        let saved = store::offerings::update(&mut tx, &wanted).await?;
        jobs::enqueue_offering(self, &mut tx, name).await?;
        self.audit_by(&mut tx, ctx, deed("offering.change", "offering", name, detail)).await?;
        tx.commit().await?;
        self.inner.wake.notify_one();
        Ok(saved)
    }

    /// All offerings that can be asked for, with what is there of them.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn catalogue(&self, ctx: &Ctx) -> Result<Vec<CatalogueEntry>> {
        ctx.allow(Action::ReadCatalogue, "the catalogue")?;
        let mut conn = self.store().read().await?;
        let pools: BTreeMap<_, _> =
            store::pools::list(&mut conn).await?.into_iter().map(|p| (p.name.clone(), p)).collect();
        let lines: BTreeMap<_, _> = store::ledger::lines(&mut conn).await?.into_iter().collect();
        let mut entries = vec![];
        for offering in store::offerings::list(&mut conn).await? {
            let Some(pool) = pools.get(&offering.pool) else { continue };
            if offering.retired || pool.retired {
                continue;
            }
            let blocks = store::ledger::blocks(&mut conn, &offering.name).await?;
            let line = lines.get(&offering.name).cloned().unwrap_or_default();
            entries.push(entry(offering, pool.clone(), &line, &blocks));
        }
        Ok(entries)
    }

    /// All offerings, retired ones too.
    ///
    /// # Errors
    /// When the actor may not see the platform.
    pub async fn list_offerings(&self, ctx: &Ctx) -> Result<Vec<Offering>> {
        ctx.allow(Action::ReadPlatform, "offerings")?;
        Ok(store::offerings::list(&mut *self.store().read().await?).await?)
    }

    /// Movements in the ledger of an offering, newest first.
    ///
    /// # Errors
    /// When the actor may not see the platform.
    pub async fn ledger_events(
        &self,
        ctx: &Ctx,
        offering: &OfferingName,
        paging: &Paging,
    ) -> Result<Page<store::ledger::Event>> {
        ctx.allow(Action::ReadPlatform, &format!("offering {offering}"))?;
        let mut conn = self.store().read().await?;
        find_offering(&mut conn, offering).await?;
        Ok(store::ledger::events(&mut conn, offering, paging).await?)
    }
}

fn entry(offering: Offering, pool: Pool, line: &Line, blocks: &Blocks) -> CatalogueEntry {
    let largest = (!blocks.sizes.is_empty()).then(|| blocks.largest_free());
    CatalogueEntry {
        offering,
        pool,
        limit: line.capacity.limit(),
        free: line.free(),
        largest_free_block: largest,
    }
}

pub(crate) async fn find_cluster(conn: &mut Conn, name: &ClusterName) -> Result<Cluster> {
    store::clusters::find(conn, name).await?.ok_or_else(|| AppError::not_found(format!("cluster {name}")))
}

pub(crate) async fn find_pool(conn: &mut Conn, name: &PoolName) -> Result<Pool> {
    store::pools::find(conn, name).await?.ok_or_else(|| AppError::not_found(format!("pool {name}")))
}

pub(crate) async fn find_offering(conn: &mut Conn, name: &OfferingName) -> Result<Offering> {
    store::offerings::find(conn, name).await?.ok_or_else(|| AppError::not_found(format!("offering {name}")))
}

/// Locks the offering's row, and with it its ledger, until the transaction ends.
pub(crate) async fn lock_offering(conn: &mut Conn, name: &OfferingName) -> Result<Offering> {
    store::offerings::lock(conn, name).await?.ok_or_else(|| AppError::not_found(format!("offering {name}")))
}

fn refuse(fields: Vec<FieldError>) -> Result<()> {
    if fields.is_empty() { Ok(()) } else { Err(AppError::Invalid { fields }) }
}

fn check_slots(slots: u16) -> Vec<FieldError> {
    (slots > SLOTS_MAX)
        .then(|| {
            FieldError::new(
                "fabric_slots",
                format!("{slots} asked, a physical function has at most {SLOTS_MAX} VFs"),
            )
        })
        .into_iter()
        .collect()
}

fn check_pool(pool: &Pool) -> Vec<FieldError> {
    let mut fields = vec![];
    if pool.model.trim().is_empty() || pool.model.chars().count() > 63 {
        fields.push(FieldError::new("model", "must be 1 to 63 characters, as in `NVIDIA-H100-80GB-HBM3`"));
    }
    if !is_label_key(&pool.label_key) {
        fields.push(FieldError::new("label_key", "must be a Kubernetes label key, as in `gpuaas.io/pool`"));
    }
    if pool.label_value.is_empty() || !is_label_value(&pool.label_value) {
        fields.push(FieldError::new(
            "label_value",
            "must be 1 to 63 letters, digits, `-`, `_` or `.`, beginning and ending with a letter or digit",
        ));
    }
    if !(1..=DAYS_MAX).contains(&pool.rules.max_days) {
        fields.push(FieldError::new("rules.max_days", format!("must be 1 to {DAYS_MAX}")));
    }
    if pool.rules.two_above.is_some_and(|above| above < pool.rules.auto_up_to) {
        fields.push(FieldError::new(
            "rules.two_above",
            format!("must not be below auto_up_to ({})", pool.rules.auto_up_to),
        ));
    }
    if !(1..=16).contains(&pool.vfs_per_gpu) {
        fields.push(FieldError::new("vfs_per_gpu", "must be 1 to 16"));
    }
    fields
}

fn check_offering(offering: &Offering, pool: &Pool) -> Vec<FieldError> {
    let mut fields = vec![];
    let kind_fits = matches!(
        (&offering.kind, pool.mode),
        (Kind::Whole, Mode::Whole) | (Kind::Mig { .. }, Mode::Mig) | (Kind::Shared { .. }, Mode::Shared)
    );
    if !kind_fits {
        fields.push(FieldError::new(
            "kind",
            format!("does not go with pool {}, whose mode is {:?}", pool.name, pool.mode),
        ));
    }
    if let Kind::Shared { replicas } = offering.kind
        && replicas < 2
    {
        fields.push(FieldError::new(
            "replicas",
            format!("{replicas} given; a shared GPU has at least 2 replicas"),
        ));
    }
    if offering.partition && offering.kind != Kind::Whole {
        fields.push(FieldError::new(
            "partition",
            "only whole GPUs can have a fabric partition; slices and shares cannot use it",
        ));
    }
    if !(1..=100_000).contains(&offering.effective_milli) {
        fields.push(FieldError::new("effective_milli", "must be 1 to 100000 thousandths of a GPU"));
    }
    if offering.declared > AMOUNT_MAX {
        fields.push(FieldError::new(
            "declared",
            format!("{} given, {AMOUNT_MAX} is the most", offering.declared),
        ));
    }
    if offering.per_pod_max == Some(0) {
        fields.push(FieldError::new("per_pod_max", "must be at least 1; leave it out for no limit"));
    }
    match offering.overcommit_percent {
        100 => {}
        101..=OVERCOMMIT_MAX if pool.mode == Mode::Shared => {}
        p => fields.push(FieldError::new(
            "overcommit_percent",
            format!("{p} given; it is 100, and only a shared pool may have up to {OVERCOMMIT_MAX}"),
        )),
    }
    fields
}

/// A team `a-b` and pool `b` of a team `a` would have the same namespace.
async fn no_team_of_that_namespace(conn: &mut Conn, pool: &PoolName) -> Result<()> {
    let mut paging = Paging { after: None, limit: 200 };
    loop {
        let page = store::teams::list(conn, Some(&format!("-{pool}")), &paging).await?;
        for team in &page.items {
            for (other, _) in placement::readings(&team.name).filter(|(_, p)| p == pool) {
                if store::teams::find(conn, &other).await?.is_some() {
                    let why = format!(
                        "`{}` is a team, and would be the namespace of team {other} in this pool; choose another name",
                        team.name
                    );
                    return Err(AppError::invalid("name", why));
                }
            }
        }
        match page.next {
            Some(next) => {
                paging.after =
                    Some(next.parse().map_err(|e| AppError::internal("a cursor of ours cannot be read", e))?)
            }
            None => return Ok(()),
        }
    }
}

/// The tenant policy of a namespace names one label key for all its resources, so the pools of a cluster share it.
fn one_label_key(pools: &[Pool], new: &Pool) -> Result<()> {
    match pools.iter().find(|p| p.cluster == new.cluster && p.label_key != new.label_key) {
        Some(other) => Err(AppError::invalid(
            "label_key",
            format!(
                "`{}` given; pool {} of this cluster is picked by `{}`, and all pools of a cluster share one key",
                new.label_key, other.name, other.label_key
            ),
        )),
        None => Ok(()),
    }
}

fn is_label_value(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && edge(text.chars().next())
        && edge(text.chars().last())
}

fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        None => !text.is_empty() && is_label_value(text),
        Some((prefix, name)) => {
            !name.is_empty() && is_label_value(name) && ResourceName::new(format!("{prefix}/x")).is_ok()
        }
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

fn deed<'a>(
    action: &'static str,
    kind: &str,
    name: &impl std::fmt::Display,
    detail: serde_json::Value,
) -> Deed<'a> {
    Deed { action, subject: format!("{kind}/{name}"), team: None, detail }
}
