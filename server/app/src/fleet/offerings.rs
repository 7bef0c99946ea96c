//! Offerings, and what is there of them.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    api::{CatalogueEntry, ChangeOffering, NewOffering, Page},
    authz::Action,
    fleet::{Offering, Pool, Writer},
    ledger::Line,
    name::{ClusterName, OfferingName},
    resource::ResourceName,
    shape::Blocks,
};
use futures::FutureExt as _;
use store::{Paging, Tx};

use super::{check::check_offering, deed, find_cluster, find_offering, find_pool, lock_offering, refuse};
use crate::{App, AppError, Ctx, Once, Result, jobs, observation};

impl App {
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
                // Only the new one: of the others the observer knows more, what pods of nobody's team hold above all.
                let fleet = observation::Fleet::now(&app, tx, &pool.cluster).await?;
                let seen = observation::observe(&pool, &offering, &fleet, app.now());
                store::ledger::observe(tx, &offering.name, &seen).await?;
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
        let observed = find_cluster(&mut conn, &pool.cluster).await?.writer == Writer::Kubernetes;
        Ok(entry(offering, pool, &line, &blocks, observed))
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
        let observed = super::observed(&mut conn).await?;
        let mut entries = vec![];
        for offering in store::offerings::list(&mut conn).await? {
            let Some(pool) = pools.get(&offering.pool) else { continue };
            if offering.retired || pool.retired {
                continue;
            }
            let blocks = store::ledger::blocks(&mut conn, &offering.name).await?;
            let line = lines.get(&offering.name).cloned().unwrap_or_default();
            let observed = observed.contains(&pool.cluster);
            entries.push(entry(offering, pool.clone(), &line, &blocks, observed));
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

fn entry(offering: Offering, pool: Pool, line: &Line, blocks: &Blocks, observed: bool) -> CatalogueEntry {
    let largest = (!blocks.sizes.is_empty()).then(|| blocks.largest_free());
    CatalogueEntry {
        offering,
        pool,
        limit: line.capacity.limit(),
        free: line.free(),
        largest_free_block: largest,
        observed,
    }
}
