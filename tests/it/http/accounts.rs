//! First start, sign-in, sessions, forged requests.

use axum::body::Body;
use chrono::Duration;
use http::{Method, StatusCode, header};
use serde_json::json;

use super::portal::{Client, PASSWORD, Portal, app_over, csrf_of, make_team, router_over};

async fn empty() -> (app::App, axum::Router, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?mode=rwc", folder.path().join("t.db").display());
    let (app, _) = app_over(store::Store::open(&url).await.unwrap(), &folder).await;
    (app.clone(), router_over(app), folder)
}

#[tokio::test]
async fn the_first_start_link_makes_one_admin_and_is_valid_once() {
    let (app, router, _folder) = empty().await;
    let mut client = Client::over(router.clone());
    let token = app.first_start_token().await.unwrap().unwrap();
    let page = format!("/setup?token={token}");
    let fields = |token| [("token", token), ("login", "root"), ("display", "Root"), ("password", PASSWORD)];
    assert_eq!(client.form(&page, "/setup", &fields("00")).await.status, StatusCode::NOT_FOUND);
    let done = client.form(&page, "/setup", &fields(token.as_str())).await;
    assert_eq!((done.status, done.location()), (StatusCode::SEE_OTHER, "/"), "{}", done.text());
    assert_eq!(client.get("/api/v1/me").await.json()["actor"]["platform"], json!(["admin"]));

    let mut second = Client::over(router);
    assert_eq!(second.form(&page, "/setup", &fields(token.as_str())).await.status, StatusCode::NOT_FOUND);
    assert_eq!(app.first_start_token().await.unwrap(), None);
}

