//! Accounts, set-up links, sessions, teams, idempotency keys, audit.

use ::store::{Paging, audit, idempotency, idempotency::Began, sessions, setup, teams, users};
use domain::{
    api::AuditEntry,
    id::UserId,
    name::DisplayName,
    people::{PlatformRole, TeamRole},
};

use super::support::{Db, assert_refused, assert_stale, assert_taken, at, id, team, team_name, user};

on_both!(
    accounts,
    logins_are_one_in_whatever_case,
    actors_have_their_roles_unless_disabled,
    a_set_up_link_is_valid_once,
    set_up_links_race,
    sessions_live_until_they_end,
    team_rows,
    team_filter_takes_signs_literally,
    members_of_teams,
    idempotency_keys,
    the_same_key_at_the_same_time_waits_and_replays,
    audit_list,
);

async fn accounts(db: Db) {
    let mut tx = db.begin().await.unwrap();
    assert_eq!(users::count(&mut tx).await.unwrap(), 0);
    let mut lena = user(1, "lena");
    lena.platform = [PlatformRole::Auditor].into();
    users::insert(&mut tx, &lena, "hash-1").await.unwrap();
    users::insert(&mut tx, &user(2, "omar"), "hash-2").await.unwrap();
    assert_eq!(users::find(&mut tx, id(1)).await.unwrap(), Some(lena.clone()));
    assert_eq!(users::find(&mut tx, id(9)).await.unwrap(), None);

    lena.platform = [PlatformRole::Admin, PlatformRole::Approver].into();
    lena.disabled = true;
    users::set_platform(&mut tx, id(1), &lena.platform).await.unwrap();
    users::set_disabled(&mut tx, id(1), true).await.unwrap();
    users::set_password(&mut tx, id(1), "hash-3").await.unwrap();
    assert_eq!(users::by_login(&mut tx, "lena").await.unwrap(), Some((lena, "hash-3".to_owned())));
    let (omar, hash) = users::by_login(&mut tx, "omar").await.unwrap().unwrap();
    assert_eq!((omar, hash.as_str()), (user(2, "omar"), "hash-2"), "the other account is as it was");
    assert_eq!(users::count(&mut tx).await.unwrap(), 2);
    let page = users::list(&mut tx, &Paging::default()).await.unwrap();
    assert_eq!(page.items.iter().map(|u| u.login.as_str()).collect::<Vec<_>>(), ["lena", "omar"]);
    assert_eq!(page.next, None);
}

async fn logins_are_one_in_whatever_case(db: Db) {
    let mut tx = db.begin().await.unwrap();
    users::insert(&mut tx, &user(1, "Élodie"), "hash").await.unwrap();
    assert_taken(users::insert(&mut tx, &user(2, "éLODIE"), "hash").await, "login");
    assert_taken(users::insert(&mut tx, &user(1, "other"), "hash").await, "login");
    let (found, _) = users::by_login(&mut tx, "ÉLODIE").await.unwrap().unwrap();
    assert_eq!(found.login, "Élodie", "shown as it was written");
    assert_eq!(users::count(&mut tx).await.unwrap(), 1, "the transaction goes on after a taken key");
}

async fn actors_have_their_roles_unless_disabled(db: Db) {
    let db = db.with_fleet().await;
    let mut tx = db.begin().await.unwrap();
    let plain = users::actor(&mut tx, id(1)).await.unwrap().unwrap();
    assert!(plain.teams.is_empty() && plain.platform.is_empty());
    users::set_platform(&mut tx, id(1), &[PlatformRole::Admin].into()).await.unwrap();
    teams::set_member(&mut tx, &team_name("vision"), id(1), TeamRole::Lead).await.unwrap();
    teams::set_member(&mut tx, &team_name("language"), id(1), TeamRole::Viewer).await.unwrap();
    let actor = users::actor(&mut tx, id(1)).await.unwrap().unwrap();
    assert_eq!(actor.user, id(1));
    assert_eq!(actor.platform, [PlatformRole::Admin].into());
    let roles = [(team_name("vision"), TeamRole::Lead), (team_name("language"), TeamRole::Viewer)];
    assert_eq!(actor.teams, roles.into());
    users::set_disabled(&mut tx, id(1), true).await.unwrap();
    assert_eq!(users::actor(&mut tx, id(1)).await.unwrap(), None);
    assert_eq!(users::actor(&mut tx, id(9)).await.unwrap(), None);
}

