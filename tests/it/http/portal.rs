//! A portal for tests: the real router, a database of its own, a clock that can be moved.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use app::{App, Clock, Ctx, Once, Parts, Vault};
use axum::{Router, body::Body};
use chrono::{Duration, NaiveDate};
use domain::{
    Timestamp,
    api::{NewUser, Problem},
    name::DisplayName,
    people::PlatformRole,
};
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use server::{
    config::PublicUrl,
    http::{Site, router},
    wire::{self, SystemEntropy},
};
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};
use store::Store;
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tower::ServiceExt as _;

/// Password of every account in tests.
pub(crate) const PASSWORD: &str = "long enough for a test";
const HOST: &str = "127.0.0.1:8080";

/// A clock that stands until it is moved.
pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(by.num_microseconds().unwrap(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        // Each look is a microsecond later, so that ids of the same moment sort by their making.
        Timestamp::from_timestamp_micros(self.0.fetch_add(1, Ordering::SeqCst)).unwrap()
    }
}

/// A portal.
pub(crate) struct Portal {
    pub(crate) app: App,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) admin: Ctx,
    router: Router,
    folder: TempDir,
}

/// The first of January 2027, noon.
fn start() -> Timestamp {
    NaiveDate::from_ymd_opt(2027, 1, 1).unwrap().and_hms_opt(12, 0, 0).unwrap().and_utc()
}

/// An application over a database, with a clock for tests.
pub(crate) async fn app_over(store: Store, folder: &TempDir) -> (App, Arc<TestClock>) {
    let clock = Arc::new(TestClock(AtomicI64::new(start().timestamp_micros())));
    let repo = gitops::Repo::open(folder.path().join("manifests.git")).await.unwrap();
    let app = App::new(Parts {
        store,
        vault: Vault::new([7; 32]),
        clock: clock.clone(),
        entropy: Arc::new(SystemEntropy),
        repo: Some(repo),
        site: plan::SiteSettings::default(),
    });
    (app, clock)
}

/// The real router over an application.
pub(crate) fn router_over(app: App) -> Router {
    router(wire::web(app, PublicUrl::loopback(HOST.parse().unwrap()), Site::default()))
}

/// A database that is made once in this process and copied: hashing passwords is slow on purpose.
static FLEET: OnceCell<Snapshot> = OnceCell::const_new();

/// A database as a file that nobody has open.
pub(crate) struct Snapshot {
    folder: TempDir,
    admin: Ctx,
}

fn database(folder: &TempDir) -> String {
    format!("sqlite:{}?mode=rwc", folder.path().join("t.db").display())
}

