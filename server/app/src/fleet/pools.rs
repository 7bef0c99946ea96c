//! Pools.

use domain::{
    api::{ChangePool, NewPool},
    authz::Action,
    fleet::{POOL_LABEL, Pool},
    name::PoolName,
    placement,
};
use futures::FutureExt as _;
use store::{Conn, Paging};

use super::{check::check_pool, deed, find_pool, refuse};
use crate::{App, AppError, Ctx, Once, Result};

impl App {
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
                    Some(next.parse().map_err(|e| AppError::internal("a cursor of ours cannot be read", e))?);
            }
            None => return Ok(()),
        }
    }
}

/// The tenant policy of a namespace names one label key for all its resources, so the pools of a cluster share it.
fn one_label_key(pools: &[Pool], new: &Pool) -> Result<()> {
    let mut same_cluster = pools.iter().filter(|p| p.cluster == new.cluster);
    if let Some(other) = same_cluster.clone().find(|p| p.label_value == new.label_value && p.name != new.name)
    {
        return Err(AppError::invalid(
            "label_value",
            format!(
                "`{}` picks the nodes of pool {} already; a node belongs to one pool",
                new.label_value, other.name
            ),
        ));
    }
    match same_cluster.find(|p| p.label_key != new.label_key) {
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
