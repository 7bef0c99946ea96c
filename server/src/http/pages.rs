//! Pages: fill the context, let the frontend render, answer.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::{OriginalUri, State},
    response::{IntoResponse, Response},
};
use frontend::{Answer as Rendered, Flash, FlashKind, FormState, PageContext};
use http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use percent_encoding::percent_decode_str;

use super::{
    Web,
    backend::AppBackend,
    csrf,
    extract::Visitor,
    problem::{Answer, Refusal},
    session,
};

/// GET of every page.
pub(crate) async fn page(
    State(web): State<Web>,
    visitor: Visitor,
    OriginalUri(uri): OriginalUri,
) -> Response {
    get(&web, &visitor, &uri).await
}

/// The page at an address.
pub(crate) async fn get(web: &Web, visitor: &Visitor, uri: &Uri) -> Response {
    let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
    let shown = Shown { path: uri.path().to_owned(), query, form: FormState::default() };
    render(web, visitor, shown).await
}

/// What to show.
pub(crate) struct Shown {
    /// Path of the page, as it stands in the address.
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    /// What a form said that was refused or checked.
    pub(crate) form: FormState,
}

/// Renders a page.
pub(crate) async fn render(web: &Web, visitor: &Visitor, shown: Shown) -> Response {
    match try_render(web, visitor, shown).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    }
}

async fn try_render(web: &Web, visitor: &Visitor, shown: Shown) -> Answer<Response> {
    let decoded = percent_decode_str(&shown.path).decode_utf8();
    let path = decoded.map_err(|_| Refusal::not_found(&shown.path))?.into_owned();
    // Only a page with a form for strangers makes a session for one.
    let needs_token = visitor.actor.is_some() || matches!(path.as_str(), "/sign-in" | "/setup");
    let csrf = if needs_token {
        csrf::masked(web, &session::token_or_new(web, &visitor.session).await?)
    } else {
        String::new()
    };
    let flash = session::take_flash(&visitor.session)
        .await?
        .map(|(failed, text)| Flash { kind: if failed { FlashKind::Failed } else { FlashKind::Done }, text });
    let context = PageContext {
        backend: Arc::new(AppBackend::new(web.app.clone(), visitor.request_id.clone())),
        actor: visitor.actor.clone(),
        path,
        query: shown.query,
        nonce: visitor.nonce.clone(),
        csrf,
        key: hex::encode(web.random::<16>()),
        flash,
        theme: visitor.theme,
        form: shown.form,
        now: web.app.now(),
        assets: web.site.links(),
        request_id: visitor.request_id.to_string(),
    };
    Ok(match frontend::render(context).await {
        Rendered::Html { status, body } => html(status, body),
        Rendered::SignIn { location } => see_other(&location),
    })
}

fn html(status: u16, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        // What a person may see is theirs alone; going back after signing out shows nothing.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, body).into_response()
}

/// 303 to a path of ours.
pub(crate) fn see_other(location: &str) -> Response {
    let location = HeaderValue::from_str(location).unwrap_or_else(|_| HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(HeaderName::from_static("location"), location)]).into_response()
}

/// The text where it is a path of ours, else `/` (case 47: never a way to another site).
pub(crate) fn local_path(text: &str) -> &str {
    let rest = text.strip_prefix('/');
    let good = rest.is_some_and(|rest| !rest.starts_with(['/', '\\']))
        && !text.contains(|c: char| c.is_control() || c == '\\');
    if good { text } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_47_only_our_own_paths_are_followed() {
        assert_eq!(local_path("/teams/iris"), "/teams/iris");
        assert_eq!(local_path("/teams/iris?state=submitted"), "/teams/iris?state=submitted");
        for bad in [
            "https://evil.example/",
            "//evil.example/",
            "/\\evil.example",
            "javascript:alert(1)",
            "",
            "/a\nb",
            "teams",
        ] {
            assert_eq!(local_path(bad), "/", "{bad}");
        }
    }
}
