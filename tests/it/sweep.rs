//! Every route is called as nobody, as a stranger and as each role. The expected status of each stands in one table;
//! a route that is served but not in the table fails.

use std::collections::BTreeSet;

use axum::body::Body;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use server::http::{Surface, routes};

use crate::http::portal::{Client, Portal, Snapshot, offering, request};

/// Columns of the table.
const WHO: [&str; 8] = ["nobody", "stranger", "viewer", "member", "lead", "auditor", "approver", "admin"];

/// A row: method, path, body or form, and the status for each of [`WHO`]. `{team}` is `vision`.
#[derive(Clone, Copy)]
struct Row {
    method: &'static str,
    path: &'static str,
    /// Body of an API call; fields of a form.
    body: fn(&Ids) -> Value,
    expected: [u16; 8],
}

/// Things that the paths name.
#[derive(Clone)]
struct Ids {
    request: String,
    grant: String,
    user: String,
}

const fn row(method: &'static str, path: &'static str, expected: [u16; 8]) -> Row {
    Row { method, path, body: |_| json!({}), expected }
}

const fn with(row: Row, body: fn(&Ids) -> Value) -> Row {
    Row { body, ..row }
}

// The patterns of the table: nobody, stranger, viewer, member, lead, auditor, approver, admin.
const OPEN: [u16; 8] = [200; 8];
const ACCOUNT: [u16; 8] = [401, 200, 200, 200, 200, 200, 200, 200];
const PLATFORM: [u16; 8] = [401, 404, 404, 404, 404, 200, 200, 200];
const ADMIN_200: [u16; 8] = [401, 404, 404, 404, 404, 403, 403, 200];
const ADMIN_201: [u16; 8] = [401, 404, 404, 404, 404, 403, 403, 201];
const TEAM: [u16; 8] = [401, 404, 200, 200, 200, 200, 200, 200];
const LEADS: [u16; 8] = [401, 404, 403, 403, 200, 403, 403, 200];
const ASKERS_200: [u16; 8] = [401, 404, 403, 200, 200, 403, 403, 403];
const ASKERS_201: [u16; 8] = [401, 404, 403, 201, 201, 403, 403, 403];
const DECIDERS: [u16; 8] = [401, 404, 403, 403, 403, 403, 200, 200];

const PAGE_ANYONE: [u16; 8] = [200; 8];
const PAGE_ACCOUNT: [u16; 8] = [303, 200, 200, 200, 200, 200, 200, 200];
const PAGE_TEAM: [u16; 8] = [303, 404, 200, 200, 200, 200, 200, 200];
const PAGE_ASKERS: [u16; 8] = [303, 404, 403, 200, 200, 403, 403, 403];
const PAGE_PLATFORM: [u16; 8] = [303, 404, 404, 404, 404, 200, 200, 200];

const FORM_ASKERS: [u16; 8] = [303, 404, 403, 303, 303, 403, 403, 403];
const FORM_DECIDERS: [u16; 8] = [303, 404, 403, 403, 403, 403, 303, 303];
const FORM_LEADS: [u16; 8] = [303, 404, 403, 403, 303, 403, 403, 303];

fn new_pool(_: &Ids) -> Value {
    json!({"name": "h200", "cluster": "c", "display": "H200", "model": "H200", "mode": "whole"})
}

fn ask_form(_: &Ids) -> Value {
    json!({"do": "check", "kind": "new", "offering": "h100", "nodes": "1", "per_node": "1", "until": "2027-03-01", "purpose": "x"})
}

fn table() -> Vec<Row> {
    let mut rows = api_of_the_platform();
    rows.extend(api_of_a_team());
    rows.extend(pages_and_forms());
    rows
}

