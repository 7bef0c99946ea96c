//! Every kind of bad input: a problem document that names the field and the numbers, and nothing changed.

use axum::body::Body;
use domain::api::Problem;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::portal::{Client, Portal, Reply, ask, offering, request};

const REQUESTS: &str = "/api/v1/teams/vision/requests";

/// The reply is a refusal of this kind that names this field.
fn refused(reply: &Reply, status: u16, field: &str) -> Problem {
    let problem = reply.problem();
    assert_eq!(problem.status, status, "{problem:?}");
    assert!(problem.fields.iter().any(|f| f.field == field), "{field} is not named: {problem:?}");
    problem
}

async fn with_nodes(portal: &Portal) {
    let node = |n: u32| json!({"name": format!("n{n}"), "labels": {"gpuaas.io/pool": "h100"}, "allocatable": {"nvidia.com/gpu": 4}});
    let nodes = json!({"nodes": [node(1), node(2)]});
    portal
        .app
        .import_nodes(&portal.admin, &"c".parse().unwrap(), serde_json::from_value(nodes).unwrap())
        .await
        .unwrap();
}

#[tokio::test]
async fn case_07_bad_amounts() {
    let portal = Portal::with_fleet().await;
    let mut member = portal.sign_in("member").await;
    let before = portal.state().await;
    for bad in
        [json!(-1), json!(2.5), json!("500m"), json!(""), json!(1e30), json!("２"), json!(null), json!(0)]
    {
        let mut body = request(1, 1);
        body["ask"]["shape"]["per_node"] = bad.clone();
        let problem = refused(&member.post(REQUESTS, body).await, 422, "ask.shape.per_node");
        assert!(!problem.fields[0].message.is_empty(), "{bad}");
        let mut asked = ask(1, 1);
        asked["shape"]["nodes"] = bad;
        refused(&member.post("/api/v1/teams/vision/fit", asked).await, 422, "shape.nodes");
    }
    assert_eq!(portal.state().await, before);
}

#[tokio::test]
async fn case_07_bad_amounts_in_the_form() {
    let portal = Portal::with_fleet().await;
    let mut member = portal.sign_in("member").await;
    let before = portal.state().await;
    let page = "/teams/vision/requests/new";
    for bad in ["-1", "2.5", "500m", "", "1e30", "２", "0"] {
        let fields = [
            ("do", "submit"),
            ("kind", "new"),
            ("offering", "h100"),
            ("nodes", "1"),
            ("per_node", bad),
            ("until", "2027-03-01"),
            ("purpose", "a purpose of mine"),
        ];
        let reply = member.form(page, page, &fields).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{bad}");
        assert!(reply.text().contains("a purpose of mine"), "what was entered stands there again");
    }
    assert_eq!(portal.state().await, before);
}

#[tokio::test]
async fn over_capacity_is_refused_with_the_numbers() {
    let portal = Portal::with_fleet().await;
    let mut member = portal.sign_in("member").await;
    let mut approver = portal.sign_in("approver").await;
    let made = member.post(REQUESTS, request(1, 6)).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    let approve =
        |reply: &Reply| format!("{REQUESTS}/{}/approve", reply.json()["request"]["id"].as_str().unwrap());
    let late = member.post(REQUESTS, request(1, 3)).await;
    assert_eq!(late.status, StatusCode::CREATED, "it may become possible: {}", late.text());
    let done = approver.post(&approve(&made), json!({})).await;
    assert_eq!(done.status, StatusCode::OK, "{}", done.text());

    let before = portal.state().await;
    let problem = approver.post(&approve(&late), json!({})).await.problem();
    assert_eq!(problem.status, 409);
    let [short] = problem.shortfalls.as_slice() else { panic!("{problem:?}") };
    assert_eq!((short.limit, short.used, short.requested, short.shortfall), (8, 6, 3, 1));
    assert!(problem.detail.contains("3 asked, 2 free of 8"), "{}", problem.detail);

    let never = member.post(REQUESTS, request(1, 9)).await.problem();
    assert_eq!(never.status, 409, "{never:?}");
    assert_eq!((never.shortfalls[0].limit, never.shortfalls[0].requested), (8, 9), "{never:?}");
    assert_eq!(portal.state().await, before);
}

#[tokio::test]
async fn a_shape_that_no_node_can_give() {
    let portal = Portal::with_fleet().await;
    with_nodes(&portal).await;
    let mut member = portal.sign_in("member").await;
    let before = portal.state().await;
    let problem = member.post(REQUESTS, request(1, 8)).await.problem();
    assert_eq!(problem.status, 409, "{problem:?}");
    let short = &problem.shortfalls[0];
    assert_eq!((short.limit, short.requested, short.shortfall), (4, 8, 4), "{problem:?}");
    assert!(short.detail.contains("at most 4"), "{problem:?}");
    let fit = member.post("/api/v1/teams/vision/fit", ask(1, 8)).await;
    assert_eq!(fit.status, StatusCode::OK);
    assert_eq!(fit.json()["decision"]["decision"], "short");
    assert_eq!(portal.state().await, before);
}

