//! The race for one offering: whatever happens at the same time, no device is promised twice.

use std::time::Instant;

use ::store::{Store, audit, grants, ledger, namespaces, offerings, outbox, requests, teams};
use domain::{
    api::AuditEntry,
    ledger::{Decision, decide},
    request::RequestState,
    shape::{Blocks, Shape},
};

use super::{
    balances::event,
    support::{Db, at, grant, id, main_cluster, namespace, offering_name, request, team, team_name},
};

const TASKS: u64 = 32;
const EACH: u64 = 100;
const DECLARED: u32 = 1500;

on_both!(three_thousand_two_hundred_decisions_on_fifteen_hundred_devices);

fn racer(task: u64) -> String {
    format!("team-{task}")
}

/// One decision as the use-case makes it: everything that follows from it in one transaction.
async fn decide_one(store: &Store, task: u64, n: u64) -> bool {
    let (name, h100) = (racer(task), offering_name("h100"));
    let mut tx = store.begin().await.unwrap();
    offerings::lock(&mut tx, &h100).await.unwrap();
    let line = ledger::line(&mut tx, &h100).await.unwrap().unwrap();
    let one = Shape { nodes: 1, per_node: 1 };
    let decision = decide(&line, &Blocks::default(), &team_name(&name), one, 1);
    let mut asked = requests::find(&mut tx, &team_name(&name), id(n)).await.unwrap().unwrap();
    let approved = matches!(decision, Decision::Fits { .. });
    if approved {
        let mut promised = grant(n, &name, "h100", &name, n);
        promised.shape = one;
        grants::insert(&mut tx, &promised).await.unwrap();
        let mut moved = event(n, "h100", &name, 1, 0);
        moved.grant = Some(promised.id);
        ledger::post(&mut tx, &moved).await.unwrap();
        let job = outbox::Job {
            id: id(n),
            kind: "apply".to_owned(),
            key: name.clone(),
            due_at: at(0),
            attempts: 0,
            last_error: None,
        };
        outbox::enqueue(&mut tx, &job).await.unwrap();
        asked.grant = Some(promised.id);
    }
    asked.state = if approved { RequestState::Approved } else { RequestState::Denied };
    requests::update(&mut tx, &asked).await.unwrap();
    let entry = AuditEntry {
        id: id(n),
        at: at(0),
        actor: Some(id(1)),
        actor_display: "Person 1".to_owned(),
        action: if approved { "request.approve" } else { "request.deny" }.to_owned(),
        subject: format!("request/{n}"),
        team: Some(team_name(&name)),
        detail: "{}".to_owned(),
    };
    audit::record(&mut tx, &entry).await.unwrap();
    tx.commit().await.unwrap();
    approved
}

async fn three_thousand_two_hundred_decisions_on_fifteen_hundred_devices(db: Db) {
    let db = db.with_fleet().await;
    let h100 = offering_name("h100");
    let mut tx = db.begin().await.unwrap();
    let mut large = offerings::find(&mut tx, &h100).await.unwrap().unwrap();
    large.declared = DECLARED;
    offerings::update(&mut tx, &large).await.unwrap();
    for task in 0..TASKS {
        teams::insert(&mut tx, &team(&racer(task))).await.unwrap();
        namespaces::ensure(&mut tx, &main_cluster(), &namespace(&racer(task)), &team_name(&racer(task)))
            .await
            .unwrap();
        for n in 0..EACH {
            requests::insert(&mut tx, &request(task * EACH + n, &racer(task), "h100")).await.unwrap();
        }
    }
    tx.commit().await.unwrap();

    let start = Instant::now();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let store = (*db).clone();
            tokio::spawn(async move {
                let mut approved = 0_u32;
                for n in 0..EACH {
                    approved += u32::from(decide_one(&store, task, task * EACH + n).await);
                }
                approved
            })
        })
        .collect();
    let mut approved = 0;
    for task in tasks {
        approved += task.await.unwrap();
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{}: {:.0} decisions/s ({} tasks)", db.name, f64::from(32 * 100) / seconds, TASKS);

    let mut read = db.read().await.unwrap();
    assert_eq!(approved, DECLARED);
    let line = ledger::line(&mut read, &h100).await.unwrap().unwrap();
    assert_eq!((line.granted(), line.free()), (DECLARED, 0));
    assert_eq!(ledger::differences(&mut read).await.unwrap(), []);
    let rebuilt: u32 =
        ledger::rebuilt(&mut read, &h100).await.unwrap().values().map(|(granted, _)| granted).sum();
    assert_eq!(rebuilt, DECLARED);
    let kept = grants::of_offering(&mut read, &h100).await.unwrap();
    assert_eq!(kept.iter().map(domain::grant::Grant::amount).sum::<u32>(), DECLARED);
    assert_eq!(requests::count_waiting(&mut read).await.unwrap(), 0, "every request has its answer");
    assert!(outbox::waiting(&mut read).await.unwrap() <= TASKS, "one job for each namespace");
}