fn api_of_the_platform() -> Vec<Row> {
    vec![
        row("GET", "/livez", OPEN),
        row("GET", "/readyz", OPEN),
        row("GET", "/api/v1/openapi.json", OPEN),
        row("GET", "/pkg/{*file}", [404; 8]),
        row("GET", "/favicon.ico", [404; 8]),
        row("GET", "/api/v1/me", ACCOUNT),
        // Refused for the credentials, whoever asks.
        with(
            row("POST", "/api/v1/session", [401; 8]),
            |_| json!({"login": "no-such-person", "password": "x"}),
        ),
        row("DELETE", "/api/v1/session", [401, 204, 204, 204, 204, 204, 204, 204]),
        row("GET", "/api/v1/users", PLATFORM),
        with(
            row("POST", "/api/v1/users", ADMIN_201),
            |_| json!({"login": "new", "display": "New", "password": "long enough for a test"}),
        ),
        with(row("PUT", "/api/v1/users/{user}/roles", ADMIN_200), |_| json!({"platform": ["auditor"]})),
        with(row("PUT", "/api/v1/users/{user}/disabled", ADMIN_200), |_| json!({"disabled": true})),
        row("GET", "/api/v1/clusters", PLATFORM),
        with(
            row("POST", "/api/v1/clusters", ADMIN_201),
            |_| json!({"name": "d", "display": "D", "writer": "git"}),
        ),
        row("GET", "/api/v1/clusters/{cluster}", PLATFORM),
        with(row("PATCH", "/api/v1/clusters/{cluster}", ADMIN_200), |_| json!({"display": "Two"})),
        row("GET", "/api/v1/clusters/{cluster}/nodes", PLATFORM),
        with(
            row("PUT", "/api/v1/clusters/{cluster}/nodes", ADMIN_200),
            |_| json!({"nodes": [{"name": "n1", "labels": {"gpuaas.io/pool": "h100"}, "allocatable": {"nvidia.com/gpu": 8}}]}),
        ),
        row("GET", "/api/v1/clusters/{cluster}/nodes/{node}", PLATFORM),
        // The team's namespace has nothing that waits for a word: the admin gets as far as its state.
        row(
            "POST",
            "/api/v1/clusters/{cluster}/namespaces/{namespace}/confirm",
            [401, 404, 404, 404, 404, 403, 403, 409],
        ),
        row("GET", "/api/v1/pools", ACCOUNT),
        with(row("POST", "/api/v1/pools", ADMIN_201), new_pool),
        row("GET", "/api/v1/pools/{pool}", ACCOUNT),
        with(row("PATCH", "/api/v1/pools/{pool}", ADMIN_200), |_| json!({"display": "Two"})),
        row("GET", "/api/v1/offerings", ACCOUNT),
        with(row("POST", "/api/v1/offerings", ADMIN_201), |_| offering("other", "example.com/gpu", 4)),
        row("GET", "/api/v1/offerings/{offering}", ACCOUNT),
        with(row("PATCH", "/api/v1/offerings/{offering}", ADMIN_200), |_| json!({"display": "Two"})),
        row("GET", "/api/v1/offerings/{offering}/events", PLATFORM),
        row("GET", "/api/v1/requests", PLATFORM),
        row("GET", "/api/v1/dashboard", PLATFORM),
        row("GET", "/api/v1/audit", PLATFORM),
    ]
}

fn api_of_a_team() -> Vec<Row> {
    vec![
        row("GET", "/api/v1/teams", ACCOUNT),
        with(row("POST", "/api/v1/teams", ADMIN_201), |_| json!({"name": "iris", "display": "Iris"})),
        row("GET", "/api/v1/teams/{team}", TEAM),
        with(
            row("PATCH", "/api/v1/teams/{team}", [401, 404, 403, 403, 403, 403, 403, 200]),
            |_| json!({"display": "Two"}),
        ),
        row("GET", "/api/v1/teams/{team}/members", TEAM),
        with(row("PUT", "/api/v1/teams/{team}/members/{login}", LEADS), |_| json!({"role": "viewer"})),
        row("DELETE", "/api/v1/teams/{team}/members/{login}", LEADS),
        row("GET", "/api/v1/teams/{team}/namespaces", TEAM),
        row("GET", "/api/v1/teams/{team}/quota", TEAM),
        row("GET", "/api/v1/teams/{team}/manifests", TEAM),
        with(row("POST", "/api/v1/teams/{team}/fit", TEAM), |_| crate::http::portal::ask(1, 1)),
        row("GET", "/api/v1/teams/{team}/requests", TEAM),
        with(row("POST", "/api/v1/teams/{team}/requests", ASKERS_201), |_| request(1, 1)),
        row("GET", "/api/v1/teams/{team}/requests/{id}", TEAM),
        with(
            row(
                "POST",
                "/api/v1/teams/{team}/requests/{id}/comments",
                [401, 404, 403, 201, 201, 403, 201, 201],
            ),
            |_| json!({"text": "hello"}),
        ),
        row("POST", "/api/v1/teams/{team}/requests/{id}/approve", DECIDERS),
        with(row("POST", "/api/v1/teams/{team}/requests/{id}/deny", DECIDERS), |_| json!({"text": "no"})),
        row("POST", "/api/v1/teams/{team}/requests/{id}/withdraw", ASKERS_200),
        row("GET", "/api/v1/teams/{team}/grants", TEAM),
        row("GET", "/api/v1/teams/{team}/grants/{id}", TEAM),
        row("POST", "/api/v1/teams/{team}/grants/{id}/give-back", LEADS),
    ]
}

