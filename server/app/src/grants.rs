//! Grants: look, give back, end.

use domain::{
    api::{Enforcement, GiveBack, GrantView, NamespaceView},
    authz::Action,
    fleet::Writer,
    grant::{Grant, Happening, follow},
    id::GrantId,
    name::{ClusterName, NamespaceName, TeamName},
};
use futures::FutureExt as _;
use store::{Conn, Tx, ledger::Event};

use crate::{App, AppError, Ctx, Once, Result, access::Deed, fleet, jobs, requests, teams};

impl App {
    /// Grants of a team.
    ///
    /// # Errors
    /// When the team is not to be seen.
    pub async fn list_grants(&self, ctx: &Ctx, team: &TeamName, with_ended: bool) -> Result<Vec<GrantView>> {
        ctx.allow_for(Action::ReadTeam, team)?;
        let mut conn = self.store().read().await?;
        teams::find(&mut conn, team).await?;
        let mut views = vec![];
        for grant in store::grants::of_team(&mut conn, team, with_ended).await? {
            views.push(view(&mut conn, grant).await?);
        }
        Ok(views)
    }

    /// One grant.
    ///
    /// # Errors
    /// When it is not there or not to be seen.
    pub async fn find_grant(&self, ctx: &Ctx, team: &TeamName, id: GrantId) -> Result<GrantView> {
        ctx.allow_for(Action::ReadTeam, team)?;
        let mut conn = self.store().read().await?;
        let grant = find(&mut conn, team, id).await?;
        view(&mut conn, grant).await
    }

    /// Gives back all of a grant or a part. Needs no approval. Nothing that runs is stopped; no new pod gets in
    /// until use is below the new amount.
    ///
    /// # Errors
    /// When the actor does not lead the team, the grant is over, what stays is not less, or the version is stale.
    pub async fn give_back(
        &self,
        ctx: &Ctx,
        team: &TeamName,
        id: GrantId,
        body: GiveBack,
        expected: Option<i64>,
        once: Once,
    ) -> Result<GrantView> {
        ctx.allow_for(Action::LeadTeam, team)?;
        let (app, by, team) = (self.clone(), ctx.clone(), team.clone());
        self.once(&ctx.actor, &once, move |tx| {
            async move {
                teams::lock(tx, &team).await?;
                let offering = find(tx, &team, id).await?.offering;
                fleet::lock_offering(tx, &offering).await?;
                let grant = find(tx, &team, id).await?;
                requests::expect_version("the grant", expected, grant.version)?;
                let saved = app.lower(tx, grant, &body, "given back").await?;
                let detail = serde_json::json!({"keep": body.keep});
                app.audit_by(tx, &by, deed("grant.give-back", &saved, detail)).await?;
                view(tx, saved).await
            }
            .boxed()
        })
        .await
    }

    /// Lowers a grant, to nothing where nothing is kept. Team and offering are locked.
    async fn lower(&self, tx: &mut Tx, grant: Grant, body: &GiveBack, reason: &str) -> Result<Grant> {
        let before = grant.amount();
        if !grant.state.counts() {
            return Err(AppError::conflict("the grant is over already"));
        }
        let cluster = fleet::find_cluster(tx, &grant.cluster).await?;
        let happening = if body.keep.is_some() { Happening::Changed } else { Happening::Over };
        let state = follow(grant.state, happening, cluster.writer).unwrap_or(grant.state);
        let lowered = Grant { shape: body.keep.unwrap_or(grant.shape), state, blocked: None, ..grant };
        if lowered.amount() >= before {
            return Err(AppError::invalid(
                "keep",
                format!(
                    "{} would stay of {before}; give back at least 1, or ask for a change",
                    lowered.amount()
                ),
            ));
        }
        if body.keep.is_some_and(|k| k.amount() == 0) {
            return Err(AppError::invalid("keep", "must be at least 1; leave it out to give back all"));
        }
        let event = Event {
            id: self.id(),
            offering: lowered.offering.clone(),
            team: lowered.team.clone(),
            grant: Some(lowered.id),
            granted: i64::from(lowered.amount()) - i64::from(before),
            held: 0,
            reason: format!("grant {} {reason}", lowered.id),
            at: self.now(),
        };
        store::ledger::post(tx, &event).await?;
        let saved = store::grants::update(tx, &lowered).await?;
        jobs::enqueue(self, tx, &jobs::Work::namespace_of(&saved)).await?;
        Ok(saved)
    }

