//! Who is signed in, and the session of local accounts.

use axum::{Json, extract::State};
use domain::api::Me;
use http::StatusCode;
use serde::Deserialize;
use tower_sessions::Session;
use utoipa::ToSchema;

use super::Refusals;
use crate::http::{
    Web, csrf,
    extract::{Body, Incoming, SignedIn},
    problem::Answer,
    session,
};

/// Login and password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignIn {
    /// Name to sign in with.
    login: String,
    /// Password.
    password: String,
}

impl Incoming for SignIn {}

/// Who is signed in, with the token for changes.
#[utoipa::path(get, path = "/me", tag = "session", responses((status = 200, body = Me), Refusals))]
pub(crate) async fn me(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    session: Session,
) -> Answer<Json<Me>> {
    let csrf = csrf::masked(&web, &session::token_or_new(&web, &session).await?);
    Ok(Json(Me { actor: ctx.actor, csrf }))
}

/// Signs in with a local account: sets the session cookie, under a new id.
#[utoipa::path(
    post, path = "/session", tag = "session", request_body = SignIn,
    responses((status = 200, body = Me), Refusals)
)]
pub(crate) async fn sign_in(
    State(web): State<Web>,
    session: Session,
    body: Body<SignIn>,
) -> Answer<Json<Me>> {
    let actor = web.app.sign_in(&body.value.login, &body.value.password).await?;
    session::sign_in(&web, &session, actor.user).await?;
    let csrf = csrf::masked(&web, &session::token_or_new(&web, &session).await?);
    Ok(Json(Me { actor, csrf }))
}

/// Signs out: the record of the session is removed.
#[utoipa::path(delete, path = "/session", tag = "session", responses((status = 204), Refusals))]
pub(crate) async fn sign_out(_: SignedIn, session: Session) -> Answer<StatusCode> {
    session::sign_out(&session).await?;
    Ok(StatusCode::NO_CONTENT)
}