async fn a_set_up_link_is_valid_once(db: Db) {
    let mut tx = db.begin().await.unwrap();
    setup::put(&mut tx, "old", at(10)).await.unwrap();
    setup::put(&mut tx, "one", at(100)).await.unwrap();
    setup::put(&mut tx, "two", at(100)).await.unwrap();
    assert!(!setup::take(&mut tx, "never", at(0)).await.unwrap());
    assert!(!setup::take(&mut tx, "old", at(10)).await.unwrap(), "it ends at its time");
    assert!(setup::take(&mut tx, "one", at(99)).await.unwrap());
    assert!(!setup::take(&mut tx, "one", at(99)).await.unwrap(), "once");
    assert!(!setup::take(&mut tx, "two", at(99)).await.unwrap(), "with one all others end");
}

async fn set_up_links_race(db: Db) {
    let mut tx = db.begin().await.unwrap();
    for hash in ["one", "two"] {
        setup::put(&mut tx, hash, at(100)).await.unwrap();
    }
    tx.commit().await.unwrap();
    let takers: Vec<_> = (0..8)
        .map(|n| {
            let store = (*db).clone();
            tokio::spawn(async move {
                let mut tx = store.begin().await.unwrap();
                let mine = setup::take(&mut tx, ["one", "two"][n % 2], at(0)).await.unwrap();
                tx.commit().await.unwrap();
                mine
            })
        })
        .collect();
    let mut taken = 0;
    for taker in takers {
        taken += u32::from(taker.await.unwrap());
    }
    assert_eq!(taken, 1, "one first administrator");
}

async fn sessions_live_until_they_end(db: Db) {
    let db = db.with_fleet().await;
    let mut tx = db.begin().await.unwrap();
    let signed_in: Option<UserId> = Some(id(1));
    assert!(sessions::create(&mut tx, "a", "{}", at(100), None).await.unwrap());
    assert!(!sessions::create(&mut tx, "a", "other", at(200), None).await.unwrap(), "the id exists");
    assert_eq!(sessions::get(&mut tx, "a", at(99)).await.unwrap(), Some(("{}".to_owned(), at(100))));
    assert_eq!(sessions::get(&mut tx, "a", at(100)).await.unwrap(), None, "it ends at its time");
    assert_eq!(sessions::get(&mut tx, "b", at(0)).await.unwrap(), None);

    sessions::put(&mut tx, "a", "{\"n\":1}", at(300), signed_in).await.unwrap();
    assert_eq!(sessions::get(&mut tx, "a", at(200)).await.unwrap(), Some(("{\"n\":1}".to_owned(), at(300))));
    sessions::put(&mut tx, "b", "{}", at(300), signed_in).await.unwrap();
    sessions::put(&mut tx, "c", "{}", at(300), Some(id(2))).await.unwrap();
    sessions::delete_of_user(&mut tx, id(1)).await.unwrap();
    assert_eq!(sessions::get(&mut tx, "a", at(0)).await.unwrap(), None);
    assert_eq!(sessions::get(&mut tx, "b", at(0)).await.unwrap(), None);
    assert!(sessions::get(&mut tx, "c", at(0)).await.unwrap().is_some(), "another person's session stays");
    sessions::delete(&mut tx, "c").await.unwrap();
    assert_eq!(sessions::get(&mut tx, "c", at(0)).await.unwrap(), None);

    for (session, ends) in [("d", 10), ("e", 20), ("f", 30)] {
        sessions::put(&mut tx, session, "{}", at(ends), None).await.unwrap();
    }
    assert_eq!(sessions::expire(&mut tx, at(20)).await.unwrap(), 2);
    assert!(sessions::get(&mut tx, "f", at(0)).await.unwrap().is_some());
}