#[tokio::test]
async fn unknown_things_and_bad_names() {
    let portal = Portal::with_fleet().await;
    let mut admin = portal.sign_in("admin").await;
    let mut member = portal.sign_in("member").await;
    let before = portal.state().await;
    let mut unknown = request(1, 1);
    unknown["ask"]["offering"] = json!("nothing");
    refused(&member.post(REQUESTS, unknown).await, 422, "ask.offering");
    let mut past = request(1, 1);
    past["ask"]["until"] = json!("2020-01-01");
    assert!((400..500).contains(&member.post(REQUESTS, past).await.problem().status));
    let mut empty = request(1, 1);
    empty["purpose"] = json!(" ");
    refused(&member.post(REQUESTS, empty).await, 422, "purpose");

    for bad in ["nvidia.com/", "requests.nvidia.com/gpu", "cpu", "Nvidia.com/gpu"] {
        refused(&admin.post("/api/v1/offerings", offering("x", bad, 1)).await, 422, "resource");
    }
    let mut more = offering("x", "example.com/gpu", 1);
    more["declard"] = json!(4);
    refused(&admin.post("/api/v1/offerings", more).await, 422, "declard");
    for bad in ["", "A", "1a", "a--b", "kube-x", "default", "ä", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"] {
        refused(&admin.post("/api/v1/teams", json!({"name": bad, "display": "x"})).await, 422, "name");
    }
    refused(&admin.post("/api/v1/teams", json!({"name": "iris", "display": " "})).await, 422, "display");
    refused(
        &admin.post("/api/v1/teams", json!({"name": "iris", "display": "I", "owner": "me"})).await,
        422,
        "owner",
    );
    for (query, field) in
        [("limit=0", "limit"), ("limit=201", "limit"), ("cursor=zz", "cursor"), ("size=1", "size")]
    {
        refused(&admin.get(&format!("/api/v1/teams?{query}")).await, 422, field);
    }
    refused(&admin.get("/api/v1/requests?state=maybe").await, 422, "state");
    assert_eq!(portal.state().await, before);
}

#[tokio::test]
async fn bodies_that_are_no_json_or_too_large() {
    let portal = Portal::with_fleet().await;
    let mut admin = portal.sign_in("admin").await;
    let before = portal.state().await;
    let json_type = [("content-type", "application/json")];
    for bad in
        ["", "{", "{\"name\": \"iris\",}", "\u{feff}{}", "{\"name\": \"iris\", \"display\": \"I\"} and more"]
    {
        let reply = admin.send(Method::POST, "/api/v1/teams", &json_type, Body::from(bad)).await;
        let problem = refused(&reply, 400, "body");
        assert!(problem.detail.contains("line 1 column"), "{problem:?}");
    }
    let large = json!({"name": "iris", "display": "x".repeat(2 * 1024 * 1024)}).to_string();
    let reply = admin.send(Method::POST, "/api/v1/teams", &json_type, Body::from(large.clone())).await;
    let problem = refused(&reply, 413, "body");
    assert!(problem.detail.contains("1048576 are allowed"), "{problem:?}");
    let parts =
        large.into_bytes().chunks(64 * 1024).map(|c| Ok::<_, std::io::Error>(c.to_vec())).collect::<Vec<_>>();
    let streamed = Body::from_stream(futures::stream::iter(parts));
    refused(&admin.send(Method::POST, "/api/v1/teams", &json_type, streamed).await, 413, "body");
    let text = [("content-type", "text/plain")];
    refused(&admin.send(Method::POST, "/api/v1/teams", &text, Body::from("{}")).await, 415, "Content-Type");
    assert_eq!(portal.state().await, before);
}

#[tokio::test]
async fn a_foreign_team_does_not_exist() {
    let portal = Portal::with_fleet().await;
    let mut member = portal.sign_in("member").await;
    let before = portal.state().await;
    for path in ["", "/requests", "/grants", "/members", "/namespaces", "/quota", "/manifests"] {
        let foreign = member.get(&format!("/api/v1/teams/language{path}")).await.problem();
        let missing = member.get(&format!("/api/v1/teams/nowhere{path}")).await.problem();
        assert_eq!((foreign.status, missing.status), (404, 404), "{path}");
        assert_eq!(foreign.detail.replace("language", "nowhere"), missing.detail, "the two look the same");
    }
    assert_eq!(member.post("/api/v1/teams/language/requests", request(1, 1)).await.problem().status, 404);
    assert_eq!(portal.state().await, before);

    // A request of one's own team, addressed through another team, is not there either.
    let made = member.post(REQUESTS, request(1, 1)).await;
    let id = made.json()["request"]["id"].as_str().unwrap().to_owned();
    let mut approver = portal.sign_in("approver").await;
    let crossed = approver.post(&format!("/api/v1/teams/language/requests/{id}/approve"), json!({})).await;
    assert_eq!(crossed.problem().status, 404);
}

