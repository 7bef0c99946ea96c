//! Teams, their members, namespaces and quota.

use axum::{Json, extract::State};
use domain::{
    api::{ChangeTeam, EmittedObject, NamespaceView, NewTeam, Page, SetMember, TeamQuota},
    name::TeamName,
    people::{Member, Team},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Created, Refusals, Tagged};
use crate::http::{
    Web,
    extract::{After, At, Body, Filter, IfMatch, IfMatchHeader, Limit, OnceHeader, SignedIn, paging},
    problem::Answer,
};

/// Filter of lists that can be searched by name.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Named {
    /// Part of the name or of the display name.
    pub(super) name: Option<String>,
    /// `next` of the page before.
    #[param(value_type = Option<String>)]
    pub(super) cursor: Option<After>,
    /// Rows, 1 to 200; 50 where nothing is said.
    #[param(value_type = Option<u32>)]
    pub(super) limit: Option<Limit>,
}

/// Teams that you may see, by name.
#[utoipa::path(get, path = "/teams", tag = "teams", params(Named), responses((status = 200, body = Page<Team>), Refusals))]
pub(crate) async fn list_teams(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    Filter(filter): Filter<Named>,
) -> Answer<Json<Page<Team>>> {
    let part = paging(filter.cursor, filter.limit);
    Ok(Json(web.app.list_teams(&ctx, filter.name.as_deref(), &part).await?))
}

/// Makes a team.
#[utoipa::path(
    post, path = "/teams", tag = "teams", params(OnceHeader), request_body = NewTeam,
    responses((status = 201, body = Team), Refusals)
)]
pub(crate) async fn create_team(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    body: Body<NewTeam>,
) -> Answer<Created<Tagged<Team>>> {
    let team = web.app.create_team(&ctx, body.value, body.once).await?;
    Ok(Created(format!("/teams/{}", team.name), Tagged(team)))
}

/// One team.
#[utoipa::path(
    get, path = "/teams/{team}", tag = "teams", params(("team" = TeamName, Path)),
    responses((status = 200, body = Team), Refusals)
)]
pub(crate) async fn find_team(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(team): At<TeamName>,
) -> Answer<Tagged<Team>> {
    Ok(Tagged(web.app.find_team(&ctx, &team).await?))
}

/// Changes a team's display name, or retires it.
#[utoipa::path(
    patch, path = "/teams/{team}", tag = "teams", params(("team" = TeamName, Path), IfMatchHeader),
    request_body = ChangeTeam, responses((status = 200, body = Team), Refusals)
)]
pub(crate) async fn change_team(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(team): At<TeamName>,
    IfMatch(expected): IfMatch,
    body: Body<ChangeTeam>,
) -> Answer<Tagged<Team>> {
    Ok(Tagged(web.app.change_team(&ctx, &team, body.value, expected).await?))
}

/// People of a team.
#[utoipa::path(
    get, path = "/teams/{team}/members", tag = "teams", params(("team" = TeamName, Path)),
    responses((status = 200, body = Vec<Member>), Refusals)
)]
pub(crate) async fn list_members(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(team): At<TeamName>,
) -> Answer<Json<Vec<Member>>> {
    Ok(Json(web.app.members(&ctx, &team).await?))
}

/// Puts a person into a team, or changes their role in it.
#[utoipa::path(
    put, path = "/teams/{team}/members/{login}", tag = "teams",
    params(("team" = TeamName, Path), ("login" = String, Path)),
    request_body = SetMember, responses((status = 200, body = Vec<Member>), Refusals)
)]
pub(crate) async fn set_member(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At((team, login)): At<(TeamName, String)>,
    body: Body<SetMember>,
) -> Answer<Json<Vec<Member>>> {
    Ok(Json(web.app.set_member(&ctx, &team, &login, body.value.role).await?))
}

/// Takes a person out of a team.
#[utoipa::path(
    delete, path = "/teams/{team}/members/{login}", tag = "teams",
    params(("team" = TeamName, Path), ("login" = String, Path)),
    responses((status = 200, body = Vec<Member>), Refusals)
)]
pub(crate) async fn remove_member(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At((team, login)): At<(TeamName, String)>,
) -> Answer<Json<Vec<Member>>> {
    Ok(Json(web.app.remove_member(&ctx, &team, &login).await?))
}

/// Namespaces of a team, with how true they are.
#[utoipa::path(
    get, path = "/teams/{team}/namespaces", tag = "teams", params(("team" = TeamName, Path)),
    responses((status = 200, body = Vec<NamespaceView>), Refusals)
)]
pub(crate) async fn list_namespaces(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(team): At<TeamName>,
) -> Answer<Json<Vec<NamespaceView>>> {
    Ok(Json(web.app.namespaces(&ctx, &team).await?))
}

/// What a team has of each offering, and what runs of it.
#[utoipa::path(
    get, path = "/teams/{team}/quota", tag = "teams", params(("team" = TeamName, Path)),
    responses((status = 200, body = TeamQuota), Refusals)
)]
pub(crate) async fn team_quota(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(team): At<TeamName>,
) -> Answer<Json<TeamQuota>> {
    Ok(Json(web.app.team_quota(&ctx, &team).await?))
}

/// All objects that gpuaas writes for a team: desired, live, and the difference.
#[utoipa::path(
    get, path = "/teams/{team}/manifests", tag = "teams", params(("team" = TeamName, Path)),
    responses((status = 200, body = Vec<EmittedObject>), Refusals)
)]
pub(crate) async fn manifests(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(team): At<TeamName>,
) -> Answer<Json<Vec<EmittedObject>>> {
    Ok(Json(web.app.manifests(&ctx, &team).await?))
}
