//! Requests, grants, partitions, namespaces.

use ::store::{Paging, StoreError, grants, namespaces, partitions, requests};
use domain::{
    api::{Enforcement, ProbeAnswer},
    fabric::Partition,
    grant::GrantState,
    id::{GrantId, RequestId},
    name::ClusterName,
    request::{Comment, RequestState},
};

use super::support::{
    Db, GPU, assert_refused, assert_stale, assert_taken, at, grant, id, main_cluster, namespace,
    offering_name, request, team_name,
};

on_both!(
    request_rows,
    request_lists,
    remarks,
    grant_rows,
    grants_by_date,
    a_resource_of_a_namespace_belongs_to_one_pool,
    one_partition_for_each_team,
    two_teams_want_the_same_slot,
    namespace_rows,
    a_namespace_belongs_to_one_team,
);

async fn request_rows(db: Db) {
    let db = db.with_fleet().await;
    let (vision, language) = (team_name("vision"), team_name("language"));
    let mut tx = db.begin().await.unwrap();
    let first = request(1, "vision", "h100");
    requests::insert(&mut tx, &first).await.unwrap();
    assert_taken(requests::insert(&mut tx, &first).await, "request");
    assert_eq!(requests::find(&mut tx, &vision, id(1)).await.unwrap(), Some(first.clone()));
    assert_eq!(requests::find(&mut tx, &language, id(1)).await.unwrap(), None, "not another team's");
    assert_eq!(requests::find_any(&mut tx, id(1)).await.unwrap(), Some(first.clone()));
    assert_eq!(requests::find_any(&mut tx, id(2)).await.unwrap(), None);

    let mut denied = first.clone();
    denied.state = RequestState::Denied;
    denied.denial = Some("not this month".to_owned());
    denied.decided_at = Some(at(9));
    let second = requests::update(&mut tx, &denied).await.unwrap();
    assert_eq!(second.version, 2);
    assert_eq!(requests::find_any(&mut tx, id(1)).await.unwrap(), Some(second));
    assert_stale(requests::update(&mut tx, &first).await, 1, 2);
    assert_stale(requests::update(&mut tx, &request(5, "vision", "h100")).await, 1, 0);
    assert_refused(requests::insert(&mut tx, &request(6, "nobody", "h100")).await);
}

async fn request_lists(db: Db) {
    let db = db.with_fleet().await;
    let vision = team_name("vision");
    let mut tx = db.begin().await.unwrap();
    for (n, team, offering, state) in [
        (1, "vision", "h100", RequestState::Submitted),
        (2, "language", "h100", RequestState::Submitted),
        (3, "vision", "a100", RequestState::Approved),
        (4, "vision", "h100", RequestState::Submitted),
    ] {
        let mut request = request(n, team, offering);
        request.state = state;
        requests::insert(&mut tx, &request).await.unwrap();
    }
    assert_eq!(requests::count_waiting(&mut tx).await.unwrap(), 3);
    let ids = |page: domain::api::Page<domain::request::Request>| -> Vec<RequestId> {
        page.items.into_iter().map(|r| r.id).collect()
    };
    let paging = Paging::default();
    let waiting = Some(RequestState::Submitted);
    assert_eq!(ids(requests::of_team(&mut tx, &vision, None, &paging).await.unwrap()), [4, 3, 1].map(id));
    assert_eq!(ids(requests::of_team(&mut tx, &vision, waiting, &paging).await.unwrap()), [1, 4].map(id));
    let h100 = offering_name("h100");
    for (state, team, offering, want) in [
        (None, None, None, vec![4, 3, 2, 1]),
        (waiting, None, None, vec![1, 2, 4]),
        (None, None, Some(&h100), vec![4, 2, 1]),
        (waiting, Some(&vision), Some(&h100), vec![1, 4]),
        (Some(RequestState::Withdrawn), None, None, vec![]),
    ] {
        let found = ids(requests::all(&mut tx, state, team, offering, &paging).await.unwrap());
        assert_eq!(found, want.into_iter().map(id).collect::<Vec<_>>());
    }
    // A decision moves a request from one list to the other.
    let mut withdrawn = request(4, "vision", "h100");
    withdrawn.state = RequestState::Withdrawn;
    requests::update(&mut tx, &withdrawn).await.unwrap();
    assert_eq!(requests::count_waiting(&mut tx).await.unwrap(), 2);
    assert_eq!(ids(requests::of_team(&mut tx, &vision, waiting, &paging).await.unwrap()), [1].map(id));
}

