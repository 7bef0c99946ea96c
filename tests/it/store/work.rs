//! The outbox.

use std::collections::BTreeSet;

use ::store::{
    Paging, Store,
    outbox::{self, Job},
};
use domain::id::JobId;

use super::support::{Db, at, id};

on_both!(
    jobs_are_one_for_each_key,
    jobs_wait_until_they_are_due,
    a_lost_claim_comes_back_after_its_lease,
    what_is_asked_for_during_a_claim_is_done_once_more,
    a_lost_claim_ends_nothing,
    a_failed_job_waits,
    two_workers_never_get_the_same_job,
    workers_and_askers_do_not_wait_for_each_other,
);

const ME: &str = "worker-1";

fn job(n: u64, key: &str, due: i64) -> Job {
    Job {
        id: id(n),
        kind: "apply".to_owned(),
        key: key.to_owned(),
        due_at: at(due),
        attempts: 0,
        last_error: None,
    }
}

/// What a worker gets at this second, with a lease of a minute.
async fn claim(db: &Store, now: i64, limit: u32) -> Vec<Job> {
    let mut tx = db.begin().await.unwrap();
    let jobs = outbox::claim(&mut tx, at(now), at(now + 60), limit, ME).await.unwrap();
    tx.commit().await.unwrap();
    jobs
}

async fn enqueue(db: &Store, job: &Job) {
    let mut tx = db.begin().await.unwrap();
    outbox::enqueue(&mut tx, job).await.unwrap();
    tx.commit().await.unwrap();
}

async fn done(db: &Store, id: JobId) {
    let mut tx = db.begin().await.unwrap();
    outbox::done(&mut tx, id, ME).await.unwrap();
    tx.commit().await.unwrap();
}

async fn waiting(db: &Store) -> u64 {
    outbox::waiting(&mut db.read().await.unwrap()).await.unwrap()
}

async fn jobs_are_one_for_each_key(db: Db) {
    enqueue(&db, &job(1, "vision", 50)).await;
    enqueue(&db, &job(2, "vision", 20)).await;
    enqueue(&db, &job(3, "vision", 90)).await;
    enqueue(&db, &Job { kind: "expire".to_owned(), ..job(4, "vision", 30) }).await;
    assert_eq!(waiting(&db).await, 2);
    let page = outbox::list(&mut db.read().await.unwrap(), &Paging::default()).await.unwrap();
    let seen: Vec<_> = page.items.iter().map(|j| (j.id, j.kind.as_str(), j.due_at)).collect();
    assert_eq!(
        seen,
        [(id(1), "apply", at(20)), (id(4), "expire", at(30))],
        "due at the earliest time asked for"
    );
}

async fn jobs_wait_until_they_are_due(db: Db) {
    for (n, due) in [(1, 30), (2, 10), (3, 20), (4, 99)] {
        enqueue(&db, &job(n, &format!("key-{n}"), due)).await;
    }
    assert!(claim(&db, 9, 10).await.is_empty());
    let first = claim(&db, 30, 2).await;
    assert_eq!(first.iter().map(|j| j.id).collect::<Vec<_>>(), [2, 3].map(id), "the longest due first");
    assert_eq!(first[0].attempts, 1);
    assert_eq!(claim(&db, 30, 10).await.iter().map(|j| j.id).collect::<Vec<_>>(), [1].map(id));
    done(&db, id(2)).await;
    assert_eq!(waiting(&db).await, 3);
    done(&db, id(2)).await;
    assert_eq!(waiting(&db).await, 3, "done twice is done once");
}

async fn a_lost_claim_comes_back_after_its_lease(db: Db) {
    enqueue(&db, &job(1, "vision", 0)).await;
    assert_eq!(claim(&db, 0, 10).await.len(), 1);
    assert!(claim(&db, 59, 10).await.is_empty(), "the lease holds");
    let again = claim(&db, 60, 10).await;
    assert_eq!((again.len(), again[0].id, again[0].attempts), (1, id(1), 2), "the worker is taken for dead");
    assert!(claim(&db, 100, 10).await.is_empty(), "the new lease holds");
    // A claim that was never committed is none.
    enqueue(&db, &job(2, "language", 0)).await;
    let mut tx = db.begin().await.unwrap();
    assert_eq!(outbox::claim(&mut tx, at(100), at(160), 10, ME).await.unwrap().len(), 1);
    drop(tx);
    assert_eq!(claim(&db, 100, 10).await[0].attempts, 1);
}

async fn a_lost_claim_ends_nothing(db: Db) {
    enqueue(&db, &job(1, "vision", 0)).await;
    assert_eq!(claim(&db, 0, 10).await.len(), 1);
    let mut tx = db.begin().await.unwrap();
    assert!(outbox::renew(&mut tx, id(1), ME, at(90)).await.unwrap());
    assert!(
        outbox::claim(&mut tx, at(89), at(99), 10, "worker-2").await.unwrap().is_empty(),
        "it was renewed"
    );
    assert_eq!(outbox::claim(&mut tx, at(90), at(150), 10, "worker-2").await.unwrap().len(), 1);
    assert!(!outbox::renew(&mut tx, id(1), ME, at(200)).await.unwrap());
    assert!(!outbox::done(&mut tx, id(1), ME).await.unwrap());
    assert!(!outbox::retry(&mut tx, id(1), ME, at(95), "late").await.unwrap());
    assert!(outbox::is_waiting(&mut tx, "apply", "vision").await.unwrap());
    assert!(outbox::done(&mut tx, id(1), "worker-2").await.unwrap());
    assert!(!outbox::is_waiting(&mut tx, "apply", "vision").await.unwrap());
}

