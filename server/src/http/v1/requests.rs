//! Requests: ask, follow, decide.

use axum::{Json, extract::State};
use domain::{
    api::{FitAnswer, NewRequest, Page, RequestView, Text},
    id::RequestId,
    name::{OfferingName, TeamName},
    request::{Ask, Comment, RequestState},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Created, Refusals, Tagged};
use crate::http::{
    Web,
    extract::{After, At, Body, Filter, IfMatch, IfMatchHeader, Limit, OnceHeader, SignedIn, paging},
    problem::{Answer, Refusal},
};

/// Filter of a team's requests.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OfTeam {
    /// Only in this state.
    state: Option<RequestState>,
    /// `next` of the page before.
    #[param(value_type = Option<String>)]
    cursor: Option<After>,
    /// Rows, 1 to 200; 50 where nothing is said.
    #[param(value_type = Option<u32>)]
    limit: Option<Limit>,
}

/// Filter of all requests.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OfAll {
    /// Only in this state.
    state: Option<RequestState>,
    /// Only of this team.
    team: Option<TeamName>,
    /// Only for this offering.
    offering: Option<OfferingName>,
    /// `next` of the page before.
    #[param(value_type = Option<String>)]
    cursor: Option<After>,
    /// Rows, 1 to 200; 50 where nothing is said.
    #[param(value_type = Option<u32>)]
    limit: Option<Limit>,
}

/// Does it fit? Changes nothing.
#[utoipa::path(
    post, path = "/teams/{team}/fit", tag = "requests", params(("team" = TeamName, Path)), request_body = Ask,
    responses((status = 200, body = FitAnswer), Refusals)
)]
pub(crate) async fn fit(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(team): At<TeamName>,
    body: Body<Ask>,
) -> Answer<Json<FitAnswer>> {
    let answer = web.app.fit(&ctx, &team, &body.value).await;
    Ok(Json(answer.map_err(|error| Refusal::from(error).inside("ask."))?))
}

/// Asks for GPUs.
#[utoipa::path(
    post, path = "/teams/{team}/requests", tag = "requests", params(("team" = TeamName, Path), OnceHeader),
    request_body = NewRequest, responses((status = 201, body = RequestView), Refusals)
)]
pub(crate) async fn submit_request(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(team): At<TeamName>,
    body: Body<NewRequest>,
) -> Answer<Created<Tagged<RequestView>>> {
    let view = web.app.submit_request(&ctx, &team, body.value, body.once).await?;
    Ok(Created(format!("/teams/{team}/requests/{}", view.request.id), Tagged(view)))
}

/// Requests of a team: those that wait oldest first, all others newest first.
#[utoipa::path(
    get, path = "/teams/{team}/requests", tag = "requests", params(("team" = TeamName, Path), OfTeam),
    responses((status = 200, body = Page<RequestView>), Refusals)
)]
pub(crate) async fn list_requests(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(team): At<TeamName>,
    Filter(filter): Filter<OfTeam>,
) -> Answer<Json<Page<RequestView>>> {
    let part = paging(filter.cursor, filter.limit);
    Ok(Json(web.app.list_requests(&ctx, &team, filter.state, &part).await?))
}

/// One request.
#[utoipa::path(
    get, path = "/teams/{team}/requests/{id}", tag = "requests",
    params(("team" = TeamName, Path), ("id" = RequestId, Path)),
    responses((status = 200, body = RequestView), Refusals)
)]
pub(crate) async fn find_request(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At((team, id)): At<(TeamName, RequestId)>,
) -> Answer<Tagged<RequestView>> {
    Ok(Tagged(web.app.find_request(&ctx, &team, id).await?))
}

/// Requests of all teams, for platform roles: those that wait oldest first, all others newest first.
#[utoipa::path(
    get, path = "/requests", tag = "requests", params(OfAll),
    responses((status = 200, body = Page<RequestView>), Refusals)
)]
pub(crate) async fn inbox(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    Filter(filter): Filter<OfAll>,
) -> Answer<Json<Page<RequestView>>> {
    let part = paging(filter.cursor, filter.limit);
    let (team, offering) = (filter.team.as_ref(), filter.offering.as_ref());
    Ok(Json(web.app.inbox(&ctx, filter.state, team, offering, &part).await?))
}

/// Remarks on a request.
#[utoipa::path(
    post, path = "/teams/{team}/requests/{id}/comments", tag = "requests",
    params(("team" = TeamName, Path), ("id" = RequestId, Path), OnceHeader), request_body = Text,
    responses((status = 201, body = Comment), Refusals)
)]
pub(crate) async fn comment(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At((team, id)): At<(TeamName, RequestId)>,
    body: Body<Text>,
) -> Answer<Created<Json<Comment>>> {
    let comment = web.app.comment(&ctx, &team, id, body.value, body.once).await?;
    Ok(Created(format!("/teams/{team}/requests/{id}"), Json(comment)))
}

/// Approves a request; saying it twice is the same as once.
#[utoipa::path(
    post, path = "/teams/{team}/requests/{id}/approve", tag = "requests",
    params(("team" = TeamName, Path), ("id" = RequestId, Path), IfMatchHeader),
    responses((status = 200, body = RequestView), Refusals)
)]
pub(crate) async fn approve_request(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At((team, id)): At<(TeamName, RequestId)>,
    IfMatch(expected): IfMatch,
) -> Answer<Tagged<RequestView>> {
    Ok(Tagged(web.app.approve_request(&ctx, &team, id, expected).await?))
}

/// Denies a request, with the reason that the team sees.
#[utoipa::path(
    post, path = "/teams/{team}/requests/{id}/deny", tag = "requests",
    params(("team" = TeamName, Path), ("id" = RequestId, Path), IfMatchHeader), request_body = Text,
    responses((status = 200, body = RequestView), Refusals)
)]
pub(crate) async fn deny_request(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At((team, id)): At<(TeamName, RequestId)>,
    IfMatch(expected): IfMatch,
    body: Body<Text>,
) -> Answer<Tagged<RequestView>> {
    Ok(Tagged(web.app.deny_request(&ctx, &team, id, body.value, expected).await?))
}

/// Takes a request back.
#[utoipa::path(
    post, path = "/teams/{team}/requests/{id}/withdraw", tag = "requests",
    params(("team" = TeamName, Path), ("id" = RequestId, Path), IfMatchHeader),
    responses((status = 200, body = RequestView), Refusals)
)]
pub(crate) async fn withdraw_request(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At((team, id)): At<(TeamName, RequestId)>,
    IfMatch(expected): IfMatch,
) -> Answer<Tagged<RequestView>> {
    Ok(Tagged(web.app.withdraw_request(&ctx, &team, id, expected).await?))
}
