//! Many at once on one pool: nothing over-granted, balances equal to what the events say, every answer explained.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use app::{App, Ctx};
use domain::people::PlatformRole;
use futures::future::join_all;
use http::StatusCode;
use kit::postgres::Postgres;
use serde_json::{Value, json};
use store::Store;
use tempfile::TempDir;

use super::portal::{
    Client, PASSWORD, Portal, Reply, app_over, fleet, make_team, person, request, router_over,
};

const CLIENTS: usize = 200;
const TEAMS: usize = 10;
const APPROVERS: usize = 4;
const GPUS: u32 = 16;

fn id_of(reply: &Reply) -> String {
    reply.json()["request"]["id"].as_str().unwrap_or_else(|| panic!("{}", reply.text())).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_05_two_approvals_at_the_same_moment() {
    let portal = Portal::with_fleet().await;
    let (app, admin) = (&portal.app, &portal.admin);
    for login in ["y", "z"] {
        person(app, admin, login, vec![PlatformRole::Approver]).await;
    }
    for (login, team) in [("a", "a"), ("b", "b"), ("c", "c")] {
        person(app, admin, login, vec![]).await;
        make_team(app, admin, team).await;
        let role = serde_json::from_value(json!("member")).unwrap();
        app.set_member(admin, &team.parse().unwrap(), login, role).await.unwrap();
    }
    let mut people = vec![];
    for login in ["approver", "y", "z", "admin", "a", "b", "c"] {
        people.push(portal.sign_in(login).await);
    }
    let [x, y, z, admin, a, b, c] = people.as_mut_slice() else { panic!() };
    let ask = async |who: &mut Client, team: &str, gpus| {
        let made = who.post(&format!("/api/v1/teams/{team}/requests"), request(1, gpus)).await;
        format!("/api/v1/teams/{team}/requests/{}", id_of(&made))
    };
    let standing = ask(c, "c", 4).await;
    assert_eq!(x.post(&format!("{standing}/approve"), json!({})).await.status, StatusCode::OK);

    for round in 0..200 {
        let (r1, r2) = (ask(a, "a", 3).await, ask(b, "b", 3).await);
        let say = |who: &Client, path: String, body: Value| {
            let mut who = who.clone();
            tokio::spawn(async move { who.post(&path, body).await })
        };
        let calls = [
            say(x, format!("{r1}/approve"), json!({})),
            say(y, format!("{r2}/approve"), json!({})),
            say(x, format!("{r1}/approve"), json!({})),
            say(z, format!("{r1}/deny"), json!({"text": "another time"})),
        ];
        let replies: Vec<Reply> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
        let [first, second, double, deny] = replies.as_slice() else { panic!() };
        let ok = |reply: &Reply| reply.status == StatusCode::OK;
        for reply in replies.iter().filter(|reply| !ok(reply)) {
            let problem = reply.problem();
            assert_eq!(problem.status, 409, "round {round}: {problem:?}");
            let told = problem.detail.contains("3 asked, 1 free") || problem.detail.contains("already");
            assert!(told, "round {round}: {problem:?}");
        }
        let r1_approved = ok(first) || ok(double);
        assert_eq!(u8::from(r1_approved) + u8::from(ok(second)), 1, "round {round}: exactly one");
        assert!(!(r1_approved && ok(deny)), "round {round}: approved and denied");
        if r1_approved {
            assert!(ok(first) && ok(double), "round {round}: the double click gets the same answer");
            assert_eq!(first.json()["request"], double.json()["request"]);
        }
        let line = admin.get("/api/v1/dashboard").await.json()["lines"][0]["line"].clone();
        let granted: u64 =
            line["holdings"].as_object().unwrap().values().map(|h| h["granted"].as_u64().unwrap()).sum();
        assert_eq!(granted, 7, "round {round}: {line}");

        let (won, team) = if r1_approved { (&r1, "a") } else { (&r2, "b") };
        let grant = admin.get(won).await.json()["request"]["grant"].as_str().unwrap().to_owned();
        let back = admin.post(&format!("/api/v1/teams/{team}/grants/{grant}/give-back"), json!({})).await;
        assert_eq!(back.status, StatusCode::OK, "{}", back.text());
    }
    assert_true_books(&portal.app, 8).await;
}

/// Nine of ten are used: a check of "is it full already?" would let the tenth ask for ten.
#[tokio::test]
async fn case_05_the_amount_counts_not_only_whether_it_is_full() {
    let portal = Portal::with_fleet().await;
    let declared = serde_json::from_value(json!({"declared": 10})).unwrap();
    portal.app.change_offering(&portal.admin, &"h100".parse().unwrap(), declared, None).await.unwrap();
    let mut member = portal.sign_in("member").await;
    let mut approver = portal.sign_in("approver").await;
    let path = "/api/v1/teams/vision/requests";
    let nine = id_of(&member.post(path, request(1, 9)).await);
    let ten = id_of(&member.post(path, request(1, 10)).await);
    assert_eq!(approver.post(&format!("{path}/{nine}/approve"), json!({})).await.status, StatusCode::OK);
    let problem = approver.post(&format!("{path}/{ten}/approve"), json!({})).await.problem();
    let short = &problem.shortfalls[0];
    assert_eq!((short.limit, short.used, short.requested, short.shortfall), (10, 9, 10, 9), "{problem:?}");
    assert_true_books(&portal.app, 10).await;
}

/// A server on a port of its own.
async fn serve(app: App) -> String {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router_over(app)).await });
    format!("http://{address}")
}

