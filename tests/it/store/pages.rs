//! Cursors: no row is skipped, none comes twice, also while rows come; and both databases order alike.

use std::collections::BTreeSet;

use ::store::{Conn, Cursor, Paging, audit, ledger, nodes, outbox, requests, teams, users};
use domain::{
    api::{AuditEntry, Page},
    id::RequestId,
    people::Team,
};

use super::{
    balances::event,
    support::{Db, at, id, main_cluster, node, offering_name, request, team, user},
};

on_both!(
    pages_while_rows_are_inserted,
    every_list_is_whole_at_every_page_size,
    names_are_ordered_byte_by_byte,
    a_foreign_cursor_is_an_empty_page_and_no_error,
);

fn after(page_end: Option<String>, limit: u32) -> Paging {
    Paging { after: page_end.map(|text| text.parse::<Cursor>().unwrap()), limit }
}

async fn insert(db: &Db, n: u64) {
    let mut tx = db.begin().await.unwrap();
    requests::insert(&mut tx, &request(n, "vision", "h100")).await.unwrap();
    tx.commit().await.unwrap();
}

async fn pages_while_rows_are_inserted(db: Db) {
    let db = db.with_fleet().await;
    let there: BTreeSet<RequestId> = (1..=60).map(|n| id(n * 10)).collect();
    for n in 1..=60 {
        insert(&db, n * 10).await;
    }
    let (mut seen, mut next, mut pages): (Vec<RequestId>, Option<String>, u64) = (vec![], None, 0);
    loop {
        let mut read = db.read().await.unwrap();
        let page = requests::all(&mut read, None, None, None, &after(next, 7)).await.unwrap();
        drop(read);
        seen.extend(page.items.iter().map(|r| r.id));
        // One row that is newer than all, one in what was read already, one in what is still to come.
        insert(&db, 10_000 + pages).await;
        insert(&db, 595 - 10 * pages).await;
        insert(&db, 5 + 10 * pages).await;
        pages += 1;
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    let distinct: BTreeSet<_> = seen.iter().copied().collect();
    assert_eq!(seen.len(), distinct.len(), "a row came twice");
    assert!(there.is_subset(&distinct), "a row was skipped");
    assert!(seen.is_sorted_by(|a, b| a > b), "newest first");
    assert!(distinct.contains(&id(5)), "what came into the part to come is seen");
    assert!(!distinct.contains(&id(10_000)), "what came into the part that was read is not");
}

/// Walks through a list with one page size; gives the keys in order.
async fn walk<T>(
    limit: u32,
    key: impl Fn(&T) -> String,
    mut fetch: impl AsyncFnMut(Paging) -> ::store::Result<Page<T>>,
) -> Vec<String> {
    let (mut keys, mut next) = (Vec::new(), None);
    loop {
        let page = fetch(after(next, limit)).await.unwrap();
        assert!(page.items.len() <= usize::try_from(limit).unwrap());
        keys.extend(page.items.iter().map(&key));
        next = page.next;
        if next.is_none() {
            return keys;
        }
    }
}

async fn fill(conn: &mut Conn, rows: u64) {
    let mut all_nodes = Vec::new();
    for n in 100..100 + rows {
        users::insert(conn, &user(n, &format!("login-{n}")), "hash").await.unwrap();
        teams::insert(conn, &team(&format!("team-{n}"))).await.unwrap();
        requests::insert(conn, &request(n, "vision", "h100")).await.unwrap();
        ledger::post(conn, &event(n, "h100", "vision", 1, 1)).await.unwrap();
        let job = outbox::Job {
            id: id(n),
            kind: "apply".to_owned(),
            key: n.to_string(),
            due_at: at(0),
            attempts: 0,
            last_error: None,
        };
        outbox::enqueue(conn, &job).await.unwrap();
        let entry = AuditEntry {
            id: id(n),
            at: at(0),
            actor: None,
            actor_display: "job".to_owned(),
            action: "grant.end".to_owned(),
            subject: String::new(),
            team: None,
            detail: String::new(),
        };
        audit::record(conn, &entry).await.unwrap();
        all_nodes.push(node(&format!("gpu-{n}"), "NVIDIA-H100-80GB-HBM3"));
    }
    nodes::replace_all(conn, &main_cluster(), &all_nodes).await.unwrap();
}

async fn every_list_is_whole_at_every_page_size(db: Db) {
    const ROWS: u64 = 12;
    let db = db.with_fleet().await;
    let mut tx = db.begin().await.unwrap();
    fill(&mut tx, ROWS).await;
    tx.commit().await.unwrap();
    let mut read = db.read().await.unwrap();
    let c: &mut Conn = &mut read;
    let (main, h100, none) = (main_cluster(), offering_name("h100"), audit::Filter::default());
    for limit in [1, 4, 5, 6, 11, 12, 13, 200] {
        let lists = [
            walk(limit, |u: &domain::people::User| u.login.clone(), async |p| users::list(c, &p).await).await,
            walk(limit, |t: &Team| t.name.to_string(), async |p| teams::list(c, Some("team-"), &p).await)
                .await,
            walk(
                limit,
                |n: &domain::fleet::Node| n.name.clone(),
                async |p| nodes::list(c, &main, None, &p).await,
            )
            .await,
            walk(limit, |j: &outbox::Job| j.key.clone(), async |p| outbox::list(c, &p).await).await,
        ];
        for (keys, more) in lists.iter().zip([3, 0, 0, 0]) {
            assert_eq!(keys.len(), usize::try_from(ROWS + more).unwrap(), "{keys:?}");
            assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        }
        let newest_first = [
            walk(
                limit,
                |r: &domain::request::Request| r.id.to_string(),
                async |p| requests::of_team(c, &super::support::team_name("vision"), None, &p).await,
            )
            .await,
            walk(limit, |e: &ledger::Event| e.id.to_string(), async |p| ledger::events(c, &h100, &p).await)
                .await,
            walk(limit, |e: &AuditEntry| e.id.to_string(), async |p| audit::list(c, &none, &p).await).await,
        ];
        for keys in &newest_first {
            assert_eq!(keys.len(), usize::try_from(ROWS).unwrap(), "{keys:?}");
            assert!(keys.is_sorted_by(|a, b| a > b), "{keys:?}");
        }
    }
}

async fn names_are_ordered_byte_by_byte(db: Db) {
    let mut tx = db.begin().await.unwrap();
    for (n, login) in [(1, "b"), (2, "é"), (3, "a-b"), (4, "ab"), (5, "a.c"), (6, "a1")] {
        users::insert(&mut tx, &user(n, login), "hash").await.unwrap();
    }
    let logins =
        walk(2, |u: &domain::people::User| u.login.clone(), async |p| users::list(&mut tx, &p).await).await;
    assert_eq!(logins, ["a-b", "a.c", "a1", "ab", "b", "é"]);
}

async fn a_foreign_cursor_is_an_empty_page_and_no_error(db: Db) {
    let db = db.with_fleet().await;
    let mut read = db.read().await.unwrap();
    let paging = after(Some("7a7a7a".to_owned()), 10);
    let page = teams::list(&mut read, None, &paging).await.unwrap();
    assert_eq!((page.items.len(), page.next), (0, None));
}

/// A server's default collation may order names in another way than SQLite does, and an index in one collation does
/// not serve another.
#[tokio::test]
async fn every_index_of_postgres_compares_bytes() {
    let db = Db::postgres().await;
    let mut read = db.read().await.unwrap();
    let sql = "SELECT CAST(t.relname AS TEXT) || '.' || CAST(a.attname AS TEXT)
               FROM pg_index i
               JOIN pg_class t ON t.oid = i.indrelid
               JOIN pg_namespace n ON n.oid = t.relnamespace
               JOIN pg_attribute a ON a.attrelid = i.indexrelid
               JOIN pg_collation c ON c.oid = a.attcollation
               WHERE n.nspname = 'public' AND t.relname <> '_sqlx_migrations' AND c.collname <> 'C'";
    let other: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut *read).await.unwrap();
    assert!(other.is_empty(), "write COLLATE \"C\": {other:?}");
}
