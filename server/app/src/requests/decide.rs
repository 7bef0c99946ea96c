//! Decides requests: an approver's or the team's word, and the promise that follows from the last yes.

use domain::{
    api::{RequestView, Text},
    authz::Action,
    grant::{Grant, GrantState},
    id::{GrantId, RequestId},
    ledger::Decision,
    name::TeamName,
    placement,
    request::{self, Approval, Outcome, Request, RequestState, Word},
};
use store::{Tx, ledger::Event};

use super::{
    check_text, deed, expect_version, find,
    wish::{Wish, answer, wish},
};
use crate::{App, AppError, Ctx, Result, fleet, jobs, teams};

impl App {
    /// The team takes its request back.
    ///
    /// # Errors
    /// When the actor may not ask for the team, it is decided already, or the version is stale.
    pub async fn withdraw_request(
        &self,
        ctx: &Ctx,
        team: &TeamName,
        id: RequestId,
        expected: Option<i64>,
    ) -> Result<RequestView> {
        ctx.allow_for(Action::AskForTeam, team)?;
        self.say(ctx, team, id, Word::Withdraw, None, expected).await
    }

    /// An approver says no.
    ///
    /// # Errors
    /// When the actor may not decide, the reason is missing, it is decided otherwise, or the version is stale.
    pub async fn deny_request(
        &self,
        ctx: &Ctx,
        team: &TeamName,
        id: RequestId,
        reason: Text,
        expected: Option<i64>,
    ) -> Result<RequestView> {
        ctx.allow_for(Action::DecideRequest, team)?;
        let reason = check_text("text", &reason.text)?;
        self.say(ctx, team, id, Word::Deny, Some(reason), expected).await
    }

    /// An approver says yes. With the last yes that is needed the promise is made in the ledger, in this same
    /// transaction, under the locks of team and offering.
    ///
    /// # Errors
    /// When the actor may not decide or wrote it themselves, it is decided otherwise, it does not fit
    /// ([`AppError::Short`]), or the version is stale.
    pub async fn approve_request(
        &self,
        ctx: &Ctx,
        team: &TeamName,
        id: RequestId,
        expected: Option<i64>,
    ) -> Result<RequestView> {
        ctx.allow_for(Action::DecideRequest, team)?;
        self.say(ctx, team, id, Word::Approve, None, expected).await
    }

    async fn say(
        &self,
        ctx: &Ctx,
        team: &TeamName,
        id: RequestId,
        word: Word,
        reason: Option<String>,
        expected: Option<i64>,
    ) -> Result<RequestView> {
        let mut tx = self.store().begin().await?;
        teams::lock(&mut tx, team).await?;
        let offering = find(&mut tx, team, id).await?.offering;
        fleet::lock_offering(&mut tx, &offering).await?;
        let mut found = find(&mut tx, team, id).await?;
        let pool = fleet::find_offering(&mut tx, &offering).await?.pool;
        let pool = fleet::find_pool(&mut tx, &pool).await?;
        let approving = word == Word::Approve && found.state == RequestState::Submitted;
        let wish = if approving { Some(wish(&mut tx, team, &found.ask).await?) } else { None };
        if let Some(wish) = &wish {
            // A grant that was lowered meanwhile makes a change of it a larger wish than it was when it was written.
            found.more = wish.more;
        }
        let outcome = request::decide(&found, &word, ctx.actor.user, &pool.rules)
            .map_err(|e| AppError::conflict(e.to_string()))?;
        if outcome != Outcome::Unchanged {
            expect_version("the request", expected, found.version)?;
        }
        let approval =
            Approval { by: Some(ctx.actor.user), display: ctx.actor.display.to_string(), at: self.now() };
        let saved = match outcome {
            Outcome::Unchanged => found,
            Outcome::Close(state) => {
                self.close(&mut tx, ctx, Request { state, denial: reason, ..found }).await?
            }
            Outcome::AwaitSecond => {
                if let Some(wish) = &wish {
                    refuse_unless_it_fits(answer(&mut tx, team, wish, self.now()).await?.decision)?;
                }
                let mut approved = found;
                approved.approvals.push(approval);
                let saved = store::requests::update(&mut tx, &approved).await?;
                self.audit_by(&mut tx, ctx, deed("request.approve.first", &saved, serde_json::json!({})))
                    .await?;
                saved
            }
            Outcome::Approve => {
                let wish = wish.ok_or_else(|| AppError::conflict("the request is decided already"))?;
                let saved = self.promise(&mut tx, found, wish, approval).await?;
                self.audit_by(
                    &mut tx,
                    ctx,
                    deed("request.approve", &saved, serde_json::json!({"grant": saved.grant})),
                )
                .await?;
                saved
            }
        };
        let view = self.view(&mut tx, ctx, saved, true).await?;
        tx.commit().await?;
        self.inner.wake.notify_one();
        Ok(view)
    }