async fn remarks(db: Db) {
    let db = db.with_request(1).await;
    let mut tx = db.begin().await.unwrap();
    requests::insert(&mut tx, &request(2, "vision", "h100")).await.unwrap();
    let comment = |n| Comment {
        id: id(n),
        by: id(1),
        by_display: "Person 1".to_owned(),
        at: at(0),
        text: format!("remark {n}\nсо второй строкой"),
    };
    for (of, n) in [(1, 1), (2, 2), (1, 3)] {
        requests::add_comment(&mut tx, id(of), &comment(n)).await.unwrap();
    }
    assert_eq!(requests::comments(&mut tx, id(1)).await.unwrap(), [comment(1), comment(3)]);
    assert_refused(requests::add_comment(&mut tx, id(9), &comment(4)).await);
}

async fn grant_rows(db: Db) {
    let db = db.with_request(1).await;
    let (vision, language) = (team_name("vision"), team_name("language"));
    let mut tx = db.begin().await.unwrap();
    let first = grant(1, "vision", "h100", "vision", 1);
    grants::insert(&mut tx, &first).await.unwrap();
    assert_taken(grants::insert(&mut tx, &first).await, "grant");
    assert_eq!(grants::find(&mut tx, &vision, id(1)).await.unwrap(), Some(first.clone()));
    assert_eq!(grants::find(&mut tx, &language, id(1)).await.unwrap(), None, "not another team's");
    assert_eq!(grants::find_any(&mut tx, id(1)).await.unwrap(), Some(first.clone()));
    assert_eq!(grants::find_any(&mut tx, id(2)).await.unwrap(), None);
    let mut over = first.clone();
    over.state = GrantState::Ended;
    let second = grants::update(&mut tx, &over).await.unwrap();
    assert_eq!(second.version, 2);
    assert_stale(grants::update(&mut tx, &first).await, 1, 2);

    let (third, other) =
        (grant(3, "vision", "h100", "vision", 1), grant(4, "language", "h100", "language", 1));
    for grant in [&third, &other] {
        grants::insert(&mut tx, grant).await.unwrap();
    }
    assert_eq!(grants::of_team(&mut tx, &vision, false).await.unwrap(), std::slice::from_ref(&third));
    assert_eq!(grants::of_team(&mut tx, &vision, true).await.unwrap(), [second, third.clone()]);
    let main = main_cluster();
    assert_eq!(grants::of_namespace(&mut tx, &main, &namespace("vision")).await.unwrap(), [third]);
    assert_eq!(grants::of_namespace(&mut tx, &main, &namespace("language")).await.unwrap(), [other]);

    let mut nothing = grant(5, "vision", "h100", "vision", 1);
    nothing.shape.nodes = 0;
    assert_refused(grants::insert(&mut tx, &nothing).await);
}