async fn team_rows(db: Db) {
    let mut tx = db.begin().await.unwrap();
    let first = team("vision");
    teams::insert(&mut tx, &first).await.unwrap();
    assert_taken(teams::insert(&mut tx, &first).await, "team");
    assert_eq!(teams::find(&mut tx, &first.name).await.unwrap(), Some(first.clone()));
    assert_eq!(teams::find(&mut tx, &team_name("none")).await.unwrap(), None);

    let mut changed = first.clone();
    changed.display = DisplayName::new("Команда зрения").unwrap();
    changed.retired = true;
    let second = teams::update(&mut tx, &changed).await.unwrap();
    assert_eq!(second.version, 2);
    assert_eq!(teams::find(&mut tx, &first.name).await.unwrap(), Some(second.clone()));
    assert_stale(teams::update(&mut tx, &first).await, 1, 2);
    assert_stale(teams::update(&mut tx, &team("none")).await, 1, 0);
    assert_eq!(teams::lock(&mut tx, &first.name).await.unwrap(), Some(second), "a lock changes nothing");
    assert_eq!(teams::lock(&mut tx, &team_name("none")).await.unwrap(), None);

    teams::insert(&mut tx, &team("language")).await.unwrap();
    let mut names = async |filter| -> Vec<String> {
        let page = teams::list(&mut tx, filter, &Paging::default()).await.unwrap();
        page.items.into_iter().map(|t| t.name.to_string()).collect()
    };
    assert_eq!(names(None).await, ["language", "vision"]);
    assert_eq!(names(Some("LANG")).await, ["language"]);
    assert_eq!(names(Some(" ЗРЕНИЯ ")).await, ["vision"], "the new display name, in whatever case");
    assert_eq!(names(Some("VISION ")).await, ["vision"], "the name");
    assert!(names(Some("nothing")).await.is_empty());
}

async fn team_filter_takes_signs_literally(db: Db) {
    let mut tx = db.begin().await.unwrap();
    for (name, display) in [("a", "100% done"), ("b", "100 done"), ("c", "x_y"), ("d", "xay"), ("e", r"x\y")]
    {
        let mut team = team(name);
        team.display = DisplayName::new(display).unwrap();
        teams::insert(&mut tx, &team).await.unwrap();
    }
    for (filter, want) in [("0%", "a"), ("x_y", "c"), (r"x\y", "e"), (r"\", "e"), ("' OR '1'='1", "")] {
        let page = teams::list(&mut tx, Some(filter), &Paging::default()).await.unwrap();
        let names: String = page.items.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, want, "{filter}");
    }
}

async fn members_of_teams(db: Db) {
    let db = db.with_fleet().await;
    let (vision, language) = (team_name("vision"), team_name("language"));
    let mut tx = db.begin().await.unwrap();
    teams::set_member(&mut tx, &vision, id(2), TeamRole::Viewer).await.unwrap();
    teams::set_member(&mut tx, &vision, id(1), TeamRole::Member).await.unwrap();
    teams::set_member(&mut tx, &vision, id(2), TeamRole::Lead).await.unwrap();
    teams::set_member(&mut tx, &language, id(2), TeamRole::Viewer).await.unwrap();
    let members = teams::members(&mut tx, &vision).await.unwrap();
    let seen: Vec<_> = members.iter().map(|m| (m.user, m.login.as_str(), m.role)).collect();
    assert_eq!(seen, [(id(1), "user1", TeamRole::Member), (id(2), "user2", TeamRole::Lead)]);
    let of_two = teams::of_user(&mut tx, id(2)).await.unwrap();
    assert_eq!(of_two, [(team("language"), TeamRole::Viewer), (team("vision"), TeamRole::Lead)]);
    assert!(teams::remove_member(&mut tx, &vision, id(2)).await.unwrap());
    assert!(!teams::remove_member(&mut tx, &vision, id(2)).await.unwrap());
    assert_eq!(teams::members(&mut tx, &vision).await.unwrap().len(), 1);
    assert_eq!(teams::of_user(&mut tx, id(2)).await.unwrap().len(), 1);
    assert_refused(teams::set_member(&mut tx, &vision, id(99), TeamRole::Lead).await);
}

