//! Headers that keep a page to what we serve.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::Web;

/// Nonce of the scripts of one answer.
#[derive(Clone, Debug)]
pub(crate) struct Nonce(pub(crate) String);

/// `strict-dynamic` lets our module load its wasm glue; styles come from the one style sheet, never from attributes.
fn policy(nonce: &str) -> String {
    format!(
        "default-src 'self'; script-src 'nonce-{nonce}' 'strict-dynamic' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
    )
}

/// Makes the nonce, and sets the headers of every answer.
pub(crate) async fn protect(State(web): State<Web>, mut request: Request, next: Next) -> Response {
    let nonce = URL_SAFE_NO_PAD.encode(web.random::<16>());
    request.extensions_mut().insert(Nonce(nonce.clone()));
    let mut response = next.run(request).await;
    set(response.headers_mut(), &nonce, web.public_url.is_https());
    response
}

fn set(headers: &mut HeaderMap, nonce: &str, https: bool) {
    if let Ok(value) = HeaderValue::from_str(&policy(nonce)) {
        headers.insert(header::CONTENT_SECURITY_POLICY, value);
    }
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if https {
        let year = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_inline_is_let_in() {
        let policy = policy("abc");
        assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"), "{policy}");
        assert!(policy.contains("script-src 'nonce-abc' 'strict-dynamic' 'wasm-unsafe-eval';"), "{policy}");
    }
}