async fn what_is_asked_for_during_a_claim_is_done_once_more(db: Db) {
    enqueue(&db, &job(1, "vision", 0)).await;
    assert_eq!(claim(&db, 0, 10).await.len(), 1);
    enqueue(&db, &job(2, "vision", 9)).await;
    enqueue(&db, &job(3, "vision", 5)).await;
    enqueue(&db, &job(4, "vision", 7)).await;
    assert!(claim(&db, 10, 10).await.is_empty(), "not while it is being done");
    done(&db, id(1)).await;
    assert_eq!(waiting(&db).await, 1);
    assert!(claim(&db, 4, 10).await.is_empty());
    let again = claim(&db, 5, 10).await;
    assert_eq!(
        (again.len(), again[0].due_at, again[0].attempts),
        (1, at(5), 1),
        "as new, at the earliest time"
    );
    done(&db, again[0].id).await;
    assert_eq!(waiting(&db).await, 0, "once more, not for ever");

    // The worker dies: the next claim begins after the wish, so one run is enough. A wish for later stays.
    enqueue(&db, &job(5, "vision", 0)).await;
    claim(&db, 0, 10).await;
    enqueue(&db, &job(6, "vision", 1)).await;
    let taken_over = claim(&db, 60, 10).await;
    done(&db, taken_over[0].id).await;
    assert_eq!(waiting(&db).await, 0);
    enqueue(&db, &job(7, "vision", 0)).await;
    claim(&db, 0, 10).await;
    enqueue(&db, &job(8, "vision", 500)).await;
    let taken_over = claim(&db, 60, 10).await;
    done(&db, taken_over[0].id).await;
    assert!(claim(&db, 499, 10).await.is_empty());
    assert_eq!(claim(&db, 500, 10).await.len(), 1);
}

async fn a_failed_job_waits(db: Db) {
    enqueue(&db, &job(1, "vision", 0)).await;
    claim(&db, 0, 10).await;
    let mut tx = db.begin().await.unwrap();
    outbox::retry(&mut tx, id(1), ME, at(30), "503 from the API server").await.unwrap();
    tx.commit().await.unwrap();
    assert!(claim(&db, 29, 10).await.is_empty());
    let again = claim(&db, 30, 10).await;
    assert_eq!((again[0].attempts, again[0].last_error.as_deref()), (2, Some("503 from the API server")));
    // Somebody wants it sooner than the pause says.
    enqueue(&db, &job(2, "vision", 40)).await;
    let mut tx = db.begin().await.unwrap();
    outbox::retry(&mut tx, id(1), ME, at(300), "503 again").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(claim(&db, 40, 10).await.len(), 1);
    done(&db, id(1)).await;
    assert_eq!(waiting(&db).await, 0);
}

async fn two_workers_never_get_the_same_job(db: Db) {
    const JOBS: u64 = 300;
    let mut tx = db.begin().await.unwrap();
    for n in 0..JOBS {
        outbox::enqueue(&mut tx, &job(n, &format!("key-{n}"), 0)).await.unwrap();
    }
    tx.commit().await.unwrap();
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let store = (*db).clone();
            tokio::spawn(async move {
                let mut mine = Vec::new();
                loop {
                    let jobs = claim(&store, 0, 7).await;
                    if jobs.is_empty() {
                        return mine;
                    }
                    mine.extend(jobs.into_iter().map(|j| j.id));
                }
            })
        })
        .collect();
    let mut all = Vec::new();
    for worker in workers {
        all.extend(worker.await.unwrap());
    }
    // A worker that passed over rows of another may have stopped early; then a last look finds the rest.
    all.extend(claim(&db, 0, 300).await.into_iter().map(|j| j.id));
    let distinct: BTreeSet<_> = all.iter().copied().collect();
    assert_eq!(all.len(), distinct.len(), "a job was given twice");
    assert_eq!(distinct, (0..JOBS).map(id).collect());
}

/// Postgres locks rows: a decision that asks for work in another order than a worker claims it must not end in a
/// deadlock.
async fn workers_and_askers_do_not_wait_for_each_other(db: Db) {
    for n in 0..20 {
        enqueue(&db, &job(n, &format!("key-{n}"), 0)).await;
    }
    let asker = {
        let store = (*db).clone();
        tokio::spawn(async move {
            for round in 0..20 {
                let mut tx = store.begin().await.unwrap();
                for n in (0..20).rev() {
                    outbox::enqueue(&mut tx, &job(1000 + round, &format!("key-{n}"), 0)).await.unwrap();
                }
                tx.commit().await.unwrap();
            }
        })
    };
    let worker = {
        let store = (*db).clone();
        tokio::spawn(async move {
            for round in 0..40 {
                claim(&store, round * 100, 10).await;
            }
        })
    };
    asker.await.unwrap();
    worker.await.unwrap();
    assert_eq!(waiting(&db).await, 20);
}