impl Portal {
    /// With `admin`, and nothing else.
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (app, clock) = app_over(Store::open(&database(&folder)).await.unwrap(), &folder).await;
        let token = app.first_start_token().await.unwrap().unwrap();
        let actor = app.finish_setup(&token, "admin", "Admin", PASSWORD).await.unwrap();
        Self { router: router_over(app.clone()), app, clock, admin: Ctx { actor }, folder }
    }

    /// With a cluster `c`, a pool and an offering `h100` of eight GPUs, the teams `vision` and `language`, and the
    /// accounts `approver`, `auditor`, `lead`, `member`, `viewer` (all three of vision) and `stranger`.
    pub(crate) async fn with_fleet() -> Self {
        let make = async || Self::make_fleet().await.snapshot().await;
        Self::copy(FLEET.get_or_init(make).await).await
    }

    async fn make_fleet() -> Self {
        let portal = Self::new().await;
        fleet(&portal.app, &portal.admin, 8).await;
        for (login, roles) in [
            ("approver", vec![PlatformRole::Approver]),
            ("auditor", vec![PlatformRole::Auditor]),
            ("lead", vec![]),
            ("member", vec![]),
            ("viewer", vec![]),
            ("stranger", vec![]),
        ] {
            person(&portal.app, &portal.admin, login, roles).await;
        }
        for team in ["vision", "language"] {
            make_team(&portal.app, &portal.admin, team).await;
        }
        for (login, role) in [("lead", "lead"), ("member", "member"), ("viewer", "viewer")] {
            let role = serde_json::from_value(json!(role)).unwrap();
            portal.app.set_member(&portal.admin, &"vision".parse().unwrap(), login, role).await.unwrap();
        }
        portal
    }

    /// The database as it is now.
    pub(crate) async fn snapshot(&self) -> Snapshot {
        let folder = tempfile::tempdir().unwrap();
        let mut conn = SqliteConnection::connect(&database(&self.folder)).await.unwrap();
        let vacuum = format!("VACUUM INTO '{}'", folder.path().join("t.db").display());
        sqlx::query(AssertSqlSafe(vacuum)).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        Snapshot { folder, admin: self.admin.clone() }
    }

    /// A portal of its own that begins where the snapshot was taken.
    pub(crate) async fn copy(snapshot: &Snapshot) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(snapshot.folder.path().join("t.db"), folder.path().join("t.db")).unwrap();
        let (app, clock) = app_over(Store::open(&database(&folder)).await.unwrap(), &folder).await;
        clock.advance(Duration::hours(1));
        Self { router: router_over(app.clone()), app, clock, admin: snapshot.admin.clone(), folder }
    }

    /// Somebody without a session.
    pub(crate) fn nobody(&self) -> Client {
        Client::over(self.router.clone())
    }

    /// The session of somebody who had signed in before the snapshot was taken.
    pub(crate) fn with_session_of(&self, other: &Client) -> Client {
        Client { router: self.router.clone(), ..other.clone() }
    }

    /// Somebody who has signed in.
    pub(crate) async fn sign_in(&self, login: &str) -> Client {
        let mut client = self.nobody();
        client.sign_in(login).await;
        client
    }

    /// Everything that a refusal must leave alone, as text.
    pub(crate) async fn state(&self) -> String {
        let dashboard = self.app.dashboard(&self.admin).await.unwrap();
        let all = store::Paging { after: None, limit: 200 };
        let requests = self.app.inbox(&self.admin, None, None, None, &all).await.unwrap();
        let audit = self.app.audit(&self.admin, &store::audit::Filter::default(), &all).await.unwrap();
        let teams = self.app.list_teams(&self.admin, None, &all).await.unwrap();
        json!({"dashboard": dashboard, "requests": requests, "audit": audit, "teams": teams}).to_string()
    }
}

/// A cluster `c` with a pool and an offering `h100` of so many GPUs.
pub(crate) async fn fleet(app: &App, admin: &Ctx, gpus: u32) {
    let cluster = json!({"name": "c", "display": "C", "writer": "git", "fabric_slots": 4});
    app.create_cluster(admin, serde_json::from_value(cluster).unwrap(), Once::none()).await.unwrap();
    let pool = json!({"name": "h100", "cluster": "c", "display": "H100", "model": "NVIDIA-H100-80GB-HBM3", "mode": "whole"});
    app.create_pool(admin, serde_json::from_value(pool).unwrap(), Once::none()).await.unwrap();
    let offering = offering("h100", "nvidia.com/gpu", gpus);
    app.create_offering(admin, serde_json::from_value(offering).unwrap(), Once::none()).await.unwrap();
}

/// Body of a new offering.
pub(crate) fn offering(name: &str, resource: &str, declared: u32) -> Value {
    json!({
        "name": name, "pool": "h100", "display": "H100", "kind": "whole", "resource": resource,
        "effective_milli": 1000, "declared": declared, "partition": true,
        "per_unit": {"cpu": "16", "memory": "100Gi", "ephemeral_storage": "100Gi"},
    })
}

/// An account.
pub(crate) async fn person(app: &App, admin: &Ctx, login: &str, platform: Vec<PlatformRole>) {
    let new = NewUser {
        login: login.to_owned(),
        display: DisplayName::new(login).unwrap(),
        password: PASSWORD.to_owned(),
        platform,
    };
    app.create_user(admin, new, Once::none()).await.unwrap();
}

/// A team without members.
pub(crate) async fn make_team(app: &App, admin: &Ctx, name: &str) {
    let new = serde_json::from_value(json!({"name": name, "display": name})).unwrap();
    app.create_team(admin, new, Once::none()).await.unwrap();
}

/// An ask for `nodes` × `per_node` H100 until March.
pub(crate) fn ask(nodes: u32, per_node: u32) -> Value {
    json!({"kind": "new", "offering": "h100", "shape": {"nodes": nodes, "per_node": per_node}, "until": "2027-03-01"})
}

