//! Requests: ask, check, decide.

use domain::{
    Timestamp,
    api::{FieldError, FitAnswer, FreesUp, May, NewRequest, Page, RequestView, Text},
    authz::{Action, Verdict, authorize},
    fabric::Partition,
    fleet::{Cluster, Offering, Pool},
    grant::{Grant, GrantState},
    id::{GrantId, RequestId},
    ledger::{self, Decision, Dimension, Line, Shortfall},
    name::{OfferingName, TeamName},
    placement,
    request::{self, Approval, Ask, Comment, Outcome, Request, RequestState, TEXT_MAX, Word},
    resource::AMOUNT_MAX,
    shape::{Blocks, Shape},
};
use futures::FutureExt as _;
use store::{Conn, Paging, Tx, ledger::Event};

use crate::{App, AppError, Ctx, Once, Result, access::Deed, fleet, jobs, teams};

/// A wish, read against what is stored: everything that deciding it needs.
struct Wish {
    offering: Offering,
    pool: Pool,
    cluster: Cluster,
    line: Line,
    blocks: Blocks,
    /// The grant that it changes.
    grant: Option<Grant>,
    shape: Shape,
    /// Devices beyond what the team is granted now.
    more: u32,
    partition: bool,
    ends_at: Timestamp,
    /// Last day asked for; none for a change of the amount.
    until: Option<chrono::NaiveDate>,
    /// The team's partition in the cluster.
    existing: Option<Partition>,
    taken_slots: Vec<u16>,
}

impl App {
    /// Does it fit, live? Changes nothing.
    ///
    /// # Errors
    /// When the team is not to be seen, or a field is wrong.
    pub async fn fit(&self, ctx: &Ctx, team: &TeamName, ask: &Ask) -> Result<FitAnswer> {
        ctx.allow_for(Action::ReadTeam, team)?;
        let mut conn = self.store().read().await?;
        teams::find(&mut conn, team).await?;
        let wish = wish(&mut conn, team, ask).await?;
        answer(&mut conn, team, &wish, self.now()).await
    }

    /// Asks for something. A request that could never be served is refused at once; one that does not fit now
    /// waits for an approver. Where the rule of the pool approves it, it is approved in the same transaction.
    ///
    /// # Errors
    /// When the actor may not ask for the team, a field is wrong, or no state of the pool could serve it.
    pub async fn submit_request(
        &self,
        ctx: &Ctx,
        team: &TeamName,
        new: NewRequest,
        once: Once,
    ) -> Result<RequestView> {
        ctx.allow_for(Action::AskForTeam, team)?;
        let purpose = check_text("purpose", &new.purpose)?;
        let (app, by, team) = (self.clone(), ctx.clone(), team.clone());
        self.once(&ctx.actor, &once, move |tx| {
            async move { app.submit(tx, &by, &team, new.ask, purpose).await }.boxed()
        })
        .await
    }

    async fn submit(
        &self,
        tx: &mut Tx,
        ctx: &Ctx,
        team: &TeamName,
        ask: Ask,
        purpose: String,
    ) -> Result<RequestView> {
        let stored = teams::lock(tx, team).await?;
        let offering = offering_of(tx, team, &ask).await?;
        store::offerings::lock(tx, &offering).await?.ok_or_else(|| no_offering(&offering))?;
        let wish = wish(tx, team, &ask).await?;
        if stored.retired || wish.offering.retired || wish.pool.retired {
            return Err(AppError::conflict(format!(
                "team {team}, offering {} or pool {} is retired; nothing new can be asked for",
                offering, wish.pool.name
            )));
        }
        if let (Some(grant), Ask::Change { .. }) = (&wish.grant, &ask)
            && wish.shape.amount() < grant.amount()
        {
            return Err(AppError::invalid(
                "ask.shape",
                format!(
                    "{} is less than the {} granted; a lower amount needs no approval: give back {}",
                    wish.shape.amount(),
                    grant.amount(),
                    grant.amount() - wish.shape.amount()
                ),
            ));
        }
        never_possible(&wish, self.now())?;
        let mut request = Request {
            id: self.id(),
            team: team.clone(),
            grant: wish.grant.as_ref().map(|g| g.id),
            ask,
            offering,
            more: wish.more,
            purpose,
            state: RequestState::Submitted,
            approvals: vec![],
            denial: None,
            created_by: ctx.actor.user,
            created_by_display: ctx.actor.display.to_string(),
            created_at: self.now(),
            decided_at: None,
            version: 1,
        };
        store::requests::insert(tx, &request).await?;
        self.audit_by(
            tx,
            ctx,
            deed("request.submit", &request, serde_json::json!({"ask": request.ask, "more": request.more})),
        )
        .await?;
        let fits = answer(tx, team, &wish, self.now()).await?.decision.fits();
        if request::approves_itself(&wish.pool.rules, wish.more, fits) {
            let rule =
                Approval { by: None, display: format!("rule of pool {}", wish.pool.name), at: self.now() };
            request = self.promise(tx, request, wish, rule).await?;
            let up_to = serde_json::json!({"rule": "auto_up_to"});
            self.audit_job(tx, "approval rule", deed("request.approve", &request, up_to)).await?;
        }
        self.view(tx, ctx, request, false).await
    }