/// Somebody on the network.
#[derive(Clone)]
struct Remote {
    http: reqwest::Client,
    cookie: String,
    csrf: String,
}

impl Remote {
    async fn sign_in(http: &reqwest::Client, base: &str, login: &str) -> Self {
        let body = json!({"login": login, "password": PASSWORD});
        let reply = http.post(format!("{base}/api/v1/session")).json(&body).send().await.unwrap();
        assert_eq!(reply.status(), 200, "{login}");
        let cookie = reply.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let me: Value = reply.json().await.unwrap();
        Self { http: http.clone(), cookie, csrf: me["csrf"].as_str().unwrap().to_owned() }
    }

    /// The status and the body; a refusal must be explained, and nothing may fail.
    async fn post(&self, url: &str, body: Value) -> (u16, Value) {
        let call = self.http.post(url).header("cookie", &self.cookie).header("x-csrf-token", &self.csrf);
        let reply = call.json(&body).send().await.unwrap();
        let status = reply.status().as_u16();
        let kind = reply.headers()["content-type"].to_str().unwrap().to_owned();
        let body: Value = reply.json().await.unwrap();
        let explained =
            kind == "application/problem+json" && body["detail"].as_str().is_some_and(|d| !d.is_empty());
        assert!(
            (200..300).contains(&status) || ((400..500).contains(&status) && explained),
            "{url}: {status} {body}"
        );
        (status, body)
    }
}

/// What one of the two hundred does: asks, approves, and then changes, gives back, or leaves it.
struct Turn {
    number: usize,
    /// Two of them may be different servers.
    ask_at: String,
    decide_at: String,
    member: Remote,
    approver: Remote,
    admin: Remote,
}

impl Turn {
    /// Grants that were made.
    async fn run(self) -> u32 {
        let team = format!("/api/v1/teams/t{}", self.number % TEAMS);
        let gpus = u32::try_from(self.number % 4).unwrap() + 1;
        let (ask_at, decide_at) = (format!("{}{team}", self.ask_at), format!("{}{team}", self.decide_at));
        let (status, made) = self.member.post(&format!("{ask_at}/requests"), request(1, gpus)).await;
        assert_eq!(status, 201, "{made}");
        let id = made["request"]["id"].as_str().unwrap();
        let (status, done) =
            self.approver.post(&format!("{decide_at}/requests/{id}/approve"), json!({})).await;
        if status != 200 {
            let (status, _) =
                self.approver.post(&format!("{decide_at}/requests/{id}/deny"), json!({"text": "full"})).await;
            assert_eq!(status, 200);
            return 0;
        }
        let grant = done["request"]["grant"].as_str().unwrap();
        let give_back = format!("{ask_at}/grants/{grant}/give-back");
        match self.number % 3 {
            0 => {
                assert_eq!(self.admin.post(&give_back, json!({})).await.0, 200);
            }
            1 => {
                let change = json!({"ask": {"kind": "change", "grant": grant, "shape": {"nodes": 1, "per_node": gpus + 1}}, "purpose": "more"});
                let (status, more) = self.member.post(&format!("{ask_at}/requests"), change).await;
                assert_eq!(status, 201, "{more}");
                let id = more["request"]["id"].as_str().unwrap();
                // Two approvers at once, on both servers, while the grant is being given back.
                let (there, here) =
                    (format!("{decide_at}/requests/{id}/approve"), format!("{ask_at}/requests/{id}/approve"));
                let (_, _, back) = tokio::join!(
                    self.approver.post(&there, json!({})),
                    self.admin.post(&here, json!({})),
                    self.admin.post(&give_back, json!({})),
                );
                assert!(matches!(back.0, 200 | 409), "{}", back.1);
            }
            _ => {}
        }
        1
    }
}

