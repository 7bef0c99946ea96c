//! Protection against forged requests: the origin of every change, and a token bound to the session.
//!
//! The token leaves us masked with fresh random bytes, so that compressed pages do not leak it by their length.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, Method, StatusCode, header};
use tower_sessions::Session;

use super::{
    Web,
    problem::{Answer, Refusal},
    session,
};

/// Bytes of a token.
pub(crate) const TOKEN: usize = 32;
/// Header that carries the token on API calls with a session cookie.
pub(crate) const HEADER: &str = "x-csrf-token";

/// A token as it leaves us: the mask, then the masked token.
pub(crate) fn masked(web: &Web, token: &str) -> String {
    let Ok(token) = URL_SAFE_NO_PAD.decode(token) else { return String::new() };
    let mask = web.random::<TOKEN>();
    let mut bytes = mask.to_vec();
    bytes.extend(token.iter().zip(mask).map(|(t, m)| t ^ m));
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Is `given` a masked form of `token`?
pub(crate) fn matches(given: &str, token: &str) -> bool {
    let (Ok(given), Ok(token)) = (URL_SAFE_NO_PAD.decode(given), URL_SAFE_NO_PAD.decode(token)) else {
        return false;
    };
    if given.len() != 2 * TOKEN || token.len() != TOKEN {
        return false;
    }
    let (mask, rest) = given.split_at(TOKEN);
    // All bytes are compared, so that the time tells nothing.
    rest.iter().zip(mask).zip(token).fold(0, |differs, ((r, m), t)| differs | (r ^ m ^ t)) == 0
}

/// A change must come from our own pages or from no browser at all.
pub(crate) fn check_origin(web: &Web, headers: &HeaderMap) -> Answer<()> {
    let text = |name| headers.get(name).map(|v| v.to_str().unwrap_or("?"));
    let foreign_site = text(header::HeaderName::from_static("sec-fetch-site"))
        .is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let foreign_origin = text(header::ORIGIN).is_some_and(|origin| {
        !web.public_url.is_origin(origin) && !same_host(origin, text(header::HOST), web)
    });
    if foreign_site || foreign_origin {
        let detail = "this change was sent by a page of another site; open the portal itself and try again";
        return Err(Refusal::new(StatusCode::FORBIDDEN, "foreign-origin", "From another site", detail));
    }
    Ok(())
}

/// On plain http (loopback) the address in the browser may be another name of this machine.
fn same_host(origin: &str, host: Option<&str>, web: &Web) -> bool {
    !web.public_url.is_https() && host.is_some() && origin.strip_prefix("http://") == host
}

/// The refusal of a missing or wrong token.
pub(crate) fn wrong_token() -> Refusal {
    let detail = "the anti-forgery token is missing or belongs to another session; load the page again, or read \
                  `csrf` of GET /api/v1/me and send it as X-CSRF-Token";
    Refusal::new(StatusCode::FORBIDDEN, "csrf", "Token missing or wrong", detail)
}

fn changes(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// For every route: refuses changes that another site's page sends.
pub(crate) async fn guard_origin(State(web): State<Web>, request: Request, next: Next) -> Response {
    if changes(request.method())
        && let Err(refusal) = check_origin(&web, request.headers())
    {
        return refusal.into_response();
    }
    next.run(request).await
}

/// For the API: a change under a session needs the session's token. Without a session the extractors say 401.
pub(crate) async fn guard_token(request: Request, next: Next) -> Response {
    if changes(request.method())
        && let Some(session) = request.extensions().get::<Session>().cloned()
        && let Err(refusal) = check_token(&session, request.headers()).await
    {
        return refusal.into_response();
    }
    next.run(request).await
}

async fn check_token(session: &Session, headers: &HeaderMap) -> Answer<()> {
    if !session::is_signed_in(session).await? {
        return Ok(());
    }
    let Some(token) = session::token(session).await? else { return Err(wrong_token()) };
    let given = headers.get(HEADER).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if matches(given, &token) { Ok(()) } else { Err(wrong_token()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_mask_of_the_same_token_matches() {
        let token = [7_u8; TOKEN];
        let mask = [9_u8; TOKEN];
        let mut bytes = mask.to_vec();
        bytes.extend(token.iter().zip(mask).map(|(t, m)| t ^ m));
        let given = URL_SAFE_NO_PAD.encode(&bytes);
        assert!(matches(&given, &URL_SAFE_NO_PAD.encode(token)));
        assert!(!matches(&given, &URL_SAFE_NO_PAD.encode([8_u8; TOKEN])));
        assert!(!matches(&URL_SAFE_NO_PAD.encode(token), &URL_SAFE_NO_PAD.encode(token)));
        assert!(!matches("", ""));
    }
}
