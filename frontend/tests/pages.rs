//! Every page with sample data, as each kind of person: what must hold for all of them, and the cases of forms.

#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the failure that is meant")]

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    api::{FieldError, FitAnswer, Problem},
    ledger::{Decision, Dimension, Shortfall},
    people::Actor,
};
use frontend::{Answer, Assets, FormState, PAGES, PageContext, Theme, render, render_problem, sample};

const NONCE: &str = "c2FtcGxl";
const CSRF: &str = "the-token";
const KEY: &str = "the-key";

fn context(actor: Option<Actor>, url: &str) -> PageContext {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let query: BTreeMap<_, _> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    PageContext {
        backend: Arc::new(sample::Sample),
        actor,
        path: path.to_owned(),
        query,
        nonce: NONCE.to_owned(),
        csrf: CSRF.to_owned(),
        key: KEY.to_owned(),
        flash: None,
        theme: Theme::System,
        form: FormState::default(),
        now: sample::now(),
        assets: Assets::default(),
        request_id: "the-request".to_owned(),
    }
}

async fn html(context: PageContext) -> (u16, String) {
    match render(context).await {
        Answer::Html { status, body } => (status, body),
        Answer::SignIn { location } => panic!("wants a sign-in at {location}"),
    }
}

async fn get(actor: Actor, url: &str) -> (u16, String) {
    html(context(Some(actor), url)).await
}

/// Each page of the list with sample values, and the ways that its query can turn it.
fn urls() -> Vec<String> {
    let mut urls: Vec<String> = PAGES
        .iter()
        .map(|page| {
            let id = if page.path.contains("grants") {
                sample::enforced_grant().to_string()
            } else {
                sample::waiting_request().to_string()
            };
            page.path.replace("{team}", "vision").replace("{id}", &id)
        })
        .collect();
    urls.extend([
        "/setup?token=abc".to_owned(),
        format!("/teams/vision/requests/{}", sample::denied_request()),
        format!("/teams/vision/grants/{}", sample::blocked_grant()),
        format!("/teams/vision/requests/new?extend={}", sample::enforced_grant()),
        format!("/teams/vision/requests/new?change={}", sample::enforced_grant()),
        "/teams/vision/requests/new?offering=l40s-shared".to_owned(),
        "/teams/vision/requests?state=denied&cursor=x".to_owned(),
        "/admin?teams=all".to_owned(),
        "/admin/fleet?cluster=north&cursor=x".to_owned(),
        "/admin/audit?action=request.".to_owned(),
        "/no/such/page".to_owned(),
    ]);
    urls
}

/// All start tags of an element, with their attributes.
fn tags<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let open = format!("<{name}");
    html.match_indices(&open)
        .map(|(at, _)| &html[at..])
        .filter(|rest| rest[open.len()..].starts_with([' ', '>']))
        .map(|rest| &rest[..=rest.find('>').unwrap()])
        .collect()
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    Some(&rest[..rest.find('"')?])
}

fn check_document(url: &str, html: &str) {
    assert!(html.starts_with("<!DOCTYPE html><html lang=\"en\""), "{url}");
    assert_eq!(tags(html, "h1").len(), 1, "{url}: one h1");
    assert_eq!(tags(html, "main").len(), 1, "{url}: one main");
    assert!(!html.contains(" style=") && tags(html, "style").is_empty(), "{url}: inline style");
    for script in tags(html, "script") {
        assert_eq!(attribute(script, "nonce"), Some(NONCE), "{url}: {script}");
    }
    assert!(!html.contains(" onclick=") && !html.contains("javascript:"), "{url}: inline handler");
    check_forms(url, html);
    check_ids(url, html);
}

fn check_forms(url: &str, html: &str) {
    for (at, _) in html.match_indices("<form ") {
        let form = &html[at..at + html[at..].find("</form>").unwrap()];
        assert!(!form[1..].contains("<form "), "{url}: a form within a form");
        if attribute(form, "method") == Some("post") {
            assert!(
                form.contains(&format!("name=\"csrf\" value=\"{CSRF}\"")),
                "{url}: a form without its token: {form}"
            );
            let action = attribute(form, "action").unwrap();
            assert!(action.starts_with('/'), "{url}");
            let makes = ["/requests/new", "/comment", "/give-back"].iter().any(|end| action.ends_with(end));
            let key = form.contains(&format!("name=\"key\" value=\"{KEY}\""));
            assert_eq!(key, makes, "{url}: {action} makes something: {makes}, carries a key: {key}");
        }
    }
}