    /// Ends a grant whose lease is over. Called by the job that watches the leases.
    pub(crate) async fn expire(&self, due: &Grant) -> Result<()> {
        let mut tx = self.store().begin().await?;
        teams::lock(&mut tx, &due.team).await?;
        fleet::lock_offering(&mut tx, &due.offering).await?;
        let grant = find(&mut tx, &due.team, due.id).await?;
        if grant.state.counts() && grant.ends_at <= self.now() {
            let saved = self.lower(&mut tx, grant, &GiveBack { keep: None }, "ended with its lease").await?;
            self.audit_job(
                &mut tx,
                "leases",
                deed("grant.expire", &saved, serde_json::json!({"ends_at": saved.ends_at})),
            )
            .await?;
        }
        tx.commit().await?;
        self.inner.wake.notify_one();
        Ok(())
    }

    /// An admin's word, where no cluster is observed, that what was committed is applied: lowered limits count as
    /// reported, and raises that wait for them go on.
    ///
    /// # Errors
    /// When the actor is no admin, or the cluster is observed.
    pub async fn confirm_namespace(
        &self,
        ctx: &Ctx,
        cluster: &ClusterName,
        namespace: &NamespaceName,
    ) -> Result<NamespaceView> {
        ctx.allow(Action::ManageFleet, &format!("cluster {cluster}"))?;
        let mut tx = self.store().begin().await?;
        let found = fleet::find_cluster(&mut tx, cluster).await?;
        if found.writer == Writer::Kubernetes {
            return Err(AppError::conflict(format!(
                "cluster {cluster} is observed: it reports its limits itself"
            )));
        }
        let Some(view) = store::namespaces::find(&mut tx, cluster, namespace).await? else {
            return Err(AppError::not_found(format!("namespace {namespace} of cluster {cluster}")));
        };
        if view.enforcement != Enforcement::Published {
            return Err(AppError::conflict(format!(
                "namespace {namespace} is not published yet; try again in a moment"
            )));
        }
        if jobs::is_waiting(
            &mut tx,
            &jobs::Work::Namespace { cluster: cluster.clone(), namespace: namespace.clone() },
        )
        .await?
        {
            return Err(AppError::conflict(format!(
                "namespace {namespace} has a change that is not committed yet; apply the next commit first"
            )));
        }
        jobs::confirm_lowered(self, &mut tx, &found, &view).await?;
        let detail = serde_json::json!({"cluster": cluster, "namespace": namespace});
        self.audit_by(
            &mut tx,
            ctx,
            Deed {
                action: "namespace.confirm",
                subject: format!("namespace/{namespace}"),
                team: Some(&view.team),
                detail,
            },
        )
        .await?;
        tx.commit().await?;
        self.inner.wake.notify_one();
        Ok(view)
    }
}

async fn find(conn: &mut Conn, team: &TeamName, id: GrantId) -> Result<Grant> {
    store::grants::find(conn, team, id)
        .await?
        .ok_or_else(|| AppError::not_found(format!("grant {id} of team {team}")))
}

async fn view(conn: &mut Conn, grant: Grant) -> Result<GrantView> {
    let offering = fleet::find_offering(conn, &grant.offering).await?;
    let line = store::ledger::line(conn, &grant.offering).await?.unwrap_or_default();
    let cluster = fleet::find_cluster(conn, &grant.cluster).await?;
    Ok(GrantView {
        observed: cluster.writer == Writer::Kubernetes,
        holding: line.holdings.get(&grant.team).copied().unwrap_or_default(),
        namespace: store::namespaces::find(conn, &grant.cluster, &grant.namespace).await?,
        partition: if grant.partition {
            store::partitions::find(conn, &grant.cluster, &grant.team).await?
        } else {
            None
        },
        offering,
        grant,
    })
}

fn deed<'a>(action: &'static str, grant: &'a Grant, detail: serde_json::Value) -> Deed<'a> {
    Deed { action, subject: format!("grant/{}", grant.id), team: Some(&grant.team), detail }
}
