//! JSON bodies: read once, limited, parsed into a domain type, with the place of what is wrong.

use std::collections::BTreeMap;

use app::Once;
use axum::{
    body::{Bytes, to_bytes},
    extract::{FromRequest, Request},
};
use domain::{
    api::{
        ChangeCluster, ChangeOffering, ChangePool, ChangeTeam, FieldError, GiveBack, ImportNodes, NewCluster,
        NewOffering, NewPool, NewRequest, NewTeam, NewUser, SetMember, Text,
    },
    request::Ask,
};
use http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::ask;
use crate::http::{
    Web,
    problem::{Answer, Refusal},
};

/// Longest body, in bytes.
const MAX: usize = 1024 * 1024;
/// Longest Idempotency-Key, in characters.
const KEY_MAX: usize = 255;

/// A body that comes in.
pub(crate) trait Incoming: DeserializeOwned {
    /// Names of all fields, for bodies whose form keeps serde from refusing others (`flatten`); else empty.
    const FIELDS: &'static [&'static str] = &[];
    /// Finds what is wrong in a body that did not parse, where serde alone cannot name the field.
    fn locate(_: &Value) -> Option<FieldError> {
        None
    }
}

macro_rules! plain_bodies {
    ($($name:ty),* $(,)?) => {$(impl Incoming for $name {})*};
}
plain_bodies!(
    ChangeCluster,
    ChangeOffering,
    ChangePool,
    ChangeTeam,
    ImportNodes,
    NewCluster,
    NewPool,
    NewTeam,
    NewUser,
    SetMember,
    Text,
);

impl Incoming for NewOffering {
    const FIELDS: &'static [&'static str] = &[
        "name",
        "pool",
        "display",
        "description",
        "kind",
        "profile",
        "replicas",
        "resource",
        "effective_milli",
        "per_unit",
        "partition",
        "per_pod_max",
        "declared",
        "overcommit_percent",
    ];
}

impl Incoming for NewRequest {
    fn locate(body: &Value) -> Option<FieldError> {
        ask::locate(body.get("ask")?, "ask.")
    }
}
impl Incoming for Ask {
    fn locate(body: &Value) -> Option<FieldError> {
        ask::locate(body, "")
    }
}
impl Incoming for GiveBack {
    fn locate(body: &Value) -> Option<FieldError> {
        ask::locate_shape(body.get("keep")?, "keep.")
    }
}

/// A parsed body with its `Idempotency-Key`.
pub(crate) struct Body<T> {
    pub(crate) value: T,
    pub(crate) once: Once,
}

impl<T: Incoming> FromRequest<Web> for Body<T> {
    type Rejection = Refusal;
    async fn from_request(request: Request, _: &Web) -> Answer<Self> {
        let (parts, body) = request.into_parts();
        if !is_json(&parts.headers) {
            let detail = "send the body as application/json";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(Refusal::new(status, "media-type", "Not JSON", detail).field("Content-Type", detail));
        }
        let key = key(&parts.headers)?;
        if let Some(length) = content_length(&parts.headers).filter(|length| *length > MAX) {
            return Err(too_large(&format!("{length}")));
        }
        let bytes = to_bytes(body, MAX).await.map_err(|error| unread(&error))?;
        let value = parse(&bytes)?;
        let fingerprint = fingerprint(parts.method.as_str(), parts.uri.path(), &bytes);
        Ok(Self { value, once: Once { key, fingerprint } })
    }
}

fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let kind = value.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

fn key(headers: &HeaderMap) -> Answer<Option<String>> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str() {
        Ok(text) if (1..=KEY_MAX).contains(&text.chars().count()) => Ok(Some(text.to_owned())),
        _ => Err(Refusal::invalid(
            "Idempotency-Key",
            format!("must be 1 to {KEY_MAX} visible ASCII characters"),
        )),
    }
}

/// What an Idempotency-Key stands for: SHA-256 of method, path and body.
pub(crate) fn fingerprint(method: &str, path: &str, body: &[u8]) -> String {
    let mut hash = Sha256::new();
    for part in [method.as_bytes(), b" ", path.as_bytes(), b"\n", body] {
        hash.update(part);
    }
    hex::encode(hash.finalize())
}

fn too_large(size: &str) -> Refusal {
    let detail = format!("the body has {size} bytes, {MAX} are allowed; send it in parts");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "Body too large", &detail).field("body", detail)
}