/// Ids are there once, and whatever points to an id points to one that is there.
fn check_ids(url: &str, html: &str) {
    let mut ids: Vec<_> = html
        .match_indices(" id=\"")
        .map(|(at, s)| &html[at + s.len()..])
        .map(|r| &r[..r.find('"').unwrap()])
        .collect();
    ids.sort_unstable();
    let all = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), all, "{url}: an id is there twice");
    for attribute in [" for=\"", " aria-describedby=\""] {
        for (at, found) in html.match_indices(attribute) {
            let rest = &html[at + found.len()..];
            for id in rest[..rest.find('"').unwrap()].split(' ') {
                assert!(ids.binary_search(&id).is_ok(), "{url}:{attribute}{id} leads nowhere");
            }
        }
    }
}

#[tokio::test]
async fn every_page_for_everyone_is_a_sound_document() {
    for url in urls() {
        for actor in [sample::admin(), sample::lead(), sample::viewer(), sample::stranger()] {
            let (_, html) = get(actor, &url).await;
            check_document(&url, &html);
        }
    }
    for url in ["/sign-in", "/sign-in?next=/inbox", "/setup", "/setup?token=abc", "/no/such/page"] {
        let (_, html) = html(context(None, url)).await;
        check_document(url, &html);
    }
}

#[tokio::test]
async fn a_page_that_needs_an_account_leads_to_sign_in_and_back() {
    let answer = render(context(None, "/teams/vision")).await;
    assert_eq!(answer, Answer::SignIn { location: "/sign-in?next=%2Fteams%2Fvision".to_owned() });
}

#[tokio::test]
async fn what_one_may_not_see_is_not_found_and_what_one_may_not_do_is_forbidden() {
    for (actor, url, want) in [
        (sample::stranger(), "/teams/vision", 404),
        (sample::lead(), "/admin", 404),
        (sample::lead(), "/inbox", 404),
        (sample::viewer(), "/teams/vision/requests/new", 403),
        (sample::viewer(), "/teams/vision", 200),
        (sample::admin(), "/teams/vision", 200),
        (sample::admin(), "/teams/nothing", 404),
    ] {
        let (status, html) = get(actor, url).await;
        assert_eq!(status, want, "{url}");
        assert!(
            want == 200 || html.contains("the-request"),
            "{url}: a problem carries the id of the request"
        );
    }
}

#[tokio::test]
async fn the_team_page_opens_with_its_numbers_and_draws_them() {
    let (_, html) = get(sample::lead(), "/teams/vision").await;
    assert!(html.contains("The team holds 12 × H100, 7 × A100 1g.10gb and 4 × L40S shared."));
    assert!(html.contains("Free to use now: 4 × H100 and 4 × L40S shared."));
    assert!(html.contains("12 × H100 granted: 6 running, 2 pending, 4 free to use"));
    assert!(html.contains("2 × A100 1g.10gb run above the grant"));
    assert!(html.contains("0x8001"));
}

#[tokio::test]
async fn the_inbox_says_what_each_decision_does_to_the_pool() {
    let (_, html) = get(sample::admin(), "/inbox").await;
    assert!(html.contains("After this: 3 of 32 H100 left"));
    assert!(html.contains("Approve 4 × H100"));
    assert!(html.contains("16 asked, 7 free of 32"));
    assert!(html.contains("You wrote this request; another approver decides it."));
    let approve = html.matches("/approve\"").count();
    assert!(html.contains("You have approved it; another person must too."));
    assert_eq!(approve, 1, "nobody is offered to approve their own request, or one request twice");
}

