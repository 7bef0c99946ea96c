//! The query string: filters and paging. An unknown name is refused: a filter that is ignored is a wrong answer.

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use store::{Cursor, Paging};

use super::body::explain;
use crate::http::{
    Web,
    problem::{Answer, Refusal},
};

/// Rows of a page where nothing else is asked.
const LIMIT_DEFAULT: u32 = 50;
/// Rows of a page at most.
const LIMIT_MAX: u32 = 200;

/// The parsed query string.
pub(crate) struct Filter<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Web> for Filter<T> {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, _: &Web) -> Answer<Self> {
        parse(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

fn parse<T: DeserializeOwned>(query: &str) -> Answer<T> {
    let mut values = Map::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        if values.insert(name.clone().into_owned(), Value::String(value.into_owned())).is_some() {
            return Err(Refusal::invalid(&name, "stands more than once in the query"));
        }
    }
    serde_path_to_error::deserialize(Value::Object(values)).map_err(|error| {
        let found = explain(&error, "query");
        Refusal::invalid(&found.field, found.message)
    })
}

/// Rows of a page: 1 to 200.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Limit(u32);

impl TryFrom<String> for Limit {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.parse() {
            Ok(limit @ 1..=LIMIT_MAX) => Ok(Self(limit)),
            _ => Err(format!("`{text}` is no page size; write a whole number from 1 to {LIMIT_MAX}")),
        }
    }
}

/// Where the last page ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct After(Cursor);

impl TryFrom<String> for After {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| "is no cursor of ours; send back `next` as it came".to_owned())
    }
}

/// The part of a list that is asked for.
pub(crate) fn paging(cursor: Option<After>, limit: Option<Limit>) -> Paging {
    Paging { after: cursor.map(|c| c.0), limit: limit.map_or(LIMIT_DEFAULT, |l| l.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Query {
        limit: Option<Limit>,
    }

    #[test]
    fn a_bad_query_is_refused_with_the_name() {
        assert_eq!(parse::<Query>("limit=20").unwrap().limit.unwrap().0, 20);
        for (bad, field) in [
            ("limit=0", "limit"),
            ("limit=201", "limit"),
            ("limit=x", "limit"),
            ("size=3", "size"),
            ("limit=1&limit=2", "limit"),
        ] {
            let problem = parse::<Query>(bad).unwrap_err().problem;
            assert_eq!(problem.fields[0].field, field, "{bad}: {problem:?}");
        }
    }
}
