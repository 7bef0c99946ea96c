//! What pages and the API show together: a team's quota, the dashboard, the audit list.

use std::{collections::BTreeMap, sync::atomic::Ordering};

use chrono::Duration;
use domain::{
    api::{AuditEntry, Dashboard, DashboardLine, Page, QuotaLine, TeamQuota},
    authz::Action,
    grant::Grant,
    ledger::Holding,
    name::{OfferingName, TeamName},
    request::RequestState,
};
use store::Paging;

use crate::{App, Ctx, Result, fleet, teams};

/// Leases that end within this many days are shown as ending.
const ENDING_DAYS: i64 = 14;
/// Rows of the dashboard's short lists.
const SHORT_LIST: u32 = 20;

impl App {
    /// What a team has: per offering its figures and grants, its partitions, its waiting requests.
    ///
    /// # Errors
    /// When the team is not to be seen.
    pub async fn team_quota(&self, ctx: &Ctx, name: &TeamName) -> Result<TeamQuota> {
        ctx.allow_for(Action::ReadTeam, name)?;
        let mut conn = self.store().read().await?;
        let team = teams::find(&mut conn, name).await?;
        let mut grants: BTreeMap<OfferingName, Vec<Grant>> = BTreeMap::new();
        for grant in store::grants::of_team(&mut conn, name, false).await? {
            grants.entry(grant.offering.clone()).or_default().push(grant);
        }
        let mut holdings: BTreeMap<OfferingName, Holding> =
            store::ledger::of_team(&mut conn, name).await?.into_iter().collect();
        for offering in grants.keys() {
            holdings.entry(offering.clone()).or_default();
        }
        let observed = fleet::observed(&mut conn).await?;
        let mut lines = vec![];
        for (offering, holding) in holdings {
            let grants = grants.remove(&offering).unwrap_or_default();
            if grants.is_empty() && holding.ceiling() == 0 && holding.granted == 0 {
                continue;
            }
            let offering = fleet::find_offering(&mut conn, &offering).await?;
            let pool = fleet::find_pool(&mut conn, &offering.pool).await?;
            let observed = observed.contains(&pool.cluster);
            lines.push(QuotaLine { offering, holding, grants, observed });
        }
        let waiting =
            store::requests::of_team(&mut conn, name, Some(RequestState::Submitted), &first(200)).await?;
        Ok(TeamQuota {
            role: ctx.actor.teams.get(name).copied(),
            lines,
            partitions: store::partitions::of_team(&mut conn, name).await?,
            waiting: waiting.items,
            team,
        })
    }

    /// Figures of all pools and teams.
    ///
    /// # Errors
    /// When the actor may not see the platform.
    pub async fn dashboard(&self, ctx: &Ctx) -> Result<Dashboard> {
        ctx.allow(Action::ReadPlatform, "the dashboard")?;
        let mut conn = self.store().read().await?;
        let pools: BTreeMap<_, _> =
            store::pools::list(&mut conn).await?.into_iter().map(|p| (p.name.clone(), p)).collect();
        let mut ledger: BTreeMap<_, _> = store::ledger::lines(&mut conn).await?.into_iter().collect();
        let observed = fleet::observed(&mut conn).await?;
        let mut lines = vec![];
        for offering in store::offerings::list(&mut conn).await? {
            let Some(pool) = pools.get(&offering.pool).cloned() else { continue };
            let line = ledger.remove(&offering.name).unwrap_or_default();
            let blocks = store::ledger::blocks(&mut conn, &offering.name).await?;
            let observed = observed.contains(&pool.cluster);
            lines.push(DashboardLine { pool, offering, line, blocks, observed });
        }
        let until = self.now() + Duration::days(ENDING_DAYS);
        Ok(Dashboard {
            lines,
            waiting: store::requests::count_waiting(&mut conn).await?,
            enforced: store::namespaces::count_enforced(&mut conn).await?,
            not_enforced: store::namespaces::not_enforced(&mut conn, SHORT_LIST).await?,
            ending: store::grants::ending(&mut conn, until, SHORT_LIST).await?,
            balances_agree: self.inner.balances_agree.load(Ordering::Relaxed),
        })
    }

    /// Requests that wait for a decision.
    ///
    /// # Errors
    /// When the actor may not see the platform.
    pub async fn waiting_count(&self, ctx: &Ctx) -> Result<u32> {
        ctx.allow(Action::ReadPlatform, "the inbox")?;
        Ok(store::requests::count_waiting(&mut *self.store().read().await?).await?)
    }

    /// The audit list, newest first.
    ///
    /// # Errors
    /// When the actor may not see the platform.
    pub async fn audit(
        &self,
        ctx: &Ctx,
        filter: &store::audit::Filter,
        paging: &Paging,
    ) -> Result<Page<AuditEntry>> {
        ctx.allow(Action::ReadPlatform, "the audit list")?;
        Ok(store::audit::list(&mut *self.store().read().await?, filter, paging).await?)
    }
}

fn first(limit: u32) -> Paging {
    Paging { after: None, limit }
}
