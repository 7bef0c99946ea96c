//! The ledger: balances, events, use.

use std::collections::BTreeMap;

use ::store::{
    Paging, StoreError, grants,
    ledger::{self, Event, Observation, Usage},
    offerings, requests, teams,
};
use domain::{
    ledger::{Capacity, Holding},
    shape::Blocks,
};

use super::support::{
    Db, GPU, assert_refused, at, grant, id, main_cluster, namespace, offering_name, request, resource, team,
    team_name,
};

on_both!(
    lines_of_offerings,
    use_belongs_to_the_pool_of_its_namespace,
    what_a_pass_noted_is_not_lowered_by_a_late_observer,
    a_balance_never_falls_below_zero,
    events_move_balances,
    use_of_a_cluster_is_replaced,
    what_nodes_can_give,
    after_a_random_sequence_balances_are_the_sum_of_events,
    a_thousand_teams_are_two_statements,
);

pub(super) fn event(n: u64, offering: &str, team: &str, granted: i64, held: i64) -> Event {
    Event {
        id: id(n),
        offering: offering_name(offering),
        team: team_name(team),
        grant: None,
        granted,
        held,
        reason: "approved".to_owned(),
        at: at(0),
    }
}

fn usage(in_namespace: &str, of: &str, running: u32) -> Usage {
    Usage {
        namespace: namespace(in_namespace),
        resource: resource(of),
        hard: Some(8),
        charged: running + 2,
        running,
        pending: 1,
    }
}