#[tokio::test]
async fn a_stale_version_is_refused() {
    let portal = Portal::with_fleet().await;
    let mut admin = portal.sign_in("admin").await;
    let tag = admin.get("/api/v1/teams/vision").await.headers["etag"].to_str().unwrap().to_owned();
    let rename = |name: &str| json!({"display": name});
    let path = "/api/v1/teams/vision";
    let weak = format!("W/{tag}");
    let first = admin.json(Method::PATCH, path, &rename("Vision two"), &[("if-match", &weak)]).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.text());
    assert_ne!(first.headers["etag"].to_str().unwrap(), tag);
    let before = portal.state().await;
    let stale = admin.json(Method::PATCH, path, &rename("Vision three"), &[("if-match", &tag)]).await;
    assert_eq!(stale.problem().status, 412);
    let bad = admin.json(Method::PATCH, path, &rename("Vision three"), &[("if-match", "three")]).await;
    refused(&bad, 422, "If-Match");
    assert_eq!(portal.state().await, before);

    let mut member = portal.sign_in("member").await;
    let made = member.post(REQUESTS, request(1, 1)).await;
    let (id, tag) = (
        made.json()["request"]["id"].as_str().unwrap().to_owned(),
        made.headers["etag"].to_str().unwrap().to_owned(),
    );
    assert_eq!(made.location(), format!("{REQUESTS}/{id}"));
    let mut approver = portal.sign_in("approver").await;
    let path = format!("{REQUESTS}/{id}/deny");
    let stale = approver.json(Method::POST, &path, &json!({"text": "no"}), &[("if-match", "\"99\"")]).await;
    assert_eq!(stale.problem().status, 412);
    let denied = approver.json(Method::POST, &path, &json!({"text": "no"}), &[("if-match", &tag)]).await;
    assert_eq!(denied.status, StatusCode::OK, "{}", denied.text());
}

async fn keyed(client: &mut Client, key: &str, body: &Value) -> Reply {
    client.json(Method::POST, REQUESTS, body, &[("idempotency-key", key)]).await
}

#[tokio::test]
async fn a_repeated_key_does_the_work_once() {
    let portal = Portal::with_fleet().await;
    let mut member = portal.sign_in("member").await;
    let first = keyed(&mut member, "k1", &request(1, 2)).await;
    let before = portal.state().await;
    let again = keyed(&mut member, "k1", &request(1, 2)).await;
    assert_eq!((first.status, again.status), (StatusCode::CREATED, StatusCode::CREATED));
    assert_eq!(first.json(), again.json());
    assert_eq!((first.location(), &first.headers["etag"]), (again.location(), &again.headers["etag"]));
    let other = keyed(&mut member, "k1", &request(1, 3)).await;
    assert_eq!(refused(&other, 422, "Idempotency-Key").kind, "/problems/key-reused");
    let endless = "k".repeat(300);
    refused(&keyed(&mut member, &endless, &request(1, 2)).await, 422, "Idempotency-Key");
    assert_eq!(portal.state().await, before);

    // Keys are personal: the same one of another person is another one.
    let mut lead = portal.sign_in("lead").await;
    assert_ne!(
        keyed(&mut lead, "k1", &request(1, 2)).await.json()["request"]["id"],
        first.json()["request"]["id"]
    );
}

#[tokio::test]
async fn nobody_approves_their_own_request() {
    let portal = Portal::with_fleet().await;
    let role = serde_json::from_value(json!("member")).unwrap();
    portal.app.set_member(&portal.admin, &"vision".parse().unwrap(), "approver", role).await.unwrap();
    let mut approver = portal.sign_in("approver").await;
    let made = approver.post(REQUESTS, request(1, 1)).await;
    let id = made.json()["request"]["id"].as_str().unwrap().to_owned();
    let before = portal.state().await;
    let own = approver.post(&format!("{REQUESTS}/{id}/approve"), json!({})).await.problem();
    assert_eq!(own.status, 409);
    assert!(own.detail.contains("yourself"), "{}", own.detail);
    assert_eq!(portal.state().await, before);
}

#[tokio::test]
async fn what_is_not_there_and_what_is_not_answered() {
    let portal = Portal::with_fleet().await;
    let mut admin = portal.sign_in("admin").await;
    assert_eq!(admin.get("/api/v1/nothing").await.problem().status, 404);
    assert_eq!(admin.get("/api/v2/teams").await.problem().status, 404);
    assert_eq!(admin.get("/api/v1/teams/Bad!").await.problem().status, 404);
    assert_eq!(admin.get("/api/v1/teams/vision/requests/x").await.problem().status, 404);
    assert_eq!(admin.json(Method::DELETE, "/api/v1/teams", &json!({}), &[]).await.problem().status, 405);
    assert_eq!(admin.get("/pkg/../Cargo.toml").await.status, StatusCode::NOT_FOUND);
    assert_eq!(admin.get("/pkg/nothing.css").await.problem().status, 404);
}
