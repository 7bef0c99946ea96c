//! Grants.

use axum::{Json, extract::State};
use domain::{
    api::{GiveBack, GrantView},
    id::GrantId,
    name::TeamName,
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{Refusals, Tagged};
use crate::http::{
    Web,
    extract::{At, Body, Filter, IfMatch, IfMatchHeader, OnceHeader, SignedIn},
    problem::Answer,
};

/// Which grants.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Which {
    /// Those that are not ended.
    #[default]
    Current,
    /// Ended ones too.
    All,
}

/// Filter of a team's grants.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OfTeam {
    /// `current` where nothing is said.
    #[serde(default)]
    #[param(required = false)]
    which: Which,
}

/// Grants of a team.
#[utoipa::path(
    get, path = "/teams/{team}/grants", tag = "grants", params(("team" = TeamName, Path), OfTeam),
    responses((status = 200, body = Vec<GrantView>), Refusals)
)]
pub(crate) async fn list_grants(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(team): At<TeamName>,
    Filter(filter): Filter<OfTeam>,
) -> Answer<Json<Vec<GrantView>>> {
    Ok(Json(web.app.list_grants(&ctx, &team, filter.which == Which::All).await?))
}

/// One grant.
#[utoipa::path(
    get, path = "/teams/{team}/grants/{id}", tag = "grants",
    params(("team" = TeamName, Path), ("id" = GrantId, Path)),
    responses((status = 200, body = GrantView), Refusals)
)]
pub(crate) async fn find_grant(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At((team, id)): At<(TeamName, GrantId)>,
) -> Answer<Tagged<GrantView>> {
    Ok(Tagged(web.app.find_grant(&ctx, &team, id).await?))
}

/// Gives back a part of a grant, or all of it.
#[utoipa::path(
    post, path = "/teams/{team}/grants/{id}/give-back", tag = "grants",
    params(("team" = TeamName, Path), ("id" = GrantId, Path), IfMatchHeader, OnceHeader), request_body = GiveBack,
    responses((status = 200, body = GrantView), Refusals)
)]
pub(crate) async fn give_back(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At((team, id)): At<(TeamName, GrantId)>,
    IfMatch(expected): IfMatch,
    body: Body<GiveBack>,
) -> Answer<Tagged<GrantView>> {
    Ok(Tagged(web.app.give_back(&ctx, &team, id, body.value, expected, body.once).await?))
}