async fn lines_of_offerings(db: Db) {
    let db = db.with_fleet().await;
    let h100 = offering_name("h100");
    let mut tx = db.begin().await.unwrap();
    let line = ledger::line(&mut tx, &h100).await.unwrap().unwrap();
    assert_eq!(line.capacity, Capacity { declared: 16, observed: None, overcommit_percent: 100 });
    assert!(line.holdings.is_empty());
    assert_eq!(ledger::line(&mut tx, &offering_name("none")).await.unwrap(), None);

    ledger::post(&mut tx, &event(1, "h100", "vision", 4, 0)).await.unwrap();
    ledger::post(&mut tx, &event(2, "h100", "language", 2, 2)).await.unwrap();
    let seen = Observation { observed: Some(8), unmanaged: 3, blocks: Blocks::default(), at: at(1) };
    ledger::observe(&mut tx, &h100, &seen).await.unwrap();
    let mut less = offerings::find(&mut tx, &h100).await.unwrap().unwrap();
    less.declared = 12;
    offerings::update(&mut tx, &less).await.unwrap();

    let line = ledger::line(&mut tx, &h100).await.unwrap().unwrap();
    assert_eq!(line.capacity, Capacity { declared: 12, observed: Some(8), overcommit_percent: 100 });
    assert_eq!(line.unmanaged, 3);
    let want = [
        (team_name("vision"), Holding { granted: 4, ..Holding::default() }),
        (team_name("language"), Holding { granted: 2, held: 2, ..Holding::default() }),
    ];
    assert_eq!(line.holdings, want.into());
    let lines = ledger::lines(&mut tx).await.unwrap();
    assert_eq!(lines.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a100", "h100"]);
    assert_eq!(lines[1].1, line);
    assert!(lines[0].1.holdings.is_empty(), "nothing of one offering is seen in another");
}

async fn use_belongs_to_the_pool_of_its_namespace(db: Db) {
    let db = db.with_request(1).await;
    let mut tx = db.begin().await.unwrap();
    for (n, offering, in_namespace) in [(1, "h100", "vision"), (2, "a100", "vision-a100")] {
        grants::insert(&mut tx, &grant(n, "vision", offering, in_namespace, 1)).await.unwrap();
        ledger::post(&mut tx, &event(n, offering, "vision", 4, 4)).await.unwrap();
    }
    let rows = [usage("vision", GPU, 3), usage("vision-a100", GPU, 1), usage("language", GPU, 7)];
    ledger::set_usage(&mut tx, &main_cluster(), &rows, at(1)).await.unwrap();
    let h100 = Holding { granted: 4, held: 4, running: 3, pending: 1, charged: 5 };
    let a100 = Holding { granted: 4, held: 4, running: 1, pending: 1, charged: 3 };
    let of_team = ledger::of_team(&mut tx, &team_name("vision")).await.unwrap();
    assert_eq!(of_team, [(offering_name("a100"), a100), (offering_name("h100"), h100)]);
    assert!(ledger::of_team(&mut tx, &team_name("language")).await.unwrap().is_empty());
    let line = ledger::line(&mut tx, &offering_name("h100")).await.unwrap().unwrap();
    assert_eq!(line.holdings, [(team_name("vision"), h100)].into());
    let lines = ledger::lines(&mut tx).await.unwrap();
    assert_eq!(lines[0].1.holdings, [(team_name("vision"), a100)].into());
}

async fn what_a_pass_noted_is_not_lowered_by_a_late_observer(db: Db) {
    let db = db.with_fleet().await;
    let (main, gpu) = (main_cluster(), domain::resource::ResourceName::new(GPU).unwrap());
    let charged = async |tx: &mut ::store::Tx| {
        let rows = ledger::usage(tx, &main, &namespace("vision")).await.unwrap();
        rows.iter().find(|row| row.resource == gpu).map(|row| row.charged)
    };
    let mut tx = db.begin().await.unwrap();
    ::store::clusters::lock(&mut tx, &main).await.unwrap();
    ledger::note_used(&mut tx, &main, &namespace("vision"), &[(gpu.clone(), 16)].into(), at(10))
        .await
        .unwrap();
    assert_eq!(charged(&mut tx).await, Some(16));
    let mut old = usage("vision", GPU, 0);
    old.charged = 0;
    ledger::set_usage(&mut tx, &main, &[old.clone()], at(11)).await.unwrap();
    assert_eq!(charged(&mut tx).await, Some(16), "figures of before the pass");
    ledger::set_usage(&mut tx, &main, &[], at(11)).await.unwrap();
    assert_eq!(charged(&mut tx).await, Some(16), "the pod was not seen at all yet");
    ledger::set_usage(&mut tx, &main, &[old], at(13)).await.unwrap();
    assert_eq!(charged(&mut tx).await, Some(0), "the observer has caught up");
}

async fn a_balance_never_falls_below_zero(db: Db) {
    let db = db.with_fleet().await;
    for (granted, held) in [(-5, 0), (0, -5)] {
        let mut tx = db.begin().await.unwrap();
        ledger::post(&mut tx, &event(1, "h100", "vision", 4, 4)).await.unwrap();
        assert_refused(ledger::post(&mut tx, &event(2, "h100", "vision", granted, held)).await);
        drop(tx);
        let mut tx = db.begin().await.unwrap();
        assert_refused(ledger::post(&mut tx, &event(3, "h100", "language", granted, held)).await);
    }
    let mut read = db.read().await.unwrap();
    assert!(
        ledger::events(&mut read, &offering_name("h100"), &Paging::default()).await.unwrap().items.is_empty()
    );
}

async fn events_move_balances(db: Db) {
    let db = db.with_fleet().await;
    let mut tx = db.begin().await.unwrap();
    let mut first = event(1, "h100", "vision", 4, 0);
    first.grant = Some(id(77));
    let posted = [
        first,
        event(2, "h100", "vision", 0, 4),
        event(3, "h100", "vision", -1, 0),
        event(4, "a100", "vision", 2, 2),
    ];
    for event in &posted {
        ledger::post(&mut tx, event).await.unwrap();
    }
    let events = ledger::events(&mut tx, &offering_name("h100"), &Paging::default()).await.unwrap().items;
    assert!(events.iter().eq(posted[..3].iter().rev()), "newest first: {events:?}");
    let rebuilt = ledger::rebuilt(&mut tx, &offering_name("h100")).await.unwrap();
    assert_eq!(rebuilt, [(team_name("vision"), (3, 4))].into());
    assert_refused(ledger::post(&mut tx, &posted[0]).await);
}

async fn use_of_a_cluster_is_replaced(db: Db) {
    let db = db.with_fleet().await;
    let main = main_cluster();
    let many: Vec<Usage> = (0..450).map(|n| usage(&format!("team-{n}"), GPU, n)).collect();
    let mut tx = db.begin().await.unwrap();
    ledger::set_usage(&mut tx, &main, &many, at(1)).await.unwrap();
    assert_eq!(ledger::usage(&mut tx, &main, &namespace("team-449")).await.unwrap(), many[449..]);
    let mut no_quota = usage("vision", "nvidia.com/mig-1g.10gb", 0);
    no_quota.hard = None;
    let few = [usage("vision", GPU, 2), no_quota];
    ledger::set_usage(&mut tx, &main, &few, at(2)).await.unwrap();
    assert_eq!(ledger::usage(&mut tx, &main, &namespace("vision")).await.unwrap(), few);
    assert!(ledger::usage(&mut tx, &main, &namespace("team-449")).await.unwrap().is_empty());
}

async fn what_nodes_can_give(db: Db) {
    let db = db.with_fleet().await;
    let h100 = offering_name("h100");
    let mut tx = db.begin().await.unwrap();
    assert_eq!(ledger::blocks(&mut tx, &h100).await.unwrap(), Blocks::default());
    for free in [vec![3, 3, 2], vec![8, 0, 8]] {
        let blocks = Blocks { sizes: vec![8, 8, 8], free };
        let seen = Observation { observed: Some(24), unmanaged: 0, blocks: blocks.clone(), at: at(1) };
        ledger::observe(&mut tx, &h100, &seen).await.unwrap();
        assert_eq!(ledger::blocks(&mut tx, &h100).await.unwrap(), blocks);
    }
}

/// A sequence that looks random and is the same each time (Knuth's constants for a linear congruence).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

async fn after_a_random_sequence_balances_are_the_sum_of_events(db: Db) {
    let db = db.with_fleet().await;
    let mut dice = Dice(3);
    let mut model: BTreeMap<(&str, &str), (i64, i64)> = BTreeMap::new();
    let (mut refused, mut dropped) = (0, 0);
    for n in 0..300 {
        let key = (
            ["h100", "a100"][usize::try_from(dice.roll(2)).unwrap()],
            ["vision", "language", "robotics"][usize::try_from(dice.roll(3)).unwrap()],
        );
        let (granted, held) =
            (i64::try_from(dice.roll(9)).unwrap() - 4, i64::try_from(dice.roll(9)).unwrap() - 4);
        let mut tx = db.begin().await.unwrap();
        offerings::lock(&mut tx, &offering_name(key.0)).await.unwrap();
        let posted = ledger::post(&mut tx, &event(n, key.0, key.1, granted, held)).await;
        let before = model.get(&key).copied().unwrap_or_default();
        let after = (before.0 + granted, before.1 + held);
        if after.0 < 0 || after.1 < 0 {
            assert_refused(posted);
            refused += 1;
        } else if dice.roll(5) == 0 {
            posted.unwrap();
            dropped += 1;
        } else {
            posted.unwrap();
            tx.commit().await.unwrap();
            model.insert(key, after);
        }
    }
    assert!(refused > 20 && dropped > 20 && model.len() == 6, "{refused} {dropped} {model:?}");

    let mut read = db.read().await.unwrap();
    assert_eq!(ledger::differences(&mut read).await.unwrap(), []);
    for (name, line) in ledger::lines(&mut read).await.unwrap() {
        let rebuilt = ledger::rebuilt(&mut read, &name).await.unwrap();
        let stored: BTreeMap<_, _> =
            line.holdings.iter().map(|(t, h)| (t.clone(), (h.granted, h.held))).collect();
        assert_eq!(rebuilt, stored);
        for (team, (granted, held)) in stored {
            let want = model[&(name.as_str(), team.as_str())];
            assert_eq!((i64::from(granted), i64::from(held)), want, "{name} {team}");
        }
    }
    drop(read);

    // The comparison can fail: a balance is changed behind its back, and another goes.
    let mut tx = db.begin().await.unwrap();
    for sql in [
        "UPDATE balances SET held = held + 1 WHERE offering = 'h100' AND team = 'vision'",
        "DELETE FROM balances WHERE offering = 'a100' AND team = 'language'",
    ] {
        sqlx::query(sql).execute(&mut *tx).await.unwrap();
    }
    let (changed, gone) = (model[&("h100", "vision")], model[&("a100", "language")]);
    let differences = ledger::differences(&mut tx).await.unwrap();
    assert_eq!(
        differences,
        [
            (offering_name("a100"), team_name("language"), (0, 0), gone),
            (offering_name("h100"), team_name("vision"), (changed.0, changed.1 + 1), changed),
        ]
    );
    sqlx::query("UPDATE ledger_events SET granted = -100000").execute(&mut *tx).await.unwrap();
    let negative = ledger::rebuilt(&mut tx, &offering_name("h100")).await;
    assert!(matches!(negative, Err(StoreError::Corrupt { .. })), "{negative:?}");
}

async fn a_thousand_teams_are_two_statements(db: Db) {
    let db = db.with_fleet().await;
    let mut tx = db.begin().await.unwrap();
    let mut rows = Vec::new();
    for n in 0..1000 {
        let name = format!("team-{n}");
        teams::insert(&mut tx, &team(&name)).await.unwrap();
        requests::insert(&mut tx, &request(1000 + n, &name, "h100")).await.unwrap();
        grants::insert(&mut tx, &grant(1000 + n, &name, "h100", &name, 1000 + n)).await.unwrap();
        ledger::post(&mut tx, &event(1000 + n, "h100", &name, 4, 4)).await.unwrap();
        rows.push(usage(&name, GPU, 2));
    }
    ledger::set_usage(&mut tx, &main_cluster(), &rows, at(1)).await.unwrap();
    tx.commit().await.unwrap();
    let mut read = db.read().await.unwrap();
    let start = std::time::Instant::now();
    let lines = ledger::lines(&mut read).await.unwrap();
    println!("{}: ledgers with 1,000 teams read in {:?}", db.name, start.elapsed());
    let line = &lines[1].1;
    assert_eq!((line.holdings.len(), line.granted(), line.running()), (1000, 4000, 2000));
}
