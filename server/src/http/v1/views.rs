//! The dashboard and the audit list.

use axum::{Json, extract::State};
use domain::{
    api::{AuditEntry, Dashboard, Page},
    id::UserId,
    name::TeamName,
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::Refusals;
use crate::http::{
    Web,
    extract::{After, Filter, Limit, SignedIn, paging},
    problem::Answer,
};

/// Filter of the audit list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Audited {
    /// Only about this team.
    team: Option<TeamName>,
    /// Only this action, for example `request.approve`.
    action: Option<String>,
    /// Only by this person.
    actor: Option<UserId>,
    /// `next` of the page before.
    #[param(value_type = Option<String>)]
    cursor: Option<After>,
    /// Rows, 1 to 200; 50 where nothing is said.
    #[param(value_type = Option<u32>)]
    limit: Option<Limit>,
}

/// Figures of all offerings, and what needs a look.
#[utoipa::path(get, path = "/dashboard", tag = "platform", responses((status = 200, body = Dashboard), Refusals))]
pub(crate) async fn dashboard(SignedIn(ctx): SignedIn, State(web): State<Web>) -> Answer<Json<Dashboard>> {
    Ok(Json(web.app.dashboard(&ctx).await?))
}

/// What was done, newest first.
#[utoipa::path(
    get, path = "/audit", tag = "platform", params(Audited),
    responses((status = 200, body = Page<AuditEntry>), Refusals)
)]
pub(crate) async fn audit(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    Filter(filter): Filter<Audited>,
) -> Answer<Json<Page<AuditEntry>>> {
    let Audited { team, action, actor, cursor, limit } = filter;
    let filter = store::audit::Filter { team, action, actor };
    Ok(Json(web.app.audit(&ctx, &filter, &paging(cursor, limit)).await?))
}
