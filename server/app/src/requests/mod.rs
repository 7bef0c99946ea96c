//! Requests: ask, look, comment. How a wish is read against what is stored is in [`wish`], how it is decided in
//! [`decide`].

mod decide;
mod wish;

use domain::{
    api::{FitAnswer, May, NewRequest, Page, RequestView, Text},
    authz::{Action, Verdict, authorize},
    fleet::Offering,
    id::RequestId,
    name::{DisplayName, OfferingName, TeamName},
    request::{self, Approval, Ask, Comment, Request, RequestState, TEXT_MAX},
    shape::Shape,
};
use futures::FutureExt as _;
use store::{Conn, Paging, Tx};

use crate::{App, AppError, Ctx, Once, Result, access::Deed, fleet, teams};
use wish::{answer, never_possible, no_offering, offering_of, wish};

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
        teams::lock(tx, team).await?;
        let offering = offering_of(tx, team, &ask).await?;
        store::offerings::lock(tx, &offering).await?.ok_or_else(|| no_offering(&offering))?;
        let wish = wish(tx, team, &ask).await?;
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
        if request::approves_itself(&wish.pool.rules, wish.granted(team), wish.more, fits) {
            let rule =
                Approval { by: None, display: format!("rule of pool {}", wish.pool.name), at: self.now() };
            request = self.promise(tx, request, wish, rule).await?;
            let up_to = serde_json::json!({"rule": "auto_up_to"});
            self.audit_job(tx, "approval rule", deed("request.approve", &request, up_to)).await?;
        }
        self.view(tx, ctx, request, false).await
    }

    /// Requests of a team: those that wait oldest first, all others newest first.
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

    /// Requests of all teams: those that wait oldest first, all others newest first.
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

fn summary(request: &Request, offering: &Offering) -> String {
    let name = &offering.display;
    match &request.ask {
        Ask::New { shape, partition, until, .. } => {
            let fabric = if *partition { " with a partition" } else { "" };
            format!("{}{fabric} until {until}", devices(*shape, name))
        }
        Ask::Change { shape, .. } => {
            format!("{} in place of the amount granted ({} more)", devices(*shape, name), request.more)
        }
        Ask::Extend { until, .. } => format!("{name}: a later end, {until}"),
    }
}

/// "16 × H100 (2 nodes with 8)".
fn devices(shape: Shape, name: &DisplayName) -> String {
    let blocks = match shape {
        Shape { nodes: 1, .. } | Shape { per_node: 1, .. } => String::new(),
        Shape { nodes, per_node } => format!(" ({nodes} nodes with {per_node})"),
    };
    format!("{} × {name}{blocks}", shape.amount())
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
    if text.chars().any(|c| (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || turns_the_text(c)) {
        return Err(AppError::invalid(
            field,
            "must not hold control characters or marks that turn the writing direction",
        ));
    }
    if !text.chars().any(char::is_alphanumeric) {
        return Err(AppError::invalid(field, "must hold at least one letter or digit"));
    }
    Ok(text.to_owned())
}

/// Marks that show a text in another order than it is read (Unicode bidirectional embeddings, overrides, isolates).
fn turns_the_text(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

fn deed<'a>(action: &'static str, request: &'a Request, detail: serde_json::Value) -> Deed<'a> {
    Deed { action, subject: format!("request/{}", request.id), team: Some(&request.team), detail }
}