    async fn close(&self, tx: &mut Tx, ctx: &Ctx, closed: Request) -> Result<Request> {
        let saved = store::requests::update(tx, &Request { decided_at: Some(self.now()), ..closed }).await?;
        let action = if saved.state == RequestState::Denied { "request.deny" } else { "request.withdraw" };
        self.audit_by(tx, ctx, deed(action, &saved, serde_json::json!({"reason": saved.denial}))).await?;
        Ok(saved)
    }

    /// Makes the promise: ledger, grant, partition, namespace, outbox. Team and offering are locked.
    pub(super) async fn promise(
        &self,
        tx: &mut Tx,
        mut request: Request,
        mut wish: Wish,
        approval: Approval,
    ) -> Result<Request> {
        let now = self.now();
        if wish.partition && wish.existing.is_none() {
            // Two teams must not take the same free slot.
            store::clusters::lock(tx, &wish.cluster.name).await?;
            wish.taken_slots = store::partitions::taken(tx, &wish.cluster.name).await?;
        }
        let fit = answer(tx, &request.team, &wish, now).await?;
        refuse_unless_it_fits(fit.decision)?;
        if let Some(until) = wish.until.filter(|_| wish.ends_at <= now) {
            return Err(AppError::conflict(format!(
                "the lease would have ended on {until}; ask again with a later day"
            )));
        }
        if let Some(partition) = fit.partition.filter(|_| fit.new_partition) {
            store::partitions::insert(tx, &partition).await?;
            self.learn_resource(tx, &partition.cluster, &partition.resource()).await?;
        }
        let grant = self.grant_of(tx, &request, &wish).await?;
        if wish.more > 0 || wish.grant.as_ref().is_some_and(|g| g.amount() != grant.amount()) {
            let before = wish.grant.as_ref().map_or(0, Grant::amount);
            let event = Event {
                id: self.id(),
                offering: request.offering.clone(),
                team: request.team.clone(),
                grant: Some(grant.id),
                granted: i64::from(grant.amount()) - i64::from(before),
                held: 0,
                reason: format!("request {} approved", request.id),
                at: now,
            };
            store::ledger::post(tx, &event).await?;
        }
        let grant = match &wish.grant {
            Some(_) => store::grants::update(tx, &grant).await?,
            None => {
                store::grants::insert(tx, &grant).await?;
                grant
            }
        };
        store::namespaces::ensure(tx, &grant.cluster, &grant.namespace, &grant.team).await?;
        jobs::enqueue(self, tx, &jobs::Work::namespace_of(&grant)).await?;
        request.approvals.push(approval);
        request.state = RequestState::Approved;
        request.decided_at = Some(now);
        request.grant = Some(grant.id);
        Ok(store::requests::update(tx, &request).await?)
    }

    async fn grant_of(&self, tx: &mut Tx, request: &Request, wish: &Wish) -> Result<Grant> {
        if let Some(grant) = &wish.grant {
            let state =
                domain::grant::follow(grant.state, domain::grant::Happening::Changed, wish.cluster.writer)
                    .unwrap_or(grant.state);
            return Ok(Grant {
                shape: wish.shape,
                ends_at: wish.ends_at,
                state,
                blocked: None,
                ..grant.clone()
            });
        }
        let placed = store::grants::placed(tx, &wish.cluster.name, &request.team).await?;
        Ok(Grant {
            id: self.id::<GrantId>(),
            team: request.team.clone(),
            offering: request.offering.clone(),
            pool: wish.pool.name.clone(),
            cluster: wish.cluster.name.clone(),
            namespace: placement::place(&request.team, &wish.pool.name, &wish.offering.resource, &placed),
            shape: wish.shape,
            partition: wish.partition,
            state: GrantState::Applying,
            blocked: None,
            starts_at: self.now(),
            ends_at: wish.ends_at,
            request: request.id,
            version: 1,
        })
    }
}

fn refuse_unless_it_fits(decision: Decision) -> Result<()> {
    match decision {
        Decision::Fits { .. } => Ok(()),
        Decision::Short { shortfalls } => Err(AppError::short(shortfalls)),
    }
}
