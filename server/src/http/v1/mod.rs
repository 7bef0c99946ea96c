//! `/api/v1`: one file a resource. A handler's signature is the permission and the parsed input; its body is one call.

pub(super) mod clusters;
pub(super) mod grants;
pub(super) mod me;
pub(super) mod offerings;
pub(super) mod pools;
pub(super) mod requests;
pub(super) mod teams;
pub(super) mod users;
pub(super) mod views;

use std::collections::BTreeMap;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use domain::{
    api::{CatalogueEntry, GrantView, Problem, RequestView},
    fleet::{Cluster, Offering, Pool},
    people::Team,
};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::{
    IntoResponses,
    openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder},
};

/// What has a version for `If-Match`.
pub(super) trait Versioned {
    fn version(&self) -> i64;
}

macro_rules! versioned {
    ($($name:ty => $($field:ident).+);* $(;)?) => {$(
        impl Versioned for $name {
            fn version(&self) -> i64 {
                self.$($field).+
            }
        }
    )*};
}
versioned! {
    Team => version;
    Cluster => version;
    Pool => version;
    Offering => version;
    CatalogueEntry => offering.version;
    RequestView => request.version;
    GrantView => grant.version;
}

/// One object with its `ETag`.
pub(super) struct Tagged<T>(pub(super) T);

impl<T: Versioned + Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        let tag = HeaderValue::from_str(&format!("\"{}\"", self.0.version()));
        let mut response = Json(self.0).into_response();
        if let Ok(tag) = tag {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }
}

/// A new object: 201 with the place where it can be read.
pub(super) struct Created<T>(pub(super) String, pub(super) T);

impl<T: IntoResponse> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        let mut response = self.1.into_response();
        *response.status_mut() = StatusCode::CREATED;
        if let Ok(place) = HeaderValue::from_str(&format!("/api/v1{}", self.0)) {
            response.headers_mut().insert(header::LOCATION, place);
        }
        response
    }
}

/// The refusals, for the API description.
pub(super) struct Refusals;

impl IntoResponses for Refusals {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        let problem = |words: &str| {
            let schema = Ref::from_schema_name(<Problem as utoipa::ToSchema>::name());
            let content = ContentBuilder::new().schema(Some(schema)).build();
            RefOr::T(
                ResponseBuilder::new()
                    .description(words)
                    .content("application/problem+json", content)
                    .build(),
            )
        };
        BTreeMap::from([
            (
                "4XX".to_owned(),
                problem("Refused; `fields` and `shortfalls` say why, `detail` what would do."),
            ),
            ("5XX".to_owned(), problem("Failed on our side; `instance` finds it in the log.")),
        ])
    }
}