fn pages_and_forms() -> Vec<Row> {
    vec![
        row("GET", "/sign-in", PAGE_ANYONE),
        row("GET", "/setup", PAGE_ANYONE),
        row("GET", "/", PAGE_ACCOUNT),
        row("GET", "/catalogue", PAGE_ACCOUNT),
        row("GET", "/teams/{team}", PAGE_TEAM),
        row("GET", "/teams/{team}/requests", PAGE_TEAM),
        row("GET", "/teams/{team}/requests/new", PAGE_ASKERS),
        row("GET", "/teams/{team}/requests/{id}", PAGE_TEAM),
        row("GET", "/teams/{team}/grants/{id}", PAGE_TEAM),
        row("GET", "/teams/{team}/manifests", PAGE_TEAM),
        row("GET", "/teams/{team}/members", PAGE_TEAM),
        row("GET", "/inbox", PAGE_PLATFORM),
        row("GET", "/admin", PAGE_PLATFORM),
        row("GET", "/admin/fleet", PAGE_PLATFORM),
        row("GET", "/admin/audit", PAGE_PLATFORM),
        with(row("POST", "/sign-in", [401; 8]), |_| json!({"login": "no-such-person", "password": "x"})),
        row("POST", "/sign-out", [303; 8]),
        with(
            row("POST", "/setup", [404; 8]),
            |_| json!({"token": "00", "login": "root", "display": "Root", "password": "long enough for a test"}),
        ),
        with(row("POST", "/theme", [303; 8]), |_| json!({"theme": "dark", "back": "/"})),
        // `check` reads only, and whoever sees the team may ask whether it would fit; the page itself is for askers.
        with(row("POST", "/teams/{team}/requests/new", [303, 404, 403, 200, 200, 403, 403, 403]), ask_form),
        row("POST", "/teams/{team}/requests/{id}/approve", FORM_DECIDERS),
        with(row("POST", "/teams/{team}/requests/{id}/deny", FORM_DECIDERS), |_| json!({"text": "no"})),
        row("POST", "/teams/{team}/requests/{id}/withdraw", FORM_ASKERS),
        with(
            row("POST", "/teams/{team}/requests/{id}/comment", [303, 404, 403, 303, 303, 403, 303, 303]),
            |_| json!({"text": "hello"}),
        ),
        with(
            row("POST", "/teams/{team}/grants/{id}/give-back", FORM_LEADS),
            |_| json!({"nodes": "0", "per_node": "0"}),
        ),
        with(
            row("POST", "/teams/{team}/members", FORM_LEADS),
            |_| json!({"do": "set", "login": "stranger", "role": "viewer"}),
        ),
    ]
}

/// A request that waits, a grant that counts, and somebody to change: new for each call that may use them up.
async fn things(portal: &Portal) -> Ids {
    let ctx = |login: &'static str| async move {
        let users =
            portal.app.list_users(&portal.admin, &store::Paging { after: None, limit: 200 }).await.unwrap();
        let user = users.items.into_iter().find(|u| u.login == login).unwrap();
        (user.id, app::Ctx { actor: portal.app.actor(user.id).await.unwrap().unwrap() })
    };
    let (_, member) = ctx("member").await;
    let (target, _) = ctx("target").await;
    let team = "vision".parse().unwrap();
    let new = |gpus| serde_json::from_value(request(1, gpus)).unwrap();
    let once = app::Once::none;
    let granted = portal.app.submit_request(&member, &team, new(1), once()).await.unwrap().request.id;
    let granted = portal.app.approve_request(&portal.admin, &team, granted, None).await.unwrap();
    let waiting = portal.app.submit_request(&member, &team, new(1), once()).await.unwrap();
    Ids {
        request: waiting.request.id.to_string(),
        grant: granted.request.grant.unwrap().to_string(),
        user: target.to_string(),
    }
}

/// A portal to copy, with a session for each of [`WHO`] but nobody.
struct Prepared {
    snapshot: Snapshot,
    sessions: Vec<Client>,
}

impl Prepared {
    fn client(&self, who: usize, portal: &Portal) -> Client {
        match who.checked_sub(1).and_then(|n| self.sessions.get(n)) {
            Some(session) => portal.with_session_of(session),
            None => portal.nobody(),
        }
    }
}

async fn prepared() -> Prepared {
    let portal = Portal::with_fleet().await;
    crate::http::portal::person(&portal.app, &portal.admin, "target", vec![]).await;
    let nodes = json!({"nodes": [{"name": "n1", "labels": {"gpuaas.io/pool": "h100"}, "allocatable": {"nvidia.com/gpu": 8}}]});
    portal
        .app
        .import_nodes(&portal.admin, &"c".parse().unwrap(), serde_json::from_value(nodes).unwrap())
        .await
        .unwrap();
    let role = serde_json::from_value(json!("viewer")).unwrap();
    portal.app.set_member(&portal.admin, &"vision".parse().unwrap(), "target", role).await.unwrap();
    let mut sessions = vec![];
    for who in &WHO[1..] {
        sessions.push(portal.sign_in(who).await);
    }
    Prepared { snapshot: portal.snapshot().await, sessions }
}

