//! Locks, rollbacks, readers, the schema.

use std::{future::Future, time::Duration};

use ::store::{
    Paging, Store, StoreError, audit, grants, ledger, namespaces, offerings, outbox, requests, teams, users,
};
use domain::{api::AuditEntry, people::Team};
use tokio::task::JoinHandle;

use super::{
    balances::event,
    support::{
        Db, assert_refused, assert_stale, at, grant, id, main_cluster, namespace, offering_name, request,
        team, team_name, user,
    },
};

on_both!(
    an_offering_is_decided_by_one_at_a_time,
    a_team_is_changed_by_one_at_a_time,
    of_two_edits_of_one_version_one_is_stale,
    a_rollback_leaves_nothing,
    readers_cannot_write,
    readers_see_only_what_is_committed,
    opening_again_keeps_everything,
);

/// Starts something that must wait for a lock that the caller holds.
async fn blocked<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let task = tokio::spawn(work);
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert!(!task.is_finished(), "it must wait");
    task
}

async fn an_offering_is_decided_by_one_at_a_time(db: Db) {
    let db = db.with_fleet().await;
    let h100 = offering_name("h100");
    let mut first = db.begin().await.unwrap();
    offerings::lock(&mut first, &h100).await.unwrap();
    assert_eq!(ledger::line(&mut first, &h100).await.unwrap().unwrap().granted(), 0);
    let (store, name) = ((*db).clone(), h100.clone());
    let second = blocked(async move {
        let mut tx = store.begin().await.unwrap();
        offerings::lock(&mut tx, &name).await.unwrap();
        ledger::line(&mut tx, &name).await.unwrap().unwrap().granted()
    })
    .await;
    ledger::post(&mut first, &event(1, "h100", "vision", 7, 0)).await.unwrap();
    first.commit().await.unwrap();
    assert_eq!(second.await.unwrap(), 7, "who waited sees what the one before has decided");
}

async fn a_team_is_changed_by_one_at_a_time(db: Db) {
    let db = db.with_fleet().await;
    let vision = team_name("vision");
    let mut first = db.begin().await.unwrap();
    let mut edited = teams::lock(&mut first, &vision).await.unwrap().unwrap();
    let (store, name) = ((*db).clone(), vision.clone());
    let second = blocked(async move {
        let mut tx = store.begin().await.unwrap();
        teams::lock(&mut tx, &name).await.unwrap().unwrap()
    })
    .await;
    edited.retired = true;
    teams::update(&mut first, &edited).await.unwrap();
    first.commit().await.unwrap();
    let seen = second.await.unwrap();
    assert_eq!((seen.retired, seen.version), (true, 2));
}

async fn of_two_edits_of_one_version_one_is_stale(db: Db) {
    let db = db.with_fleet().await;
    let edit = |store: Store| async move {
        let mut tx = store.begin().await.unwrap();
        let result = teams::update(&mut tx, &Team { retired: true, ..team("vision") }).await;
        tx.commit().await.unwrap();
        result
    };
    let tasks: Vec<_> = (0..6).map(|_| tokio::spawn(edit((*db).clone()))).collect();
    let mut won = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(next) => {
                assert_eq!(next.version, 2);
                won += 1;
            }
            stale => assert_stale(stale, 1, 2),
        }
    }
    assert_eq!(won, 1);
}

async fn a_rollback_leaves_nothing(db: Db) {
    let db = db.with_request(1).await;
    let mut tx = db.begin().await.unwrap();
    teams::insert(&mut tx, &team("speech")).await.unwrap();
    requests::insert(&mut tx, &request(2, "speech", "h100")).await.unwrap();
    grants::insert(&mut tx, &grant(1, "speech", "h100", "speech", 2)).await.unwrap();
    ledger::post(&mut tx, &event(1, "h100", "speech", 4, 4)).await.unwrap();
    namespaces::ensure(&mut tx, &main_cluster(), &namespace("speech"), &team_name("speech")).await.unwrap();
    let entry = AuditEntry {
        id: id(1),
        at: at(0),
        actor: None,
        actor_display: "job".to_owned(),
        action: "request.approve".to_owned(),
        subject: "request/2".to_owned(),
        team: None,
        detail: "{}".to_owned(),
    };
    audit::record(&mut tx, &entry).await.unwrap();
    let job = outbox::Job {
        id: id(1),
        kind: "apply".to_owned(),
        key: "speech".to_owned(),
        due_at: at(0),
        attempts: 0,
        last_error: None,
    };
    outbox::enqueue(&mut tx, &job).await.unwrap();
    // Even an error in between, which Postgres answers by refusing everything until the end, leaves nothing.
    assert_refused(ledger::post(&mut tx, &event(2, "h100", "speech", -5, 0)).await);
    drop(tx);

    let mut tx = db.begin().await.unwrap();
    let (paging, speech) = (Paging::default(), team_name("speech"));
    assert_eq!(teams::find(&mut tx, &speech).await.unwrap(), None);
    assert_eq!(requests::all(&mut tx, None, None, None, &paging).await.unwrap().items.len(), 1);
    assert_eq!(grants::find_any(&mut tx, id(1)).await.unwrap(), None);
    assert!(grants::placed(&mut tx, &main_cluster(), &speech).await.unwrap().is_empty());
    assert!(ledger::of_team(&mut tx, &speech).await.unwrap().is_empty());
    assert!(ledger::events(&mut tx, &offering_name("h100"), &paging).await.unwrap().items.is_empty());
    assert_eq!(namespaces::find(&mut tx, &main_cluster(), &namespace("speech")).await.unwrap(), None);
    assert!(audit::list(&mut tx, &audit::Filter::default(), &paging).await.unwrap().items.is_empty());
    assert_eq!(outbox::waiting(&mut tx).await.unwrap(), 0);
}

async fn readers_cannot_write(db: Db) {
    let mut read = db.read().await.unwrap();
    assert_refused(users::insert(&mut read, &user(1, "someone"), "hash").await);
    drop(read);
    assert_eq!(users::count(&mut db.read().await.unwrap()).await.unwrap(), 0);
}

async fn readers_see_only_what_is_committed(db: Db) {
    let mut read = db.read().await.unwrap();
    let mut tx = db.begin().await.unwrap();
    users::insert(&mut tx, &user(1, "someone"), "hash").await.unwrap();
    assert_eq!(users::count(&mut read).await.unwrap(), 0);
    tx.commit().await.unwrap();
    assert_eq!(users::count(&mut read).await.unwrap(), 1, "the same connection sees it at once");
}

async fn opening_again_keeps_everything(db: Db) {
    let db = db.with_fleet().await;
    let again = Store::open(&db.url).await.unwrap();
    assert_eq!(users::count(&mut again.read().await.unwrap()).await.unwrap(), 3);

    // A database whose history is another one is not touched.
    let mut tx = db.begin().await.unwrap();
    sqlx::query("UPDATE _sqlx_migrations SET checksum = $1")
        .bind(vec![1_u8])
        .execute(&mut *tx)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let refused = Store::open(&db.url).await;
    assert!(matches!(refused, Err(StoreError::Migration(_))), "{refused:?}");
}