    /// Requests of a team, newest first.
    ///
    /// # Errors
    /// When the team is not to be seen.
    pub async fn list_requests(
        &self,
        ctx: &Ctx,
        team: &TeamName,
        state: Option<RequestState>,
        paging: &Paging,
    ) -> Result<Page<RequestView>> {
        ctx.allow_for(Action::ReadTeam, team)?;
        let mut conn = self.store().read().await?;
        teams::find(&mut conn, team).await?;
        let page = store::requests::of_team(&mut conn, team, state, paging).await?;
        self.views(&mut conn, ctx, page).await
    }

    /// One request, with its comments.
    ///
    /// # Errors
    /// When it is not there or not to be seen.
    pub async fn find_request(&self, ctx: &Ctx, team: &TeamName, id: RequestId) -> Result<RequestView> {
        ctx.allow_for(Action::ReadTeam, team)?;
        let mut conn = self.store().read().await?;
        let request = find(&mut conn, team, id).await?;
        self.view(&mut conn, ctx, request, true).await
    }

    /// Requests of all teams, newest first.
    ///
    /// # Errors
    /// When the actor may not see the platform.
    pub async fn inbox(
        &self,
        ctx: &Ctx,
        state: Option<RequestState>,
        team: Option<&TeamName>,
        offering: Option<&OfferingName>,
        paging: &Paging,
    ) -> Result<Page<RequestView>> {
        ctx.allow(Action::ReadPlatform, "the inbox")?;
        let mut conn = self.store().read().await?;
        let page = store::requests::all(&mut conn, state, team, offering, paging).await?;
        self.views(&mut conn, ctx, page).await
    }