fn unread(error: &axum::Error) -> Refusal {
    let limited = std::iter::successors(Some::<&(dyn std::error::Error + 'static)>(error), |e| e.source())
        .any(<dyn std::error::Error>::is::<http_body_util::LengthLimitError>);
    if limited {
        return too_large("more");
    }
    let detail = "the body ended before it was complete; send it again";
    Refusal::new(StatusCode::BAD_REQUEST, "broken-body", "Body not complete", detail).field("body", detail)
}

fn parse<T: Incoming>(bytes: &Bytes) -> Answer<T> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize::<_, T>(&mut json);
    let error = match parsed {
        Ok(value) => match json.end() {
            Ok(()) => return only_known::<T>(bytes).map(|()| value),
            Err(error) => return Err(malformed(&error)),
        },
        Err(error) => error,
    };
    if matches!(
        error.inner().classify(),
        serde_json::error::Category::Syntax | serde_json::error::Category::Eof
    ) {
        return Err(malformed(error.inner()));
    }
    let located = serde_json::from_slice::<Value>(bytes).ok().and_then(|body| T::locate(&body));
    let found = located.unwrap_or_else(|| explain(&error, "body"));
    Err(Refusal::invalid(&found.field, found.message))
}

fn only_known<T: Incoming>(bytes: &Bytes) -> Answer<()> {
    if T::FIELDS.is_empty() {
        return Ok(());
    }
    let body: BTreeMap<String, serde::de::IgnoredAny> =
        serde_json::from_slice(bytes).map_err(|error| malformed(&error))?;
    match body.keys().find(|name| !T::FIELDS.contains(&name.as_str())) {
        Some(name) => {
            let message = format!("unknown field `{name}`, expected one of {}", T::FIELDS.join(", "));
            Err(Refusal::invalid(name, message))
        }
        None => Ok(()),
    }
}

fn malformed(error: &serde_json::Error) -> Refusal {
    let detail = format!("the body is not JSON: {error}");
    Refusal::new(StatusCode::BAD_REQUEST, "malformed", "Not JSON", &detail).field("body", detail)
}

/// Field and message of what serde found, in words that do not need Rust.
pub(crate) fn explain(error: &serde_path_to_error::Error<serde_json::Error>, whole: &str) -> FieldError {
    let text = error.inner().to_string();
    let path = error.path().to_string();
    let parent = if path == "." { String::new() } else { path.clone() };
    // serde names the field that is missing or too much only in its text.
    let named = ["unknown field `", "missing field `"]
        .into_iter()
        .find_map(|start| text.strip_prefix(start)?.split_once('`').map(|(name, _)| name.to_owned()));
    let field = match (parent.as_str(), named) {
        ("", Some(name)) => name,
        ("", None) => whole.to_owned(),
        (parent, Some(name)) if parent.rsplit('.').next() != Some(name.as_str()) => {
            format!("{parent}.{name}")
        }
        (parent, _) => parent.to_owned(),
    };
    FieldError::new(field, in_words(&text))
}

fn in_words(text: &str) -> String {
    text.replace("expected u32", "a whole number from 0 to 4294967295 is needed")
        .replace("expected u16", "a whole number from 0 to 65535 is needed")
        .replace("invalid type: ", "wrong type: ")
        .replace("invalid value: ", "wrong value: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal<T: Incoming>(body: &str) -> (u16, String, String) {
        match parse::<T>(&Bytes::from(body.to_owned())) {
            Ok(_) => panic!("{body} was taken"),
            Err(refusal) => {
                let field = refusal.problem.fields[0].clone();
                (refusal.problem.status, field.field, field.message)
            }
        }
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        let (status, field, message) = refusal::<NewTeam>("{\"name\": \"vision\",");
        assert_eq!((status, field.as_str()), (400, "body"));
        assert!(message.contains("line 1 column 18"), "{message}");

        let (status, field, _) = refusal::<NewTeam>(r#"{"name": "vision", "display": "V", "nmae": 1}"#);
        assert_eq!((status, field.as_str()), (422, "nmae"));

        let (status, field, message) = refusal::<NewTeam>(r#"{"name": "Vision", "display": "V"}"#);
        assert_eq!((status, field.as_str()), (422, "name"));
        assert!(message.contains("lower-case"), "{message}");

        let (_, field, _) = refusal::<NewTeam>(r#"{"name": "vision"}"#);
        assert_eq!(field, "display");
        assert_eq!(refusal::<NewTeam>(r#"{"name": "vision", "display": "V"} x"#).0, 400);
        assert_eq!(refusal::<NewTeam>("[]").1, "body");
    }

    #[test]
    fn case_07_bad_amounts_are_named_inside_an_ask() {
        for (bad, words) in [
            ("-1", "whole number"),
            ("2.5", "whole number"),
            ("\"500m\"", "whole number"),
            ("\"\"", "must not be empty"),
            ("1e30", "1000000"),
            ("\"２\"", "whole number"),
            ("null", "must not be empty"),
        ] {
            let body = format!(
                r#"{{"ask": {{"kind": "new", "offering": "h100", "until": "2027-01-01", "shape": {{"nodes": 1, "per_node": {bad}}}}}, "purpose": "x"}}"#
            );
            let (status, field, message) = refusal::<NewRequest>(&body);
            assert_eq!((status, field.as_str()), (422, "ask.shape.per_node"), "{bad}");
            assert!(message.contains(words), "{bad}: {message}");
        }
    }

    #[test]
    fn other_faults_inside_an_ask_are_named_too() {
        let ask = |rest: &str| format!(r#"{{"ask": {{"kind": "new", {rest}}}}}"#);
        let shape = r#""shape": {"nodes": 1, "per_node": 1}"#;
        assert_eq!(
            refusal::<NewRequest>(&ask(&format!(r#""offering": "H!", {shape}, "until": "2027-01-01""#))).1,
            "ask.offering"
        );
        assert_eq!(
            refusal::<NewRequest>(&ask(&format!(r#""offering": "h", {shape}, "until": "soon""#))).1,
            "ask.until"
        );
        assert_eq!(refusal::<NewRequest>(&ask(&format!(r#""offering": "h", {shape}"#))).1, "ask.until");
        assert_eq!(
            refusal::<NewRequest>(&ask(&format!(
                r#""offering": "h", {shape}, "until": "2027-01-01", "x": 1"#
            )))
            .1,
            "ask.x"
        );
        assert_eq!(refusal::<NewRequest>(r#"{"ask": {"kind": "gift"}}"#).1, "ask.kind");
        assert_eq!(refusal::<NewRequest>(r#"{"ask": {}}"#).1, "ask.kind");
        assert_eq!(refusal::<GiveBack>(r#"{"keep": {"nodes": -1, "per_node": 1}}"#).1, "keep.nodes");
    }
}
