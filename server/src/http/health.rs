//! Is the process alive, and can it work?

use axum::extract::State;
use http::StatusCode;

use super::{
    Web,
    problem::{Answer, Refusal},
};

/// The process answers.
pub(crate) async fn live() -> &'static str {
    "ok\n"
}

/// The database answers, and it is migrated: opening it did that, so a query on a table proves both.
pub(crate) async fn ready(State(web): State<Web>) -> Answer<&'static str> {
    match web.app.jobs_waiting().await {
        Ok(_) => Ok("ok\n"),
        Err(error) => {
            tracing::warn!(error = %super::problem::chain(&error), "not ready");
            let detail = "the database does not answer";
            Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", "Not ready", detail))
        }
    }
}