async fn grants_by_date(db: Db) {
    let db = db.with_request(1).await;
    let mut tx = db.begin().await.unwrap();
    for (n, ends, state) in [
        (1, 300, GrantState::Applying),
        (2, 100, GrantState::Enforced),
        (3, 200, GrantState::Published),
        (4, 50, GrantState::Reducing),
        (5, 10, GrantState::Ended),
    ] {
        let mut grant = grant(n, "vision", "h100", "vision", 1);
        grant.ends_at = at(ends);
        grant.state = state;
        grants::insert(&mut tx, &grant).await.unwrap();
    }
    let ids =
        |found: Vec<domain::grant::Grant>| -> Vec<GrantId> { found.into_iter().map(|g| g.id).collect() };
    assert_eq!(
        ids(grants::of_offering(&mut tx, &offering_name("h100")).await.unwrap()),
        [4, 2, 3, 1].map(id)
    );
    assert!(grants::of_offering(&mut tx, &offering_name("a100")).await.unwrap().is_empty());
    assert_eq!(ids(grants::due(&mut tx, at(99)).await.unwrap()), []);
    assert_eq!(
        ids(grants::due(&mut tx, at(200)).await.unwrap()),
        [2, 3].map(id),
        "at its time, not after it"
    );
    assert_eq!(ids(grants::ending(&mut tx, at(300), 10).await.unwrap()), [2, 3].map(id));
    assert_eq!(ids(grants::ending(&mut tx, at(301), 2).await.unwrap()), [2, 3].map(id));
    // An extension moves it.
    let mut extended = grants::find_any(&mut tx, id(2)).await.unwrap().unwrap();
    extended.ends_at = at(5000);
    grants::update(&mut tx, &extended).await.unwrap();
    assert_eq!(ids(grants::due(&mut tx, at(200)).await.unwrap()), [3].map(id));
}

async fn a_resource_of_a_namespace_belongs_to_one_pool(db: Db) {
    let db = db.with_request(1).await;
    let (main, vision) = (main_cluster(), team_name("vision"));
    let mut tx = db.begin().await.unwrap();
    let mut first = grant(1, "vision", "h100", "vision", 1);
    grants::insert(&mut tx, &first).await.unwrap();
    grants::insert(&mut tx, &grant(2, "vision", "a100", "vision-a100", 1)).await.unwrap();
    first.state = GrantState::Ended;
    grants::update(&mut tx, &first).await.unwrap();
    let placed = grants::placed(&mut tx, &main, &vision).await.unwrap();
    let seen: Vec<_> =
        placed.iter().map(|p| (p.namespace.as_str(), p.pool.as_str(), p.resource.as_str())).collect();
    assert_eq!(
        seen,
        [("vision", "h100", GPU), ("vision-a100", "a100", GPU)],
        "an ended grant keeps its place"
    );
    assert!(grants::placed(&mut tx, &main, &team_name("language")).await.unwrap().is_empty());
    assert!(grants::placed(&mut tx, &ClusterName::new("edge").unwrap(), &vision).await.unwrap().is_empty());
    tx.commit().await.unwrap();

    for bad in [
        grant(3, "vision", "a100", "vision", 1), // the namespace has the resource from the other pool
        grant(3, "vision", "h100", "elsewhere", 1), // the team has the resource in another namespace
        grant(3, "language", "h100", "vision", 1), // the namespace has the resource for another team
    ] {
        let mut tx = db.begin().await.unwrap();
        assert_refused(grants::insert(&mut tx, &bad).await);
    }
}

async fn one_partition_for_each_team(db: Db) {
    let db = db.with_fleet().await;
    let main = main_cluster();
    let partition = |team: &str, slot| Partition::in_slot(main_cluster(), team_name(team), slot).unwrap();
    let mut tx = db.begin().await.unwrap();
    partitions::insert(&mut tx, &partition("vision", 2)).await.unwrap();
    partitions::insert(&mut tx, &partition("language", 1)).await.unwrap();
    assert_taken(partitions::insert(&mut tx, &partition("vision", 3)).await, "partition");
    assert_taken(partitions::insert(&mut tx, &partition("robotics", 2)).await, "partition");
    assert_eq!(partitions::taken(&mut tx, &main).await.unwrap(), [1, 2]);
    assert_eq!(
        partitions::list(&mut tx, &main).await.unwrap(),
        [partition("language", 1), partition("vision", 2)]
    );
    assert_eq!(partitions::of_team(&mut tx, &team_name("vision")).await.unwrap(), [partition("vision", 2)]);
    assert_eq!(
        partitions::find(&mut tx, &main, &team_name("language")).await.unwrap(),
        Some(partition("language", 1))
    );
    assert_eq!(partitions::find(&mut tx, &main, &team_name("robotics")).await.unwrap(), None);
}