#[tokio::test]
async fn the_dashboard_shows_every_part_of_the_sum() {
    let (_, html) = get(sample::admin(), "/admin").await;
    for part in [
        "14 running",
        "2 pending",
        "8 granted, not used",
        "1 outside team namespaces",
        "7 free",
        "32 × H100 in all",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(html.contains("5 beyond what there is"));
}

#[tokio::test]
async fn a_refused_form_keeps_its_values_and_says_why_at_the_field() {
    let path = "/teams/vision/requests/new";
    let mut page = context(Some(sample::lead()), path);
    page.form = FormState {
        action: path.to_owned(),
        values: [("kind", "new"), ("offering", "a100-1g"), ("per_node", "9"), ("purpose", "For <b>this</b>")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        problem: Some(Problem {
            kind: "/problems/validation".to_owned(),
            title: "The request cannot be sent".to_owned(),
            status: 422,
            detail: "One field needs another value.".to_owned(),
            instance: None,
            fields: vec![FieldError::new("ask.shape.per_node", "ask for at most 8")],
            shortfalls: vec![],
        }),
        fit: None,
    };
    let (status, html) = html(page).await;
    check_document(path, &html);
    assert_eq!(status, 422);
    let field = tags(&html, "input").into_iter().find(|i| attribute(i, "name") == Some("per_node")).unwrap();
    assert_eq!(attribute(field, "value"), Some("9"));
    assert_eq!(attribute(field, "aria-invalid"), Some("true"));
    let described = attribute(field, "aria-describedby").unwrap();
    assert!(described.contains("per_node-error"), "{described}");
    let summary = tags(&html, "div").into_iter().find(|d| attribute(d, "role") == Some("alert")).unwrap();
    assert!(summary.contains("autofocus") && summary.contains("tabindex=\"-1\""), "{summary}");
    assert!(html.contains("For &lt;b>this&lt;/b>"), "entered text is escaped");
    let chosen = tags(&html, "input").into_iter().find(|i| attribute(i, "value") == Some("a100-1g")).unwrap();
    assert!(chosen.contains(" checked"), "{chosen}");
}

#[tokio::test]
async fn check_without_scripts_shows_the_answer_in_the_page() {
    let path = "/teams/vision/requests/new";
    let mut page = context(Some(sample::lead()), path);
    page.form = FormState {
        action: path.to_owned(),
        values: [("offering".to_owned(), "h100".to_owned())].into(),
        problem: None,
        fit: Some(sample::fit_answer()),
    };
    let (status, html) = html(page).await;
    assert_eq!(status, 200);
    check_document(path, &html);
    assert!(html.contains("It fits.") && html.contains("3 × H100 stay free after it."));
    let island = tags(&html, "leptos-island").into_iter().find(|i| i.contains("FitCheck")).unwrap();
    assert!(island.contains("/api/v1/teams/vision/fit"), "{island}");
}

/// The request form after an act that found these reasons against it, as problem and as answer of a check.
async fn short_form(shortfalls: Vec<Shortfall>) -> [String; 2] {
    let path = "/teams/vision/requests/new";
    let mut page = context(Some(sample::lead()), path);
    page.form = FormState {
        action: path.to_owned(),
        values: [("offering", "h100"), ("partition", "yes")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..FormState::default()
    };
    let mut checked = page.clone();
    let decision = Decision::Short { shortfalls: shortfalls.clone() };
    checked.form.fit = Some(FitAnswer { decision, ..sample::fit_answer() });
    page.form.problem = Some(Problem {
        kind: "/problems/short".to_owned(),
        title: "It does not fit".to_owned(),
        status: 409,
        detail: shortfalls.iter().map(|s| s.detail.as_str()).collect::<Vec<_>>().join("; "),
        instance: None,
        fields: vec![],
        shortfalls,
    });
    let (sent, checked) = (html(page).await.1, html(checked).await.1);
    check_document(path, &sent);
    check_document(path, &checked);
    [sent, checked]
}

#[tokio::test]
async fn a_limit_of_one_field_stands_at_the_field_too() {
    let short = |dimension, detail: &str| Shortfall {
        dimension,
        limit: 90,
        used: 0,
        requested: 120,
        shortfall: 30,
        detail: detail.to_owned(),
    };
    let reasons = vec![
        short(Dimension::Lease, "a lease of 120 days asked, 90 are allowed"),
        short(Dimension::Partition, "all 4 partitions of cluster north belong to teams"),
    ];
    for html in short_form(reasons).await {
        for (name, words) in [
            ("until", "A lease of 120 days asked, 90 are allowed."),
            ("partition", "All 4 partitions of cluster north belong to teams."),
        ] {
            let inputs = tags(&html, "input");
            let field = inputs.into_iter().find(|i| attribute(i, "name") == Some(name)).unwrap();
            assert_eq!(attribute(field, "aria-invalid"), Some("true"), "{field}");
            let id = format!("{}-error", attribute(field, "id").unwrap());
            assert!(attribute(field, "aria-describedby").unwrap().contains(&id), "{field}");
            let error = &html[html.find(&format!("id=\"{id}\"")).unwrap()..];
            assert!(error[..error.find("</p>").unwrap()].contains(words), "{words}");
        }
        assert!(html.contains("Lease: a lease of 120 days asked"), "the whole answer stays");
    }
}

#[tokio::test]
async fn the_request_form_says_what_each_offering_allows_and_whether_it_fits_before_it_is_sent() {
    let (_, html) = get(sample::lead(), "/teams/vision/requests/new").await;
    assert!(html.contains("Possible for H100 and H200 lab."));
    assert!(
        html.contains("At most 30 days for A100 1g.10gb and L40S shared; 90 days for H100 and H200 lab."),
        "{html}"
    );
    let at = |text: &str| html.find(text).unwrap();
    assert!(at("What for") < at("Does it fit?") && at("Does it fit?") < at("Send the request"));
}

#[tokio::test]
async fn the_theme_of_the_cookie_is_in_the_first_byte() {
    let mut page = context(None, "/sign-in");
    page.theme = Theme::Dark;
    let (_, html) = html(page).await;
    assert!(html.starts_with("<!DOCTYPE html><html lang=\"en\" data-theme=\"dark\">"), "{}", &html[..80]);
}

#[tokio::test]
async fn where_use_is_not_observed_no_page_pretends_to_know_it() {
    let (_, team) = get(sample::admin(), "/teams/robotics").await;
    assert!(team.contains("The team holds 4 × H100 and 4 × H200 lab."));
    assert!(team.contains("Free to use now: 4 × H100. Use of H200 lab is not observed."), "{team}");
    assert!(team.contains("4 × H200 lab granted: 4 granted"));

    let (_, home) = get(sample::admin(), "/").await;
    assert!(home.contains("4 granted; use is not observed") && home.contains("0 of 4 in use"));

    let (_, dashboard) = get(sample::admin(), "/admin").await;
    assert!(
        dashboard.contains("16 × H200 lab in all: 4 granted, 12 free"),
        "granted and free are the capacity"
    );
    assert!(dashboard.contains("the use of 4 is not observed"));
    assert!(dashboard.contains("0, and 4 not observed"), "the team's row");

    let (_, catalogue) = get(sample::admin(), "/catalogue").await;
    assert!(catalogue.contains("16 × H200 lab in all: 4 granted, 12 free"));

    let (_, fleet) = get(sample::admin(), "/admin/fleet?cluster=lab").await;
    let nodes = &fleet[fleet.find("Nodes of Laboratory").unwrap()..];
    assert!(nodes.contains("not observed") && nodes.contains("8 nvidia.com/gpu"));
    assert!(!nodes.contains("in use") && !nodes.contains(">ready<"), "{nodes}");
    assert!(fleet.contains("written to git"));
}

#[tokio::test]
async fn fabric_resources_of_a_node_are_one_line() {
    let (_, fleet) = get(sample::admin(), "/admin/fleet?cluster=north").await;
    assert!(fleet.contains("Fabric: 0 of 16 virtual functions in use, in 2 partition slots"));
    assert!(!fleet.contains("nvidia.com/sriov8001"));
}

#[tokio::test]
async fn a_problem_is_told_in_a_sentence_and_once() {
    let page = context(Some(sample::lead()), "/teams/team-0007");
    let problem = Problem {
        kind: "/problems/not-found".to_owned(),
        title: "Not found".to_owned(),
        status: 404,
        detail: "team team-0007 does not exist, or you may not see it".to_owned(),
        instance: None,
        fields: vec![],
        shortfalls: vec![],
    };
    let Answer::Html { status, body } = render_problem(page, problem).await else { panic!("no page") };
    assert_eq!(status, 404);
    assert!(body.contains(">“team-0007” does not exist, or you may not see it.<"), "{body}");

    let reason = Shortfall {
        dimension: Dimension::Capacity,
        limit: 16,
        used: 0,
        requested: 24,
        shortfall: 8,
        detail: "24 asked, 16 free of 16".to_owned(),
    };
    let [sent, _] = short_form(vec![reason]).await;
    let alert = &sent[sent.find("role=\"alert\"").unwrap()..];
    let alert = &alert[..alert.find("</ul>").unwrap()];
    assert_eq!(alert.matches("24 asked").count(), 1, "{alert}");
}

#[tokio::test]
async fn lists_call_teams_by_their_names_with_the_keys_beside() {
    let (_, inbox) = get(sample::admin(), "/inbox").await;
    assert!(inbox.contains("Atlas vision (vision) · Vision lead"));
    for url in ["/admin", "/admin/audit"] {
        let (_, html) = get(sample::admin(), url).await;
        let name = &html[..html.find(">Atlas vision</a>").unwrap_or_else(|| panic!("{url}: {html}"))];
        let link = &name[name.rfind("<a ").unwrap()..];
        assert_eq!(attribute(&format!("{link}>"), "href"), Some("/teams/vision"), "{url}");
        assert!(html.contains("<code>vision</code>"), "{url}");
    }
    let (_, home) = get(sample::lead(), "/").await;
    assert!(home.contains("Atlas vision</span>") && home.contains("<code>vision</code>"));
}