/// A whole new request.
pub(crate) fn request(nodes: u32, per_node: u32) -> Value {
    json!({"ask": ask(nodes, per_node), "purpose": "training"})
}

/// A browser or a script: keeps the cookie and the token.
#[derive(Clone)]
pub(crate) struct Client {
    router: Router,
    pub(crate) cookie: Option<String>,
    pub(crate) csrf: Option<String>,
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {} {}", self.status, self.text()))
    }
    /// The problem document; the status of the line and of the document agree, and it names the request.
    pub(crate) fn problem(&self) -> Problem {
        assert_eq!(
            self.headers[header::CONTENT_TYPE],
            "application/problem+json",
            "{} {}",
            self.status,
            self.text()
        );
        let problem: Problem = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(problem.status, self.status.as_u16());
        assert_eq!(problem.instance.as_deref(), self.headers["x-request-id"].to_str().ok());
        assert!(
            !problem.detail.is_empty() && !problem.title.is_empty() && problem.kind.starts_with("/problems/")
        );
        problem
    }
    pub(crate) fn location(&self) -> &str {
        self.headers.get(header::LOCATION).map_or("", |v| v.to_str().unwrap())
    }
    /// Value of `name` in the `Set-Cookie` lines.
    pub(crate) fn set_cookie(&self, name: &str) -> Option<String> {
        let lines = self.headers.get_all(header::SET_COOKIE).iter().filter_map(|v| v.to_str().ok());
        let line = lines.rev().find(|line| line.starts_with(&format!("{name}=")))?;
        Some(line.to_owned())
    }
}

impl Client {
    pub(crate) fn over(router: Router) -> Self {
        Self { router, cookie: None, csrf: None }
    }

    pub(crate) async fn sign_in(&mut self, login: &str) {
        let reply = self.post("/api/v1/session", json!({"login": login, "password": PASSWORD})).await;
        assert_eq!(reply.status, StatusCode::OK, "{login}: {}", reply.text());
        self.csrf = reply.json()["csrf"].as_str().map(str::to_owned);
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.send(Method::GET, path, &[], Body::empty()).await
    }

    pub(crate) async fn post(&mut self, path: &str, body: Value) -> Reply {
        self.json(Method::POST, path, &body, &[]).await
    }

    pub(crate) async fn json(
        &mut self,
        method: Method,
        path: &str,
        body: &Value,
        more: &[(&str, &str)],
    ) -> Reply {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend_from_slice(more);
        self.send(method, path, &headers, Body::from(body.to_string())).await
    }

    /// Sends a form as a browser does; the token is taken from the page at `page`.
    pub(crate) async fn form(&mut self, page: &str, action: &str, fields: &[(&str, &str)]) -> Reply {
        let shown = self.get(page).await;
        let csrf = csrf_of(&shown.text()).unwrap_or_default();
        self.form_with(action, &csrf, fields).await
    }

    pub(crate) async fn form_with(&mut self, action: &str, csrf: &str, fields: &[(&str, &str)]) -> Reply {
        let mut text = format!("csrf={csrf}");
        for (name, value) in fields {
            text.push_str(&format!("&{name}={}", encode(value)));
        }
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        self.send(Method::POST, action, &headers, Body::from(text)).await
    }

    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Reply {
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, HOST);
        if let Some(cookie) = &self.cookie {
            request = request.header(header::COOKIE, cookie);
        }
        if let (Some(csrf), false) = (&self.csrf, headers.iter().any(|(name, _)| *name == "x-csrf-token")) {
            request = request.header("x-csrf-token", csrf);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        let reply = Reply { status: parts.status, headers: parts.headers, body };
        if let Some(line) = reply.set_cookie("gpuaas") {
            self.cookie = line.split(';').next().map(str::to_owned);
        }
        reply
    }
}

/// The token in the forms of a page.
pub(crate) fn csrf_of(html: &str) -> Option<String> {
    value_of(html, "csrf")
}

/// Value of the first input of this name on a page.
pub(crate) fn value_of(html: &str, name: &str) -> Option<String> {
    let name = format!("name=\"{name}\"");
    let tag = html.split('<').find(|tag| tag.starts_with("input") && tag.contains(&name))?;
    Some(tag.split("value=\"").nth(1)?.split('"').next()?.to_owned())
}

fn encode(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
