//! Pages under their headers, and the main path without JavaScript.

use http::StatusCode;

use super::portal::{Client, Portal, csrf_of, value_of};

#[tokio::test]
async fn every_answer_carries_the_policy_and_pages_keep_to_it() {
    let portal = Portal::with_fleet().await;
    let mut admin = portal.sign_in("admin").await;
    let mut nonces = vec![];
    for path in [
        "/",
        "/catalogue",
        "/teams/vision",
        "/teams/vision/requests/new",
        "/inbox",
        "/admin",
        "/admin/fleet",
        "/admin/audit",
        "/sign-in",
        "/nothing",
    ] {
        let page = admin.get(path).await;
        let policy = page.headers["content-security-policy"].to_str().unwrap().to_owned();
        let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap().to_owned();
        let html = page.text();
        assert!(html.starts_with("<!DOCTYPE html>") || html.starts_with("<!doctype html>"), "{path}: {html}");
        assert!(!html.contains(" style=\"") && !html.contains("<style"), "{path} has inline style");
        for script in html.split("<script").skip(1) {
            assert!(
                script.split('>').next().unwrap().contains(&format!("nonce=\"{nonce}\"")),
                "{path}: a script without nonce"
            );
        }
        assert_eq!(page.headers["x-content-type-options"], "nosniff");
        assert_eq!(page.headers["cross-origin-opener-policy"], "same-origin");
        assert_eq!(page.headers["cache-control"], "no-store");
        nonces.push(nonce);
    }
    nonces.sort();
    nonces.dedup();
    assert_eq!(nonces.len(), 10, "a nonce is used once");
    let api = admin.get("/api/v1/me").await;
    assert!(api.headers.contains_key("content-security-policy"));
}

#[tokio::test]
async fn nobody_is_sent_to_sign_in_and_back() {
    let portal = Portal::with_fleet().await;
    let mut nobody = portal.nobody();
    let away = nobody.get("/teams/vision").await;
    assert_eq!(away.status, StatusCode::SEE_OTHER);
    assert!(away.location().starts_with("/sign-in?next="), "{}", away.location());
    assert!(nobody.cookie.is_none(), "a look makes no session");
}

#[tokio::test]
async fn the_main_path_with_forms_alone() {
    let portal = Portal::with_fleet().await;
    let mut member = portal.sign_in("member").await;
    let page = "/teams/vision/requests/new";
    let fields = |what| {
        [
            ("do", what),
            ("kind", "new"),
            ("offering", "h100"),
            ("nodes", "1"),
            ("per_node", "4"),
            ("partition", "yes"),
            ("until", "2027-03-01"),
            ("purpose", "training of the detector"),
        ]
    };
    let checked = member.form(page, page, &fields("check")).await;
    assert_eq!(checked.status, StatusCode::OK, "{}", checked.text());
    assert!(checked.text().contains("training of the detector"));
    let sent = member.form(page, page, &fields("submit")).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.text());
    let request = sent.location().to_owned();
    let shown = member.get(&request).await.text();
    assert!(shown.contains("waits for approval"), "the sentence after the act");
    assert!(!member.get(&request).await.text().contains("is asked for; it waits"), "it is said once");
    assert_eq!(
        member.form(&request, &format!("{request}/comment"), &[("text", "please")]).await.location(),
        request
    );

    let mut approver = portal.sign_in("approver").await;
    let inbox = approver.get("/inbox").await.text();
    assert!(inbox.contains(&format!("{request}/approve")), "the inbox has the button");
    let csrf = csrf_of(&inbox).unwrap();
    let approved = approver.form_with(&format!("{request}/approve"), &csrf, &[("back", "/inbox")]).await;
    assert_eq!((approved.status, approved.location()), (StatusCode::SEE_OTHER, "/inbox"));

    let quota = member.get("/api/v1/teams/vision/quota").await.json();
    assert_eq!(quota["lines"][0]["holding"]["granted"], 4, "{quota}");
    assert_eq!(quota["partitions"][0]["slot"], 1);
    let grant = quota["lines"][0]["grants"][0]["id"].as_str().unwrap().to_owned();
    let place = format!("/teams/vision/grants/{grant}");
    let mut lead = portal.sign_in("lead").await;
    let less = lead.form(&place, &format!("{place}/give-back"), &[("nodes", "1"), ("per_node", "1")]).await;
    assert_eq!((less.status, less.location()), (StatusCode::SEE_OTHER, place.as_str()), "{}", less.text());
    let more = lead.form(&place, &format!("{place}/give-back"), &[("nodes", "1"), ("per_node", "4")]).await;
    assert_eq!(more.status, StatusCode::UNPROCESSABLE_ENTITY);
    let quota = member.get("/api/v1/teams/vision/quota").await.json();
    assert_eq!(quota["lines"][0]["holding"]["granted"], 1, "{quota}");
}