fn path_of(row: &Row, ids: &Ids) -> String {
    let id = if row.path.contains("/grants/") { &ids.grant } else { &ids.request };
    let pairs = [
        ("{team}", "vision"),
        ("{id}", id),
        ("{user}", &ids.user),
        ("{login}", "target"),
        ("{cluster}", "c"),
        ("{node}", "n1"),
        ("{namespace}", "vision"),
        ("{pool}", "h100"),
        ("{offering}", "h100"),
        ("{*file}", "app.css"),
    ];
    pairs.iter().fold(row.path.to_owned(), |path, (key, value)| path.replace(key, value))
}

async fn call(client: &mut Client, row: &Row, ids: &Ids) -> StatusCode {
    let path = path_of(row, ids);
    let method: Method = row.method.parse().unwrap();
    let body = (row.body)(ids);
    let reply = if method == Method::GET {
        client.get(&path).await
    } else if path.starts_with("/api/") {
        client.json(method, &path, &body, &[]).await
    } else {
        let fields: Vec<_> =
            body.as_object().unwrap().iter().map(|(k, v)| (k.as_str(), v.as_str().unwrap())).collect();
        client.form("/sign-in", &path, &fields).await
    };
    if reply.status == StatusCode::UNAUTHORIZED && path.starts_with("/api/") {
        reply.problem();
    }
    if reply.status.is_server_error() {
        panic!("{} {path}: {}", row.method, reply.text());
    }
    reply.status
}

#[tokio::test]
async fn every_route_answers_each_role_as_the_table_says() {
    let (mut wrong, prepared) = (vec![], prepared().await);
    for row in table() {
        // Calls that change nothing may share a portal; one that changes things gets its own for each role.
        let shared = Portal::copy(&prepared.snapshot).await;
        let shared_ids = things(&shared).await;
        for (number, (who, expected)) in WHO.iter().zip(row.expected).enumerate() {
            let own = if row.method == "GET" || expected >= 400 {
                None
            } else {
                Some(Portal::copy(&prepared.snapshot).await)
            };
            let portal = own.as_ref().unwrap_or(&shared);
            let ids = if own.is_some() { things(portal).await } else { shared_ids.clone() };
            let mut client = prepared.client(number, portal);
            let got = call(&mut client, &row, &ids).await.as_u16();
            if got != expected {
                wrong.push(format!("{} {} as {who}: {got}, the table says {expected}", row.method, row.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_route_is_in_the_table_and_every_row_is_a_route() {
    let served: BTreeSet<_> = routes().into_iter().map(|r| (r.method, r.path)).collect();
    let rows = table();
    let listed: BTreeSet<_> = rows.iter().map(|r| (r.method.to_owned(), r.path.to_owned())).collect();
    assert_eq!(rows.len(), listed.len(), "a route stands twice");
    assert_eq!(
        served.difference(&listed).collect::<Vec<_>>(),
        Vec::<&(String, String)>::new(),
        "routes without a row"
    );
    assert_eq!(
        listed.difference(&served).collect::<Vec<_>>(),
        Vec::<&(String, String)>::new(),
        "rows without a route"
    );
}

/// Nobody gets 401 from the API and the way to sign in from pages, whatever else is wrong with what they send.
#[tokio::test]
async fn nobody_gets_nothing_even_with_nonsense() {
    let portal = Portal::copy(&prepared().await.snapshot).await;
    for route in routes() {
        if matches!(route.surface, Surface::Open) || route.path.ends_with("/session") {
            continue;
        }
        let path = route.path.replace("{team}", "vision").replace(['{', '}'], "");
        let method: Method = route.method.parse().unwrap();
        let kind = if route.surface == Surface::Form {
            "application/x-www-form-urlencoded"
        } else {
            "application/json"
        };
        let reply =
            portal.nobody().send(method, &path, &[("content-type", kind)], Body::from("{nonsense")).await;
        match route.surface {
            Surface::Api => assert_eq!(reply.problem().status, 401, "{route:?}"),
            Surface::Page | Surface::Form => {
                let open = ["/sign-in", "/setup", "/theme"].contains(&route.path.as_str());
                let ids = route.path.contains("{id}");
                let fine = open
                    || reply.location().starts_with("/sign-in")
                    || (ids && reply.status == StatusCode::NOT_FOUND);
                assert!(fine, "{route:?}: {} {}", reply.status, reply.text());
            }
            Surface::Open => {}
        }
    }
}
