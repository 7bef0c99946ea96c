//! Around every request: its id, its log line, a limit in time, and the last net for panics.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::FutureExt as _;
use http::{HeaderName, HeaderValue, StatusCode};
use tracing::Instrument as _;

use super::{Web, problem, problem::Refusal};

/// Longest time that a request may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Id of an HTTP request: in the log, in `X-Request-Id` and in each problem document.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(pub(crate) Arc<str>);

/// Gives ids: a random beginning for each process, then a number.
pub struct RequestIds {
    prefix: String,
    next: AtomicU64,
}

impl RequestIds {
    /// Ids that begin with `seed` in hexadecimal.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        Self { prefix: format!("{seed:08x}"), next: AtomicU64::new(1) }
    }
    fn next(&self) -> RequestId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        RequestId(format!("{}-{number}", self.prefix).into())
    }
}

/// The outermost layer.
pub(crate) async fn observe(State(web): State<Web>, mut request: Request, next: Next) -> Response {
    let id = web.request_ids.next();
    request.extensions_mut().insert(id.clone());
    let span =
        tracing::info_span!("request", id = %id.0, method = %request.method(), path = request.uri().path());
    let started = Instant::now();
    let work = AssertUnwindSafe(next.run(request).instrument(span.clone())).catch_unwind();
    let response = match tokio::time::timeout(LIMIT, work).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => Refusal::internal("a handler panicked").into_response(),
        Err(_) => {
            let detail = format!("no answer within {} seconds; try again", LIMIT.as_secs());
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too-slow", "Too slow", detail).into_response()
        }
    };
    let mut response = problem::finish(response, &id.0);
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        response.headers_mut().insert(HeaderName::from_static("x-request-id"), value);
    }
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    span.in_scope(|| tracing::info!(status = response.status().as_u16(), duration_ms, "answered"));
    response
}