#[tokio::test]
async fn members_by_form_and_the_theme() {
    let portal = Portal::with_fleet().await;
    let mut lead = portal.sign_in("lead").await;
    let page = "/teams/vision/members";
    let set = lead.form(page, page, &[("do", "set"), ("login", "stranger"), ("role", "viewer")]).await;
    assert_eq!((set.status, set.location()), (StatusCode::SEE_OTHER, page), "{}", set.text());
    let mut stranger = portal.sign_in("stranger").await;
    assert_eq!(stranger.get("/teams/vision").await.status, StatusCode::OK);
    let bad = lead.form(page, page, &[("do", "set"), ("login", "no-such-person"), ("role", "viewer")]).await;
    assert!(bad.status.is_client_error(), "{}", bad.status);
    assert!(bad.text().contains("no-such-person"));
    lead.form(page, page, &[("do", "remove"), ("login", "stranger")]).await;
    assert_eq!(stranger.get("/teams/vision").await.status, StatusCode::NOT_FOUND);

    let dark = lead.form(page, "/theme", &[("theme", "dark"), ("back", page)]).await;
    assert_eq!(dark.location(), page);
    assert!(dark.set_cookie("theme").unwrap().starts_with("theme=dark; Path=/"));
    assert_eq!(
        lead.form(page, "/theme", &[("theme", "dark"), ("back", "//evil.example")]).await.location(),
        "/"
    );
}

#[tokio::test]
async fn health_says_whether_it_can_work() {
    let portal = Portal::new().await;
    assert_eq!(portal.nobody().get("/livez").await.status, StatusCode::OK);
    assert_eq!(portal.nobody().get("/readyz").await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_demo_fills_every_page_and_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?mode=rwc", folder.path().join("t.db").display());
    let (app, _) = super::portal::app_over(store::Store::open(&url).await.unwrap(), &folder).await;
    let mut printed = vec![];
    server::demo::seed(&app, 8, None, &mut printed).await.unwrap();
    let printed = String::from_utf8(printed).unwrap();
    assert_eq!(printed.lines().count(), 6, "{printed}");
    let password = printed.lines().find_map(|line| line.trim().strip_prefix("admin")).unwrap().trim();
    let actor = app.sign_in("admin", password).await.unwrap();
    let ctx = app::Ctx { actor };
    let dashboard = app.dashboard(&ctx).await.unwrap();
    assert_eq!((dashboard.lines.len(), dashboard.waiting), (6, 3));
    assert!(dashboard.balances_agree && dashboard.lines.iter().any(|l| l.line.granted() > 0));
    assert_eq!(app.list_teams(&ctx, None, &store::Paging::default()).await.unwrap().items.len(), 8);
    let mut again = vec![];
    server::demo::seed(&app, 8, None, &mut again).await.unwrap();
    assert!(again.is_empty());
}

/// Sends a form twice as one page has it, and says where both answers lead.
async fn twice(client: &mut Client, page: &str, action: &str, fields: &[(&str, &str)]) -> String {
    let html = client.get(page).await.text();
    let (csrf, key) = (csrf_of(&html).unwrap(), value_of(&html, "key").unwrap());
    let mut fields = fields.to_vec();
    fields.push(("key", &key));
    let mut places = vec![];
    for _ in 0..2 {
        let reply = client.form_with(action, &csrf, &fields).await;
        assert_eq!(reply.status, StatusCode::SEE_OTHER, "{action}: {}", reply.text());
        places.push(reply.location().to_owned());
    }
    assert_eq!(places[0], places[1], "{action}");
    places.remove(0)
}

#[tokio::test]
async fn a_form_that_is_sent_twice_is_done_once() {
    let portal = Portal::with_fleet().await;
    let mut member = portal.sign_in("member").await;
    let page = "/teams/vision/requests/new";
    let wish = [
        ("do", "submit"),
        ("kind", "new"),
        ("offering", "h100"),
        ("nodes", "1"),
        ("per_node", "4"),
        ("until", "2027-03-01"),
        ("purpose", "training"),
    ];
    let request = twice(&mut member, page, page, &wish).await;
    let listed = member.get("/api/v1/teams/vision/requests").await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");

    twice(&mut member, &request, &format!("{request}/comment"), &[("text", "only once")]).await;
    let view = member.get(&format!("/api/v1{request}")).await.json();
    assert_eq!(view["comments"].as_array().unwrap().len(), 1, "{view}");

    // Another wish under the key of a form that was sent is no repetition; the page comes back with a new key.
    let html = member.get(page).await.text();
    let (csrf, key) = (csrf_of(&html).unwrap(), value_of(&html, "key").unwrap());
    let mut fields = [&wish[..], &[("key", &key)]].concat();
    assert_eq!(member.form_with(page, &csrf, &fields).await.status, StatusCode::SEE_OTHER);
    fields[4] = ("per_node", "2");
    let other = member.form_with(page, &csrf, &fields).await;
    assert_eq!(other.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(other.text().contains("This form was sent before"), "{}", other.text());
    assert_ne!(value_of(&other.text(), "key").unwrap(), key);

    let mut admin = portal.sign_in("admin").await;
    admin.form(&request, &format!("{request}/approve"), &[]).await;
    let mut lead = portal.sign_in("lead").await;
    let quota = lead.get("/api/v1/teams/vision/quota").await.json();
    let grant = quota["lines"][0]["grants"][0]["id"].as_str().unwrap().to_owned();
    let place = format!("/teams/vision/grants/{grant}");
    twice(&mut lead, &place, &format!("{place}/give-back"), &[("nodes", "1"), ("per_node", "3")]).await;
}
