//! The only place where a refusal becomes a status and a problem document (RFC 9457).

use std::{error::Error, sync::Arc};

use app::AppError;
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use domain::api::{FieldError, Problem};
use http::{HeaderValue, StatusCode, header};

/// Result of a handler.
pub(crate) type Answer<T> = Result<T, Refusal>;

/// A refusal on its way out. [`finish`] writes it down once the id of the request is known.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) problem: Box<Problem>,
    retry_after_s: Option<u64>,
    /// For the log only.
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl Refusal {
    /// A refusal of kind `/problems/<slug>`.
    pub(crate) fn new(status: StatusCode, slug: &str, title: &str, detail: impl Into<String>) -> Self {
        let problem = Box::new(Problem {
            kind: format!("/problems/{slug}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            instance: None,
            fields: vec![],
            shortfalls: vec![],
        });
        Self { problem, retry_after_s: None, cause: None }
    }
    pub(crate) fn field(mut self, field: impl Into<String>, message: impl std::fmt::Display) -> Self {
        self.problem.fields.push(FieldError::new(field, message));
        self
    }
    /// For a body that is itself what the fields call `prefix`: the names as they stand in this body.
    pub(crate) fn inside(mut self, prefix: &str) -> Self {
        for error in &mut self.problem.fields {
            if let Some(rest) = error.field.strip_prefix(prefix) {
                error.field = rest.to_owned();
            }
        }
        self
    }
    pub(crate) fn not_found(what: &str) -> Self {
        let detail = format!("{what} does not exist, or you may not see it");
        Self::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail)
    }
    pub(crate) fn unauthorized() -> Self {
        let detail = "sign in first: POST /api/v1/session, or the page /sign-in";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "Not signed in", detail)
    }
    pub(crate) fn invalid(field: &str, message: impl std::fmt::Display) -> Self {
        Self::from(AppError::Invalid { fields: vec![FieldError::new(field, message)] })
    }
    /// Something of ours failed: logged with the id of the request, and nothing of it is told.
    pub(crate) fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let detail = "something failed on our side; tell an admin the id of this request";
        let mut refusal = Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error", detail);
        refusal.cause = Some(Arc::from(cause.into()));
        refusal
    }
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
    /// Names the request in the document and logs what is for us alone, once.
    pub(crate) fn settle(mut self, request_id: &str) -> Problem {
        if let Some(cause) = &self.cause {
            tracing::error!(request.id = request_id, error = %chain(cause.as_ref()), "request failed");
        }
        self.problem.instance = Some(request_id.to_owned());
        *self.problem
    }
}

impl From<AppError> for Refusal {
    fn from(error: AppError) -> Self {
        let detail = error.to_string();
        match error {
            AppError::NotFound { .. } => Self::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail),
            AppError::Forbidden { .. } => {
                Self::new(StatusCode::FORBIDDEN, "forbidden", "Not allowed", detail)
            }
            AppError::Invalid { fields } => {
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                let mut refusal = Self::new(status, "invalid", "Fields are wrong", detail);
                refusal.problem.fields = fields;
                refusal
            }
            AppError::Short { shortfalls, .. } => {
                let mut refusal = Self::new(StatusCode::CONFLICT, "short", "It does not fit", detail);
                refusal.problem.shortfalls = shortfalls;
                refusal
            }
            AppError::Conflict { .. } => {
                Self::new(StatusCode::CONFLICT, "conflict", "The state does not allow it", detail)
            }
            AppError::Stale { .. } => {
                Self::new(StatusCode::PRECONDITION_FAILED, "stale", "Changed by somebody else", detail)
            }
            AppError::KeyReused { .. } => {
                let title = "The key stands for another request";
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "key-reused", title, detail)
                    .field("Idempotency-Key", "was used before with another request; take a new key")
            }
            AppError::BadCredentials => {
                let title = "Login or password is wrong";
                Self::new(StatusCode::UNAUTHORIZED, "bad-credentials", title, detail)
            }
            AppError::Throttled { retry_after_s } => {
                let mut refusal =
                    Self::new(StatusCode::TOO_MANY_REQUESTS, "throttled", "Too many tries", detail);
                refusal.retry_after_s = Some(retry_after_s);
                refusal
            }
            error @ AppError::Internal { .. } => Self::internal(error),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Writes the problem document of a response that is a refusal; any other response passes.
pub(crate) fn finish(mut response: Response, request_id: &str) -> Response {
    let Some(refusal) = response.extensions_mut().remove::<Refusal>() else { return response };
    let retry_after_s = refusal.retry_after_s;
    let body = serde_json::to_vec(&refusal.settle(request_id)).unwrap_or_default();
    *response.body_mut() = Body::from(body);
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = retry_after_s {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// An error with all its causes, for the log.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internals_never_leak() {
        let error = AppError::Internal { what: "secret work", source: "the password is 1234".into() };
        let problem = Refusal::from(error).settle("r-1");
        let text = serde_json::to_string(&problem).unwrap();
        assert!(!text.contains("secret") && !text.contains("1234"), "{text}");
        assert_eq!(problem.instance.as_deref(), Some("r-1"));
        assert_eq!(problem.status, 500);
    }

    #[test]
    fn the_wait_is_told() {
        let refusal = Refusal::from(AppError::Throttled { retry_after_s: 7 });
        let response = finish(refusal.into_response(), "r-2");
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()[header::RETRY_AFTER], "7");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
    }
}