/// Granted never passes the capacity, balances are what events say, and grants add up to them.
async fn assert_true_books(app: &App, capacity: u32) {
    let mut conn = app.store().read().await.unwrap();
    assert_eq!(store::ledger::differences(&mut conn).await.unwrap(), vec![]);
    let offering = "h100".parse().unwrap();
    let line = store::ledger::line(&mut conn, &offering).await.unwrap().unwrap();
    assert!(line.granted() <= capacity, "{line:?}");
    let rebuilt = store::ledger::rebuilt(&mut conn, &offering).await.unwrap();
    let sum: i64 = rebuilt.values().map(|(granted, _)| i64::from(*granted)).sum();
    assert_eq!(sum, i64::from(line.granted()));
    let grants = store::grants::of_offering(&mut conn, &offering).await.unwrap();
    assert_eq!(grants.iter().map(domain::grant::Grant::amount).sum::<u32>(), line.granted());
}

async fn set_up(app: &App) -> Ctx {
    let token = app.first_start_token().await.unwrap().unwrap();
    let actor = app.finish_setup(&token, "admin", "Admin", PASSWORD).await.unwrap();
    let admin = Ctx { actor };
    fleet(app, &admin, GPUS).await;
    for n in 0..APPROVERS {
        person(app, &admin, &format!("a{n}"), vec![PlatformRole::Approver]).await;
    }
    for n in 0..TEAMS {
        let (team, login) = (format!("t{n}"), format!("p{n}"));
        make_team(app, &admin, &team).await;
        person(app, &admin, &login, vec![]).await;
        let role = serde_json::from_value(json!("member")).unwrap();
        app.set_member(&admin, &team.parse().unwrap(), &login, role).await.unwrap();
    }
    admin
}

/// Looks at the ledger all the time; gives the number of looks.
async fn watch(app: App, admin: Ctx, stop: Arc<AtomicBool>) -> u32 {
    let mut looks = 0;
    while !stop.load(Ordering::SeqCst) {
        let dashboard = app.dashboard(&admin).await.unwrap();
        let line = &dashboard.lines[0].line;
        assert!(line.granted() <= GPUS, "over-granted: {line:?}");
        looks += 1;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    looks
}

async fn race(apps: &[App]) {
    let admin = set_up(&apps[0]).await;
    let mut bases = vec![];
    for app in apps {
        bases.push(serve(app.clone()).await);
    }
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut members = vec![];
    for n in 0..TEAMS {
        members.push(Remote::sign_in(&http, &bases[0], &format!("p{n}")).await);
    }
    let mut approvers = vec![];
    for n in 0..APPROVERS {
        approvers.push(Remote::sign_in(&http, &bases[0], &format!("a{n}")).await);
    }
    let chief = Remote::sign_in(&http, &bases[0], "admin").await;
    let stop = Arc::new(AtomicBool::new(false));
    let watcher = tokio::spawn(watch(apps[0].clone(), admin, stop.clone()));
    let turns = (0..CLIENTS).map(|number| {
        let turn = Turn {
            number,
            ask_at: bases[number % bases.len()].clone(),
            decide_at: bases[(number + 1) % bases.len()].clone(),
            member: members[number % TEAMS].clone(),
            approver: approvers[number % APPROVERS].clone(),
            admin: chief.clone(),
        };
        tokio::spawn(turn.run())
    });
    let granted: u32 = join_all(turns).await.into_iter().map(Result::unwrap).sum();
    stop.store(true, Ordering::SeqCst);
    assert!(watcher.await.unwrap() > 1, "nobody looked");
    assert!(granted > 4, "the pool was used: {granted}");
    assert_true_books(&apps[0], GPUS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_clients_on_sqlite() {
    let folder: TempDir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?mode=rwc", folder.path().join("t.db").display());
    let (app, _) = app_over(Store::open(&url).await.unwrap(), &folder).await;
    race(&[app]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_clients_on_postgres_with_two_servers() {
    let folder: TempDir = tempfile::tempdir().unwrap();
    let url = Postgres::shared().await.unwrap().database().unwrap();
    let (one, _) = app_over(Store::open(&url).await.unwrap(), &folder).await;
    let (two, _) = app_over(Store::open(&url).await.unwrap(), &folder).await;
    race(&[one, two]).await;
}
