//! Light or dark.

use axum::{extract::State, response::Response};
use frontend::Theme;
use http::{HeaderValue, header};

use super::Posted;
use crate::http::{Web, pages};

/// Keeps the choice in a cookie for a year; it is nobody's secret and needs no account. The switch of the page writes
/// the same cookie with its script, and a browser would not let it overwrite one that is `HttpOnly`.
pub(crate) async fn set(State(web): State<Web>, posted: Posted) -> Response {
    let theme = Theme::parse(posted.value("theme"));
    let mut response = pages::see_other(&posted.back());
    let secure = if web.public_url.is_https() { "; Secure" } else { "" };
    let cookie = format!("theme={}; Path=/; Max-Age=31536000; SameSite=Lax{secure}", theme.as_str());
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