async fn two_teams_want_the_same_slot(db: Db) {
    let db = db.with_fleet().await;
    let racers: Vec<_> = ["vision", "language", "robotics"]
        .map(|team| {
            let store = (*db).clone();
            tokio::spawn(async move {
                let mut tx = store.begin().await.unwrap();
                let wish = Partition::in_slot(main_cluster(), team_name(team), 1).unwrap();
                let result = partitions::insert(&mut tx, &wish).await;
                tx.commit().await.unwrap();
                result
            })
        })
        .into();
    let mut won = 0;
    for racer in racers {
        match racer.await.unwrap() {
            Ok(()) => won += 1,
            Err(StoreError::Taken { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(won, 1);
}

async fn namespace_rows(db: Db) {
    let db = db.with_fleet().await;
    let (main, vision) = (main_cluster(), team_name("vision"));
    let mut tx = db.begin().await.unwrap();
    for (name, team) in [("vision", "vision"), ("vision-a100", "vision"), ("language", "language")] {
        namespaces::ensure(&mut tx, &main, &namespace(name), &team_name(team)).await.unwrap();
    }
    let mut view = namespaces::find(&mut tx, &main, &namespace("vision")).await.unwrap().unwrap();
    assert_eq!(
        (view.enforcement.clone(), view.confirmed_at, view.probes.len()),
        (Enforcement::Applying, None, 0)
    );
    assert_eq!(namespaces::count_enforced(&mut tx).await.unwrap(), 0);
    assert_eq!(namespaces::not_enforced(&mut tx, 2).await.unwrap().len(), 2, "at most as many as asked for");

    view.enforcement = Enforcement::Enforced;
    view.confirmed_at = Some(at(5));
    view.probes = vec![ProbeAnswer {
        layer: "quota".to_owned(),
        asked: "5 × nvidia.com/gpu (4 granted)".to_owned(),
        refused: true,
        text: "exceeded quota".to_owned(),
        at: at(5),
    }];
    namespaces::set(&mut tx, &view).await.unwrap();
    namespaces::ensure(&mut tx, &main, &view.name, &vision).await.unwrap();
    assert_eq!(
        namespaces::find(&mut tx, &main, &view.name).await.unwrap(),
        Some(view.clone()),
        "ensuring it again changes nothing"
    );
    let mut published = namespaces::find(&mut tx, &main, &namespace("language")).await.unwrap().unwrap();
    published.enforcement = Enforcement::Published;
    namespaces::set(&mut tx, &published).await.unwrap();
    let mut blocked = namespaces::find(&mut tx, &main, &namespace("vision-a100")).await.unwrap().unwrap();
    blocked.enforcement = Enforcement::Blocked { reason: "the API server is not there".to_owned() };
    namespaces::set(&mut tx, &blocked).await.unwrap();

    assert_eq!(namespaces::count_enforced(&mut tx).await.unwrap(), 2);
    assert_eq!(namespaces::not_enforced(&mut tx, 10).await.unwrap(), [blocked.clone()]);
    assert_eq!(namespaces::of_team(&mut tx, &vision).await.unwrap(), [view.clone(), blocked.clone()]);
    assert_eq!(namespaces::of_cluster(&mut tx, &main).await.unwrap(), [published, view.clone(), blocked]);
    view.enforcement = Enforcement::Applying;
    namespaces::set(&mut tx, &view).await.unwrap();
    assert_eq!(namespaces::count_enforced(&mut tx).await.unwrap(), 1);
}

async fn a_namespace_belongs_to_one_team(db: Db) {
    let db = db.with_fleet().await;
    let main = main_cluster();
    let mut tx = db.begin().await.unwrap();
    namespaces::ensure(&mut tx, &main, &namespace("vision-a100"), &team_name("vision")).await.unwrap();
    let other = namespaces::ensure(&mut tx, &main, &namespace("vision-a100"), &team_name("language")).await;
    assert_taken(other, "namespace");
    let found = namespaces::find(&mut tx, &main, &namespace("vision-a100")).await.unwrap().unwrap();
    assert_eq!(found.team, team_name("vision"));
}