async fn idempotency_keys(db: Db) {
    let mut tx = db.begin().await.unwrap();
    assert_eq!(idempotency::begin(&mut tx, id(1), "k", "print", at(0)).await.unwrap(), Began::New);
    assert_eq!(idempotency::begin(&mut tx, id(1), "k", "print", at(1)).await.unwrap(), Began::Busy);
    idempotency::finish(&mut tx, id(1), "k", 201, "{\"id\":1}").await.unwrap();
    let replay = Began::Replay { status: 201, body: "{\"id\":1}".to_owned() };
    assert_eq!(idempotency::begin(&mut tx, id(1), "k", "print", at(2)).await.unwrap(), replay);
    assert_eq!(idempotency::begin(&mut tx, id(1), "k", "another", at(2)).await.unwrap(), Began::Conflict);
    assert_eq!(
        idempotency::begin(&mut tx, id(2), "k", "another", at(5)).await.unwrap(),
        Began::New,
        "keys belong to a person"
    );
    assert_eq!(idempotency::expire(&mut tx, at(5)).await.unwrap(), 1);
    assert_eq!(idempotency::begin(&mut tx, id(1), "k", "another", at(6)).await.unwrap(), Began::New);
    assert_eq!(idempotency::begin(&mut tx, id(2), "k", "another", at(6)).await.unwrap(), Began::Busy);
}

async fn the_same_key_at_the_same_time_waits_and_replays(db: Db) {
    let mut first = db.begin().await.unwrap();
    assert_eq!(idempotency::begin(&mut first, id(1), "k", "print", at(0)).await.unwrap(), Began::New);
    let store = (*db).clone();
    let second = tokio::spawn(async move {
        let mut tx = store.begin().await.unwrap();
        idempotency::begin(&mut tx, id(1), "k", "print", at(1)).await.unwrap()
    });
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert!(!second.is_finished(), "it waits for the first");
    idempotency::finish(&mut first, id(1), "k", 200, "done").await.unwrap();
    first.commit().await.unwrap();
    assert_eq!(second.await.unwrap(), Began::Replay { status: 200, body: "done".to_owned() });
}

async fn audit_list(db: Db) {
    let entry = |n: u64, team: Option<&str>, action: &str, actor: Option<u64>| AuditEntry {
        id: id(n),
        at: at(0),
        actor: actor.map(id),
        actor_display: "someone".to_owned(),
        action: action.to_owned(),
        subject: format!("request/{n}"),
        team: team.map(team_name),
        detail: "{}".to_owned(),
    };
    let all = [
        entry(1, Some("vision"), "request.create", Some(1)),
        entry(2, Some("vision"), "request.approve", Some(2)),
        entry(3, Some("language"), "request.approve", Some(2)),
        entry(4, None, "cluster.register", None),
    ];
    let mut tx = db.begin().await.unwrap();
    for entry in &all {
        audit::record(&mut tx, entry).await.unwrap();
    }
    let page = audit::list(&mut tx, &audit::Filter::default(), &Paging::default()).await.unwrap();
    assert!(page.items.iter().eq(all.iter().rev()), "newest first: {page:?}");
    for (team, action, actor, want) in [
        (Some("vision"), None, None, vec![2, 1]),
        (None, Some("request.approve"), None, vec![3, 2]),
        (None, None, Some(1), vec![1]),
        (Some("vision"), Some("request.approve"), Some(2), vec![2]),
        (Some("language"), Some("request.create"), None, vec![]),
    ] {
        let filter = audit::Filter {
            team: team.map(team_name),
            action: action.map(str::to_owned),
            actor: actor.map(id),
        };
        let page = audit::list(&mut tx, &filter, &Paging::default()).await.unwrap();
        let ids: Vec<_> = page.items.iter().map(|e| e.id).collect();
        assert_eq!(ids, want.into_iter().map(id).collect::<Vec<_>>(), "{filter:?}");
    }
}
