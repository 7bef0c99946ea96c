//! Serves the pages with sample data, to look at them: `cargo run -p gpuaas-frontend --features ssr,sample --example look`.
//!
//! `?as=admin|lead|viewer|stranger|nobody` and `?theme=light|dark|system` choose who looks and how; `?refused` shows
//! the first form of a page as refused. Listens on loopback, port 8089 or the first argument.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    extract::{Query, Request},
    http::{StatusCode, Uri, header},
    response::{Html, IntoResponse, Redirect, Response},
};
use domain::api::{FieldError, Problem};
use frontend::{Answer, Assets, Flash, FlashKind, FormState, PageContext, Theme, render, sample};
use tower_http::services::ServeDir;

const NONCE: &str = "bG9vaw";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let site = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/site/pkg");
    let logo = concat!(env!("CARGO_MANIFEST_DIR"), "/assets");
    let app =
        Router::new().nest_service("/pkg", ServeDir::new(site).fallback(ServeDir::new(logo))).fallback(page);
    let port = std::env::args().nth(1).unwrap_or_else(|| "8089".to_owned());
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    println!("http://{}/", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}

async fn page(uri: Uri, Query(mut query): Query<BTreeMap<String, String>>, request: Request) -> Response {
    if uri.path().starts_with("/api/") {
        return axum::Json(sample::fit_answer()).into_response();
    }
    if request.method() != axum::http::Method::GET {
        return Redirect::to(uri.path()).into_response();
    }
    let actor = match query.remove("as").as_deref() {
        Some("nobody") => None,
        Some("lead") => Some(sample::lead()),
        Some("viewer") => Some(sample::viewer()),
        Some("stranger") => Some(sample::stranger()),
        _ => Some(sample::admin()),
    };
    let theme = Theme::parse(&query.remove("theme").unwrap_or_default());
    let form = query.remove("refused").map(|_| refused(uri.path())).unwrap_or_default();
    let flash = query.remove("flash").map(|text| Flash { kind: FlashKind::Done, text });
    let context = PageContext {
        backend: Arc::new(sample::Sample),
        actor,
        path: uri.path().to_owned(),
        query,
        nonce: NONCE.to_owned(),
        csrf: "token".to_owned(),
        flash,
        theme,
        form,
        key: "01JD0000000000000000000001".to_owned(),
        now: sample::now(),
        assets: Assets::default(),
        request_id: "01JD0000000000000000000000".to_owned(),
    };
    let policy = format!(
        "default-src 'self'; script-src 'nonce-{NONCE}' 'strict-dynamic' 'wasm-unsafe-eval'; object-src 'none'; base-uri 'none'"
    );
    match render(context).await {
        Answer::Html { status, body } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, [(header::CONTENT_SECURITY_POLICY, policy)], Html(body)).into_response()
        }
        Answer::SignIn { location } => Redirect::to(&location).into_response(),
    }
}

fn refused(path: &str) -> FormState {
    let values = [
        ("nodes", "3"),
        ("per_node", "9"),
        ("until", "2027-06-01"),
        ("purpose", "Too much"),
        ("login", "somebody"),
    ];
    FormState {
        action: path.to_owned(),
        values: values.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        problem: Some(Problem {
            kind: "/problems/validation".to_owned(),
            title: "The request cannot be sent".to_owned(),
            status: 422,
            detail: "Two fields need another value.".to_owned(),
            instance: None,
            fields: vec![
                FieldError::new(
                    "ask.shape.per_node",
                    "9 asked, the largest node has 8; ask for at most 8 on each node",
                ),
                FieldError::new(
                    "ask.until",
                    "a lease of 183 days asked, 90 are allowed; choose 2027-02-28 at the latest",
                ),
            ],
            shortfalls: vec![],
        }),
        fit: None,
    }
}