#[tokio::test]
async fn case_46_signing_in_makes_a_new_session_and_the_old_one_is_gone() {
    let portal = Portal::new().await;
    let mut attacker = portal.nobody();
    let page = attacker.get("/sign-in").await;
    let planted = attacker.cookie.clone().expect("a session for the form");
    let line = page.set_cookie("gpuaas").unwrap();
    assert!(line.contains("HttpOnly") && line.contains("SameSite=Lax") && line.contains("Path=/"), "{line}");
    assert!(!line.contains("Domain"), "{line}");

    let mut victim = portal.nobody();
    victim.cookie = Some(planted.clone());
    let csrf = csrf_of(&page.text()).unwrap();
    let fields = [("login", "admin"), ("password", PASSWORD), ("next", "/catalogue")];
    let signed = victim.form_with("/sign-in", &csrf, &fields).await;
    assert_eq!(
        (signed.status, signed.location()),
        (StatusCode::SEE_OTHER, "/catalogue"),
        "{}",
        signed.text()
    );
    assert_ne!(victim.cookie.as_ref(), Some(&planted));
    assert_eq!(victim.get("/api/v1/me").await.status, StatusCode::OK);

    attacker.cookie = Some(planted);
    assert_eq!(attacker.get("/api/v1/me").await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn case_46_signing_out_removes_the_record() {
    let portal = Portal::new().await;
    let mut admin = portal.sign_in("admin").await;
    let cookie = admin.cookie.clone();
    let out = admin.form("/", "/sign-out", &[]).await;
    assert_eq!((out.status, out.location()), (StatusCode::SEE_OTHER, "/sign-in"));
    let mut replay = portal.nobody();
    replay.cookie = cookie;
    assert_eq!(replay.get("/api/v1/me").await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn case_47_after_signing_in_only_our_own_paths_are_followed() {
    let portal = Portal::new().await;
    for (next, leads) in [
        ("/teams/iris", "/teams/iris"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("javascript:alert(1)", "/"),
    ] {
        let mut client = portal.nobody();
        let fields = [("login", "admin"), ("password", PASSWORD), ("next", next)];
        assert_eq!(client.form("/sign-in", "/sign-in", &fields).await.location(), leads, "{next}");
    }
}

#[tokio::test]
async fn wrong_passwords_are_refused_and_then_slowed_down() {
    let portal = Portal::new().await;
    let mut client = portal.nobody();
    let body = json!({"login": "admin", "password": "not the password"});
    for _ in 0..10 {
        assert_eq!(client.post("/api/v1/session", body.clone()).await.problem().status, 401);
    }
    let slowed = client.post("/api/v1/session", body).await;
    assert_eq!(slowed.problem().status, 429);
    assert!(slowed.headers[header::RETRY_AFTER].to_str().unwrap().parse::<u64>().unwrap() > 0);
    let page = client.form("/sign-in", "/sign-in", &[("login", "nobody"), ("password", "x")]).await;
    assert_eq!(page.status, StatusCode::UNAUTHORIZED);
    assert!(page.text().contains("nobody"), "what was entered stands there again");
}

#[tokio::test]
async fn changes_need_the_token_of_their_own_session() {
    let portal = Portal::new().await;
    let mut admin = portal.sign_in("admin").await;
    let mut other = portal.sign_in("admin").await;
    let body = json!({"name": "iris", "display": "Iris"});
    let before = portal.state().await;
    let foreign = other.csrf.take().unwrap();
    for wrong in ["", "x", foreign.as_str()] {
        let reply = admin.json(Method::POST, "/api/v1/teams", &body, &[("x-csrf-token", wrong)]).await;
        assert_eq!(reply.problem().kind, "/problems/csrf", "{wrong}");
    }
    other.csrf = None;
    assert_eq!(other.post("/api/v1/teams", body.clone()).await.problem().status, 403);
    assert_eq!(portal.state().await, before);
    assert_eq!(admin.post("/api/v1/teams", body).await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn forms_need_the_token_too() {
    let portal = Portal::with_fleet().await;
    let mut lead = portal.sign_in("lead").await;
    let before = portal.state().await;
    for wrong in ["", "x"] {
        let fields = [("do", "remove"), ("login", "member")];
        let reply = lead.form_with("/teams/vision/members", wrong, &fields).await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN);
    }
    assert_eq!(portal.state().await, before);
}

#[tokio::test]
async fn case_46_forms_of_other_sites_and_links_change_nothing() {
    let portal = Portal::with_fleet().await;
    let mut member = portal.sign_in("member").await;
    let made = member.post("/api/v1/teams/vision/requests", super::portal::request(1, 1)).await;
    let id = made.json()["request"]["id"].as_str().unwrap().to_owned();
    let mut approver = portal.sign_in("approver").await;
    let before = portal.state().await;
    let approve = format!("/teams/vision/requests/{id}/approve");
    let linked = approver.get(&approve).await;
    assert_eq!(linked.problem().status, 405);
    let csrf = csrf_of(&approver.get("/inbox").await.text()).unwrap_or_default();
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let headers = [("content-type", "application/x-www-form-urlencoded"), (name, value)];
        let body = Body::from(format!("csrf={csrf}"));
        let reply = approver.send(Method::POST, &approve, &headers, body).await;
        assert_eq!(reply.problem().kind, "/problems/foreign-origin", "{name}: {value}");
    }
    assert_eq!(portal.state().await, before);
    let own = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", "http://127.0.0.1:8080"),
        ("sec-fetch-site", "same-origin"),
    ];
    let body = Body::from(format!("csrf={csrf}"));
    assert_eq!(approver.send(Method::POST, &approve, &own, body).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_session_slides_for_twelve_hours_and_ends_after_seven_days() {
    let portal = Portal::new().await;
    let mut idle = portal.sign_in("admin").await;
    portal.clock.advance(Duration::hours(11));
    assert_eq!(idle.get("/api/v1/me").await.status, StatusCode::OK);
    portal.clock.advance(Duration::hours(11));
    assert_eq!(idle.get("/api/v1/me").await.status, StatusCode::OK, "use moved the end");
    portal.clock.advance(Duration::hours(13));
    assert_eq!(idle.get("/api/v1/me").await.status, StatusCode::UNAUTHORIZED);

    let mut busy = portal.sign_in("admin").await;
    let mut hours = 0;
    while busy.get("/api/v1/me").await.status == StatusCode::OK {
        portal.clock.advance(Duration::hours(6));
        hours += 6;
        assert!(hours < 200, "a session that never ends");
    }
    assert_eq!(hours, 7 * 24);
}

#[tokio::test]
async fn roles_and_locks_count_at_once() {
    let portal = Portal::with_fleet().await;
    make_team(&portal.app, &portal.admin, "iris").await;
    let mut member = portal.sign_in("member").await;
    assert_eq!(member.get("/api/v1/teams/vision").await.status, StatusCode::OK);
    portal.app.remove_member(&portal.admin, &"vision".parse().unwrap(), "member").await.unwrap();
    assert_eq!(member.get("/api/v1/teams/vision").await.status, StatusCode::NOT_FOUND);
    let users = portal.app.list_users(&portal.admin, &store::Paging::default()).await.unwrap();
    let user = users.items.iter().find(|u| u.login == "member").unwrap().id;
    portal.app.set_disabled(&portal.admin, user, true).await.unwrap();
    assert_eq!(member.get("/api/v1/me").await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn over_https_the_cookie_is_bound_to_the_host() {
    let (app, _, _folder) = empty().await;
    let url = "https://gpu.example.org".parse().unwrap();
    let router = server::http::router(server::wire::web(app, url, server::http::Site::default()));
    let mut client = Client::over(router);
    let page = client.get("/sign-in").await;
    let line = page.set_cookie("__Host-gpuaas").expect("a cookie with the prefix");
    for part in ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"] {
        assert!(line.contains(part), "{line}");
    }
    assert!(!line.contains("Domain"), "{line}");
    assert!(page.headers.contains_key(header::STRICT_TRANSPORT_SECURITY));
    for (origin, status) in
        [("https://gpu.example.org", 401), ("http://127.0.0.1:8080", 403), ("http://gpu.example.org", 403)]
    {
        let headers = [("content-type", "application/json"), ("origin", origin)];
        let body = Body::from(json!({"login": "x", "password": "x"}).to_string());
        let reply = client.send(Method::POST, "/api/v1/session", &headers, body).await;
        assert_eq!(reply.problem().status, status, "{origin}");
    }
}
