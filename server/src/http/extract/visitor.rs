//! Who asks.

use std::sync::Arc;

use app::Ctx;
use axum::extract::FromRequestParts;
use domain::people::Actor;
use frontend::Theme;
use http::{header, request::Parts};
use tower_sessions::Session;

use crate::http::{
    Web,
    csp::Nonce,
    observe::RequestId,
    problem::{Answer, Refusal},
    session,
};

/// Somebody with an account, with the roles that they have now. Everybody else gets 401.
pub(crate) struct SignedIn(pub(crate) Ctx);

impl FromRequestParts<Web> for SignedIn {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, web: &Web) -> Answer<Self> {
        let session = session_of(parts)?;
        let actor = actor(web, &session).await?.ok_or_else(Refusal::unauthorized)?;
        Ok(Self(Ctx { actor }))
    }
}

/// Anybody, with all that a page needs to know about them.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) actor: Option<Actor>,
    pub(crate) session: Session,
    pub(crate) theme: Theme,
    pub(crate) nonce: String,
    pub(crate) request_id: Arc<str>,
}

impl FromRequestParts<Web> for Visitor {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, web: &Web) -> Answer<Self> {
        let session = session_of(parts)?;
        let actor = actor(web, &session).await?;
        let nonce = parts.extensions.get::<Nonce>().map(|n| n.0.clone()).unwrap_or_default();
        let request_id = parts.extensions.get::<RequestId>().map_or_else(|| Arc::from(""), |id| id.0.clone());
        Ok(Self { actor, session, theme: theme(parts), nonce, request_id })
    }
}

fn session_of(parts: &Parts) -> Answer<Session> {
    let session = parts.extensions.get::<Session>().cloned();
    session.ok_or_else(|| Refusal::internal("the session layer is missing"))
}

async fn actor(web: &Web, session: &Session) -> Answer<Option<Actor>> {
    match session::user(session, web.app.now()).await? {
        Some(user) => Ok(web.app.actor(user).await?),
        None => Ok(None),
    }
}

fn theme(parts: &Parts) -> Theme {
    let cookies = parts.headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok());
    let value = cookies.flat_map(|line| line.split(';')).find_map(|pair| pair.trim().strip_prefix("theme="));
    value.map(Theme::parse).unwrap_or_default()
}