    /// Says something about a request.
    ///
    /// # Errors
    /// When the request is not to be seen, the actor only reads, or the text is empty or too long.
    pub async fn comment(
        &self,
        ctx: &Ctx,
        team: &TeamName,
        id: RequestId,
        text: Text,
        once: Once,
    ) -> Result<Comment> {
        ctx.allow_for(Action::ReadTeam, team)?;
        if !may_comment(ctx, team) {
            return Err(AppError::Forbidden {
                detail: "only members of the team, approvers and admins may comment".to_owned(),
            });
        }
        let text = check_text("text", &text.text)?;
        let comment = Comment {
            id: self.id(),
            by: ctx.actor.user,
            by_display: ctx.actor.display.to_string(),
            at: self.now(),
            text,
        };
        let team = team.clone();
        self.once(&ctx.actor, &once, move |tx| {
            async move {
                find(tx, &team, id).await?;
                store::requests::add_comment(tx, id, &comment).await?;
                Ok(comment)
            }
            .boxed()
        })
        .await
    }

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
        let found = find(&mut tx, team, id).await?;
        let pool = fleet::find_offering(&mut tx, &offering).await?.pool;
        let pool = fleet::find_pool(&mut tx, &pool).await?;
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
                let closed = Request { state, denial: reason, decided_at: Some(self.now()), ..found };
                let saved = store::requests::update(&mut tx, &closed).await?;
                let action = if state == RequestState::Denied { "request.deny" } else { "request.withdraw" };
                self.audit_by(
                    &mut tx,
                    ctx,
                    deed(action, &saved, serde_json::json!({"reason": saved.denial})),
                )
                .await?;
                saved
            }
            Outcome::AwaitSecond => {
                let mut approved = found;
                approved.approvals.push(approval);
                let saved = store::requests::update(&mut tx, &approved).await?;
                self.audit_by(&mut tx, ctx, deed("request.approve.first", &saved, serde_json::json!({})))
                    .await?;
                saved
            }
            Outcome::Approve => {
                let wish = wish(&mut tx, team, &found.ask).await?;
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

    /// Makes the promise: ledger, grant, partition, namespace, outbox. Team and offering are locked.
    async fn promise(
        &self,
        tx: &mut Tx,
        mut request: Request,
        wish: Wish,
        approval: Approval,
    ) -> Result<Request> {
        let now = self.now();
        let fit = answer(tx, &request.team, &wish, now).await?;
        if let Decision::Short { shortfalls } = fit.decision {
            return Err(AppError::short(shortfalls));
        }
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

    async fn views(&self, conn: &mut Conn, ctx: &Ctx, page: Page<Request>) -> Result<Page<RequestView>> {
        let mut items = vec![];
        for request in page.items {
            items.push(self.view(conn, ctx, request, false).await?);
        }
        Ok(Page { items, next: page.next })
    }

    pub(crate) async fn view(
        &self,
        conn: &mut Conn,
        ctx: &Ctx,
        request: Request,
        with_comments: bool,
    ) -> Result<RequestView> {
        let waits = request.state == RequestState::Submitted;
        let offering = fleet::find_offering(conn, &request.offering).await?;
        let pool = fleet::find_pool(conn, &offering.pool).await?;
        let line = store::ledger::line(conn, &offering.name).await?.unwrap_or_default();
        let fit = if waits { self.fit_of(conn, &request).await? } else { None };
        let comments =
            if with_comments { store::requests::comments(conn, request.id).await? } else { vec![] };
        let decides = authorize(&ctx.actor, Action::DecideRequest, Some(&request.team)) == Verdict::Allow;
        let asks = authorize(&ctx.actor, Action::AskForTeam, Some(&request.team)) == Verdict::Allow;
        Ok(RequestView {
            summary: summary(&request, &offering),
            fit,
            limit: line.capacity.limit(),
            free: line.free(),
            approvals_needed: request::approvals_needed(&pool.rules, request.more),
            may: May {
                decide: waits && decides && request.created_by != ctx.actor.user,
                withdraw: waits && asks,
                comment: may_comment(ctx, &request.team),
            },
            comments,
            offering,
            request,
        })
    }

    /// Fit of a waiting request; none when what it is about has ended meanwhile.
    async fn fit_of(&self, conn: &mut Conn, request: &Request) -> Result<Option<FitAnswer>> {
        match wish(conn, &request.team, &request.ask).await {
            Ok(wish) => Ok(Some(answer(conn, &request.team, &wish, self.now()).await?)),
            Err(AppError::Conflict { .. } | AppError::NotFound { .. } | AppError::Invalid { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }
}

async fn find(conn: &mut Conn, team: &TeamName, id: RequestId) -> Result<Request> {
    store::requests::find(conn, team, id)
        .await?
        .ok_or_else(|| AppError::not_found(format!("request {id} of team {team}")))
}

/// Offering that an ask is about.
async fn offering_of(conn: &mut Conn, team: &TeamName, ask: &Ask) -> Result<OfferingName> {
    match ask {
        Ask::New { offering, .. } => Ok(offering.clone()),
        Ask::Change { grant, .. } | Ask::Extend { grant, .. } => {
            Ok(running_grant(conn, team, *grant).await?.offering)
        }
    }
}

fn no_offering(name: &OfferingName) -> AppError {
    AppError::invalid("ask.offering", format!("there is no offering `{name}`; see the catalogue"))
}

async fn running_grant(conn: &mut Conn, team: &TeamName, id: GrantId) -> Result<Grant> {
    let grant = store::grants::find(conn, team, id)
        .await?
        .ok_or_else(|| AppError::invalid("ask.grant", format!("team {team} has no grant {id}")))?;
    if grant.state.counts() {
        Ok(grant)
    } else {
        Err(AppError::conflict(format!("grant {id} is over; ask for a new one")))
    }
}

/// Reads an ask against what is stored.
async fn wish(conn: &mut Conn, team: &TeamName, ask: &Ask) -> Result<Wish> {
    let (name, grant) = match ask {
        Ask::New { offering, .. } => (offering.clone(), None),
        Ask::Change { grant, .. } | Ask::Extend { grant, .. } => {
            let grant = running_grant(conn, team, *grant).await?;
            (grant.offering.clone(), Some(grant))
        }
    };
    let found = store::offerings::find(conn, &name).await?;
    let offering = found.ok_or_else(|| no_offering(&name))?;
    let pool = fleet::find_pool(conn, &offering.pool).await?;
    let cluster = fleet::find_cluster(conn, &pool.cluster).await?;
    let before = grant.as_ref().map_or(0, Grant::amount);
    let (shape, partition, until) = match (ask, &grant) {
        (Ask::New { shape, partition, until, .. }, _) => (*shape, *partition, Some(*until)),
        (Ask::Change { shape, .. }, Some(grant)) => (*shape, grant.partition, None),
        (Ask::Extend { until, .. }, Some(grant)) => (grant.shape, grant.partition, Some(*until)),
        (_, None) => return Err(AppError::not_found("the grant")),
    };
    check_shape(shape, &offering, partition)?;
    let ends_at = match (until, &grant) {
        (Some(until), _) => request::lease_end(until),
        (None, Some(grant)) => grant.ends_at,
        (None, None) => return Err(AppError::not_found("the grant")),
    };
    Ok(Wish {
        line: store::ledger::line(conn, &name).await?.unwrap_or_default(),
        blocks: store::ledger::blocks(conn, &name).await?,
        existing: store::partitions::find(conn, &cluster.name, team).await?,
        taken_slots: store::partitions::taken(conn, &cluster.name).await?,
        more: shape.amount().saturating_sub(before),
        offering,
        pool,
        cluster,
        grant,
        shape,
        partition,
        ends_at,
        until,
    })
}

fn check_shape(shape: Shape, offering: &Offering, partition: bool) -> Result<()> {
    let mut fields = vec![];
    if shape.nodes == 0 {
        fields.push(FieldError::new("ask.shape.nodes", "must be at least 1"));
    }
    if shape.per_node == 0 {
        fields.push(FieldError::new("ask.shape.per_node", "must be at least 1"));
    }
    if shape.amount() > AMOUNT_MAX {
        fields.push(FieldError::new(
            "ask.shape",
            format!("{} × {} is more than {AMOUNT_MAX}", shape.nodes, shape.per_node),
        ));
    }
    if partition && !offering.partition {
        fields.push(FieldError::new("ask.partition", format!("offering {} has no fabric; leave the partition out, or take an offering of whole GPUs that has one", offering.name)));
    }
    if fields.is_empty() { Ok(()) } else { Err(AppError::Invalid { fields }) }
}

/// Refuses what no state of the pool could serve, so that nobody waits for it.
fn never_possible(wish: &Wish, now: Timestamp) -> Result<()> {
    let mut shortfalls = vec![];
    if let Some(until) = wish.until {
        shortfalls.extend(request::check_lease(&wish.pool.rules, now.date_naive(), until).err());
    }
    let declared =
        Line { capacity: ledger::Capacity { observed: None, ..wish.line.capacity }, ..Line::default() };
    let alone = ledger::decide(
        &declared,
        &wish.blocks,
        &TeamName::new("nobody").map_err(|e| AppError::internal("a constant name", e))?,
        wish.shape,
        wish.shape.amount(),
    );
    if let Decision::Short { shortfalls: never } = alone {
        shortfalls.extend(never);
    }
    if wish.partition && wish.cluster.fabric_slots == 0 {
        shortfalls.push(no_slot(wish));
    }
    if shortfalls.is_empty() { Ok(()) } else { Err(AppError::short(shortfalls)) }
}

/// Does it fit now: ledger, shape, partition.
async fn answer(conn: &mut Conn, team: &TeamName, wish: &Wish, now: Timestamp) -> Result<FitAnswer> {
    let mut decision = ledger::decide(&wish.line, &wish.blocks, team, wish.shape, wish.more);
    let mut partition = None;
    let mut new_partition = false;
    let mut refused = vec![];
    if wish.partition {
        partition = wish.existing.clone();
        if partition.is_none() {
            new_partition = true;
            match domain::fabric::free_slot(wish.cluster.fabric_slots, &wish.taken_slots) {
                Some(slot) => {
                    partition = Partition::in_slot(wish.cluster.name.clone(), team.clone(), slot).ok();
                }
                None => refused.push(no_slot(wish)),
            }
        }
    }
    if let Some(until) = wish.until {
        refused.extend(request::check_lease(&wish.pool.rules, now.date_naive(), until).err());
    }
    if !refused.is_empty() {
        decision = match decision {
            Decision::Short { mut shortfalls } => {
                shortfalls.extend(refused);
                Decision::Short { shortfalls }
            }
            Decision::Fits { .. } => Decision::Short { shortfalls: refused },
        };
    }
    let needed = request::approvals_needed(&wish.pool.rules, wish.more);
    let itself = request::approves_itself(&wish.pool.rules, wish.more, decision.fits());
    Ok(FitAnswer {
        frees_up: if decision.fits() { None } else { frees_up(conn, &wish.offering.name, now).await? },
        approvals_needed: if itself { 0 } else { needed },
        ends_at: Some(wish.ends_at),
        partition,
        new_partition,
        decision,
    })
}

fn no_slot(wish: &Wish) -> Shortfall {
    let (slots, taken) =
        (u32::from(wish.cluster.fabric_slots), u32::try_from(wish.taken_slots.len()).unwrap_or(u32::MAX));
    let detail = if slots == 0 {
        format!("cluster {} has no fabric; ask without a partition", wish.cluster.name)
    } else {
        format!(
            "all {slots} partitions of cluster {} belong to teams; ask without a partition, or ask an admin for more slots",
            wish.cluster.name
        )
    };
    Shortfall {
        dimension: Dimension::Partition,
        limit: slots,
        used: taken,
        requested: 1,
        shortfall: 1,
        detail,
    }
}

/// The next lease of the offering that ends.
async fn frees_up(conn: &mut Conn, offering: &OfferingName, now: Timestamp) -> Result<Option<FreesUp>> {
    let grants = store::grants::of_offering(conn, offering).await?;
    let next = grants.iter().filter(|g| g.state.counts() && g.ends_at > now).min_by_key(|g| g.ends_at);
    Ok(next.map(|g| FreesUp { at: g.ends_at, amount: g.amount() }))
}

fn summary(request: &Request, offering: &Offering) -> String {
    let name = &offering.display;
    match &request.ask {
        Ask::New { shape, partition, until, .. } => {
            let fabric = if *partition { " with a partition" } else { "" };
            format!("{} × {name}{fabric} until {until}", shape_words(*shape))
        }
        Ask::Change { shape, .. } => {
            format!("{} × {name} in place of the amount granted ({} more)", shape_words(*shape), request.more)
        }
        Ask::Extend { until, .. } => format!("{name}: a later end, {until}"),
    }
}

fn shape_words(shape: Shape) -> String {
    if shape.nodes == 1 {
        shape.per_node.to_string()
    } else {
        format!("{} ({} × {})", shape.amount(), shape.nodes, shape.per_node)
    }
}

fn may_comment(ctx: &Ctx, team: &TeamName) -> bool {
    [Action::AskForTeam, Action::DecideRequest]
        .iter()
        .any(|a| authorize(&ctx.actor, *a, Some(team)) == Verdict::Allow)
}

pub(crate) fn expect_version(what: &str, expected: Option<i64>, found: i64) -> Result<()> {
    match expected {
        Some(expected) if expected != found => Err(AppError::Stale {
            detail: format!(
                "{what} was changed by somebody else: you have version {expected}, now it is {found}; load it again"
            ),
        }),
        _ => Ok(()),
    }
}

fn check_text(field: &str, text: &str) -> Result<String> {
    let text = text.trim();
    let length = text.chars().count();
    if length == 0 {
        return Err(AppError::invalid(field, format!("must not be empty; write 1 to {TEXT_MAX} characters")));
    }
    if length > TEXT_MAX {
        return Err(AppError::invalid(field, format!("has {length} characters, {TEXT_MAX} are allowed")));
    }
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(AppError::invalid(field, "must not hold control characters"));
    }
    Ok(text.to_owned())
}

fn deed<'a>(action: &'static str, request: &'a Request, detail: serde_json::Value) -> Deed<'a> {
    Deed { action, subject: format!("request/{}", request.id), team: Some(&request.team), detail }
}
