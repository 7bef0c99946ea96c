//! Every route in one list.

use axum::{
    Json, Router,
    extract::{FromRequestParts as _, Request, State},
    middleware::{from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use domain::api::Problem;
use frontend::PAGES;
use http::{Method, StatusCode};
use tower_http::compression::CompressionLayer;
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    Web, assets, csp, csrf,
    extract::Visitor,
    forms, health, observe, pages,
    problem::Refusal,
    session,
    v1::{clusters, grants, me, offerings, pools, requests, teams, users, views},
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "gpuaas",
        description = "Control plane for a shared GPU cluster. Changes under a session cookie need the header `X-CSRF-Token` with `csrf` of `GET /api/v1/me`. Refusals are RFC 9457 problem documents."
    ),
    components(schemas(Problem, grants::Which))
)]
struct Document;

/// The API. Each line is one path; [`openapi`] and the sweep of roles read the same list.
fn api() -> OpenApiRouter<Web> {
    let v1 = OpenApiRouter::new()
        .routes(routes!(me::me))
        .routes(routes!(me::sign_in, me::sign_out))
        .routes(routes!(users::list_users, users::create_user))
        .routes(routes!(users::set_roles))
        .routes(routes!(users::set_disabled))
        .routes(routes!(clusters::list_clusters, clusters::create_cluster))
        .routes(routes!(clusters::find_cluster, clusters::change_cluster))
        .routes(routes!(clusters::list_nodes, clusters::import_nodes))
        .routes(routes!(clusters::find_node))
        .routes(routes!(clusters::confirm_namespace))
        .routes(routes!(pools::list_pools, pools::create_pool))
        .routes(routes!(pools::find_pool, pools::change_pool))
        .routes(routes!(offerings::catalogue, offerings::create_offering))
        .routes(routes!(offerings::find_offering, offerings::change_offering))
        .routes(routes!(offerings::ledger_events))
        .routes(routes!(teams::list_teams, teams::create_team))
        .routes(routes!(teams::find_team, teams::change_team))
        .routes(routes!(teams::list_members))
        .routes(routes!(teams::set_member, teams::remove_member))
        .routes(routes!(teams::list_namespaces))
        .routes(routes!(teams::team_quota))
        .routes(routes!(teams::manifests))
        .routes(routes!(requests::fit))
        .routes(routes!(requests::list_requests, requests::submit_request))
        .routes(routes!(requests::find_request))
        .routes(routes!(requests::comment))
        .routes(routes!(requests::approve_request))
        .routes(routes!(requests::deny_request))
        .routes(routes!(requests::withdraw_request))
        .routes(routes!(requests::inbox))
        .routes(routes!(grants::list_grants))
        .routes(routes!(grants::find_grant))
        .routes(routes!(grants::give_back))
        .routes(routes!(views::dashboard))
        .routes(routes!(views::audit));
    OpenApiRouter::with_openapi(Document::openapi()).nest("/api/v1", v1)
}

/// The forms of the pages; all are POST.
fn forms() -> Vec<(&'static str, MethodRouter<Web>)> {
    vec![
        ("/sign-in", post(forms::account::sign_in)),
        ("/sign-out", post(forms::account::sign_out)),
        ("/setup", post(forms::account::setup)),
        ("/theme", post(forms::theme::set)),
        ("/teams/{team}/requests/new", post(forms::request::new)),
        ("/teams/{team}/requests/{id}/approve", post(forms::request::approve)),
        ("/teams/{team}/requests/{id}/deny", post(forms::request::deny)),
        ("/teams/{team}/requests/{id}/withdraw", post(forms::request::withdraw)),
        ("/teams/{team}/requests/{id}/comment", post(forms::request::comment)),
        ("/teams/{team}/grants/{id}/give-back", post(forms::grant::give_back)),
        ("/teams/{team}/members", post(forms::member::change)),
    ]
}

/// What needs no account and no session.
fn open() -> Vec<(&'static str, MethodRouter<Web>)> {
    vec![
        ("/livez", get(health::live)),
        ("/readyz", get(health::ready)),
        ("/api/v1/openapi.json", get(description)),
        ("/pkg/{*file}", get(assets::file)),
        ("/favicon.ico", get(assets::favicon)),
    ]
}

/// What a route is part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Surface {
    /// `/api/v1`: answers nobody with 401.
    Api,
    /// A page: sends nobody to `/sign-in`.
    Page,
    /// A form of a page.
    Form,
    /// Health, static files, the API description.
    Open,
}

/// A route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Method in capitals.
    pub method: String,
    /// Path in the syntax of axum.
    pub path: String,
    /// What it is part of.
    pub surface: Surface,
}

/// Every route that [`router`] serves.
#[must_use]
pub fn routes() -> Vec<Listed> {
    let listed = |method: &Method, path: &str, surface| Listed {
        method: method.to_string(),
        path: path.to_owned(),
        surface,
    };
    let mut all = vec![];
    for (path, item) in &openapi().paths.paths {
        let operations = [
            (Method::GET, &item.get),
            (Method::POST, &item.post),
            (Method::PUT, &item.put),
            (Method::PATCH, &item.patch),
            (Method::DELETE, &item.delete),
        ];
        all.extend(
            operations.iter().filter(|(_, o)| o.is_some()).map(|(m, _)| listed(m, path, Surface::Api)),
        );
    }
    all.extend(PAGES.iter().map(|page| listed(&Method::GET, page.path, Surface::Page)));
    all.extend(forms().iter().map(|(path, _)| listed(&Method::POST, path, Surface::Form)));
    all.extend(open().iter().map(|(path, _)| listed(&Method::GET, path, Surface::Open)));
    all
}

/// The description of the API, OpenAPI 3.1.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    api().into_openapi()
}

/// The whole server as one service.
pub fn router(web: Web) -> Router {
    let (api, _) = api().split_for_parts();
    let mut app = api.route_layer(from_fn(csrf::guard_token));
    for page in PAGES {
        app = app.route(page.path, get(pages::page));
    }
    for (path, handler) in forms() {
        app = app.route(path, handler);
    }
    let app = app
        .fallback(nothing_here)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(web.clone(), csrf::guard_origin))
        .layer(session::layer(&web));
    let mut whole = Router::new().method_not_allowed_fallback(wrong_method);
    for (path, handler) in open() {
        whole = whole.route(path, handler);
    }
    whole
        .fallback_service(app.with_state(web.clone()))
        .layer(CompressionLayer::new())
        .layer(from_fn_with_state(web.clone(), csp::protect))
        .layer(from_fn_with_state(web.clone(), observe::observe))
        .with_state(web)
}

/// The description of the API.
async fn description() -> impl IntoResponse {
    Json(openapi())
}

async fn wrong_method(method: Method) -> Refusal {
    let detail = format!("{method} is not answered here; the header Allow names what is");
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method", "Method not allowed", detail)
}

/// Unknown paths: a problem document below `/api`, a page elsewhere.
async fn nothing_here(State(web): State<Web>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    let path = parts.uri.path();
    if path.starts_with("/api/") || parts.method != Method::GET {
        return Refusal::not_found(path).into_response();
    }
    match Visitor::from_request_parts(&mut parts, &web).await {
        Ok(visitor) => pages::get(&web, &visitor, &parts.uri).await,
        Err(refusal) => refusal.into_response(),
    }
}
