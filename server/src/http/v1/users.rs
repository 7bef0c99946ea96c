//! People with an account.

use axum::{Json, extract::State};
use domain::{
    api::{NewUser, Page},
    id::UserId,
    people::{PlatformRole, User},
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{Created, Refusals};
use crate::http::{
    Web,
    extract::{After, At, Body, Filter, Incoming, Limit, OnceHeader, SignedIn, paging},
    problem::Answer,
};

/// Paging alone.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Paged {
    /// `next` of the page before.
    #[param(value_type = Option<String>)]
    pub(super) cursor: Option<After>,
    /// Rows, 1 to 200; 50 where nothing is said.
    #[param(value_type = Option<u32>)]
    pub(super) limit: Option<Limit>,
}

/// Roles over the platform, all of them.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetRoles {
    /// The whole set; empty: none.
    platform: Vec<PlatformRole>,
}

/// May the person sign in?
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetDisabled {
    /// `true` also ends their sessions.
    disabled: bool,
}

impl Incoming for SetRoles {}
impl Incoming for SetDisabled {}

/// People, by login.
#[utoipa::path(get, path = "/users", tag = "people", params(Paged), responses((status = 200, body = Page<User>), Refusals))]
pub(crate) async fn list_users(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    Filter(part): Filter<Paged>,
) -> Answer<Json<Page<User>>> {
    Ok(Json(web.app.list_users(&ctx, &paging(part.cursor, part.limit)).await?))
}

/// Makes an account.
#[utoipa::path(
    post, path = "/users", tag = "people", params(OnceHeader), request_body = NewUser,
    responses((status = 201, body = User), Refusals)
)]
pub(crate) async fn create_user(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    body: Body<NewUser>,
) -> Answer<Created<Json<User>>> {
    let user = web.app.create_user(&ctx, body.value, body.once).await?;
    Ok(Created("/users".to_owned(), Json(user)))
}

/// Sets a person's roles over the platform.
#[utoipa::path(
    put, path = "/users/{user}/roles", tag = "people", params(("user" = UserId, Path)), request_body = SetRoles,
    responses((status = 200, body = User), Refusals)
)]
pub(crate) async fn set_roles(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(user): At<UserId>,
    body: Body<SetRoles>,
) -> Answer<Json<User>> {
    let roles = body.value.platform.into_iter().collect();
    Ok(Json(web.app.set_platform_roles(&ctx, user, roles).await?))
}

/// Locks a person out, or lets them in again.
#[utoipa::path(
    put, path = "/users/{user}/disabled", tag = "people", params(("user" = UserId, Path)), request_body = SetDisabled,
    responses((status = 200, body = User), Refusals)
)]
pub(crate) async fn set_disabled(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(user): At<UserId>,
    body: Body<SetDisabled>,
) -> Answer<Json<User>> {
    Ok(Json(web.app.set_disabled(&ctx, user, body.value.disabled).await?))
}
