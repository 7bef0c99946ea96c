//! Keys in the path, and headers that guard a write.

use axum::extract::{FromRequestParts, Path};
use http::{HeaderMap, header, request::Parts};
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::http::{
    Web,
    problem::{Answer, Refusal},
};

/// Keys of the path. A text that cannot be a key names nothing: 404.
pub(crate) struct At<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Web> for At<T> {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, web: &Web) -> Answer<Self> {
        match Path::<T>::from_request_parts(parts, web).await {
            Ok(Path(key)) => Ok(Self(key)),
            Err(_) => Err(Refusal::not_found(parts.uri.path())),
        }
    }
}

/// Version that the caller has seen, from `If-Match`; none: whatever is there.
pub(crate) struct IfMatch(pub(crate) Option<i64>);

impl FromRequestParts<Web> for IfMatch {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, _: &Web) -> Answer<Self> {
        Ok(Self(version(&parts.headers)?))
    }
}

fn version(headers: &HeaderMap) -> Answer<Option<i64>> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or("?").trim();
    if text == "*" {
        return Ok(None);
    }
    let tag = text.strip_prefix("W/").unwrap_or(text);
    let digits = tag.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    let version = digits.and_then(|d| d.parse().ok());
    version.map(Some).ok_or_else(|| {
        Refusal::invalid(
            "If-Match",
            format!("`{text}` is no version; send back the ETag as it came, as in \"3\""),
        )
    })
}

/// For the API description.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "only described; IfMatch reads it")]
pub(crate) struct IfMatchHeader {
    /// ETag of the object that the change is meant for; another version now: 412.
    #[param(rename = "If-Match", required = false)]
    if_match: Option<String>,
}

/// For the API description.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "only described; Body reads it")]
pub(crate) struct OnceHeader {
    /// Any text of up to 255 characters: the same key with the same body gets the same answer, the work is done
    /// once; with another body 422.
    #[param(rename = "Idempotency-Key", required = false)]
    idempotency_key: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<i64>, u16> {
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_MATCH, text.parse().unwrap());
        version(&headers).map_err(|r| r.problem.status)
    }

    #[test]
    fn versions_are_compared_weakly() {
        assert_eq!(parse("\"3\""), Ok(Some(3)));
        assert_eq!(parse("W/\"3\""), Ok(Some(3)));
        assert_eq!(parse("*"), Ok(None));
        for bad in ["3", "\"x\"", "\"1\", \"2\"", ""] {
            assert_eq!(parse(bad), Err(422), "{bad}");
        }
    }
}
