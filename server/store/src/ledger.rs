//! The ledger: events, the balances that are their sum, and what clusters show of use.

use std::collections::BTreeMap;

use domain::{
    Timestamp,
    api::Page,
    id::{EventId, GrantId},
    ledger::{Capacity, Holding, Line},
    name::{ClusterName, NamespaceName, OfferingName, TeamName},
    resource::ResourceName,
    shape::Blocks,
};
use sqlx::{Row, any::AnyRow};

use crate::{
    clusters::lock,
    cursor::Paging,
    error::Result,
    row::{
        from_json, insert_many, json, micros, number, number_or_none, parsed, parsed_or_none, query, time,
    },
    select::{Order, Select},
    store::Conn,
};

/// One movement of a team's balance in an offering.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Id; sorts by time.
    pub id: EventId,
    /// Of what.
    pub offering: OfferingName,
    /// Whose.
    pub team: TeamName,
    /// Grant that it is about.
    pub grant: Option<GrantId>,
    /// Change of what is promised, in devices.
    pub granted: i64,
    /// Change of what the cluster may still let the team have, in devices.
    pub held: i64,
    /// Why: `approved`, `expired`, `confirmed` …
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

/// What a cluster shows of an offering.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observation {
    /// Devices that ready nodes advertise; none where nothing is observed.
    pub observed: Option<u32>,
    /// Devices held by pods outside team namespaces.
    pub unmanaged: u32,
    /// What single nodes can give.
    pub blocks: Blocks,
    /// When.
    pub at: Timestamp,
}

/// What quota and pods of a namespace say about one resource, in devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Usage {
    /// Namespace.
    pub namespace: NamespaceName,
    /// Resource.
    pub resource: ResourceName,
    /// `status.hard` of the quota; none where there is no quota yet.
    pub hard: Option<u32>,
    /// `status.used` of the quota.
    pub charged: u32,
    /// Sum over pods that are bound to a node.
    pub running: u32,
    /// Sum over pods that wait for a node.
    pub pending: u32,
}

/// Promised and held of a team in an offering, as signed sums.
pub type Balance = (i64, i64);

/// Balances beside the use in the namespace in which the team has the offering's resource.
macro_rules! holdings {
    ($condition:literal) => {
        concat!(
            "SELECT b.offering, b.team, b.granted, b.held, COALESCE(u.running, 0) AS running,
                    COALESCE(u.pending, 0) AS pending, COALESCE(u.charged, 0) AS charged
             FROM balances b
             JOIN offerings o ON o.name = b.offering
             LEFT JOIN placements p ON p.team = b.team AND p.pool = o.pool AND p.resource = o.resource
             LEFT JOIN namespace_usage u
                    ON u.cluster = p.cluster AND u.namespace = p.namespace AND u.resource = p.resource ",
            $condition
        )
    };
}

fn holding(row: &AnyRow) -> Result<Holding> {
    Ok(Holding {
        granted: number(row, "granted")?,
        held: number(row, "held")?,
        running: number(row, "running")?,
        pending: number(row, "pending")?,
        charged: number(row, "charged")?,
    })
}

fn empty_line(row: &AnyRow) -> Result<Line> {
    Ok(Line {
        capacity: Capacity {
            declared: number(row, "declared")?,
            observed: number_or_none(row, "observed")?,
            overcommit_percent: number(row, "overcommit_percent")?,
        },
        unmanaged: number(row, "unmanaged")?,
        holdings: BTreeMap::new(),
    })
}

fn event(row: &AnyRow) -> Result<Event> {
    Ok(Event {
        id: parsed(row, "id")?,
        offering: parsed(row, "offering")?,
        team: parsed(row, "team")?,
        grant: parsed_or_none(row, "grant_id")?,
        granted: row.try_get("granted")?,
        held: row.try_get("held")?,
        reason: row.try_get("reason")?,
        at: time(row, "at")?,
    })
}

/// The ledger of an offering. Two statements.
pub async fn line(conn: &mut Conn, offering: &OfferingName) -> Result<Option<Line>> {
    let row = query(
        "SELECT f.declared, f.overcommit_percent, s.observed, COALESCE(s.unmanaged, 0) AS unmanaged
         FROM offerings f LEFT JOIN observations s ON s.offering = f.name WHERE f.name = $1",
    )
    .bind(offering.as_str())
    .fetch_optional(&mut *conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let mut line = empty_line(&row)?;
    let rows =
        query(holdings!("WHERE b.offering = $1")).bind(offering.as_str()).fetch_all(&mut *conn).await?;
    for row in &rows {
        line.holdings.insert(parsed(row, "team")?, holding(row)?);
    }
    Ok(Some(line))
}

/// The ledgers of all offerings, by name. Two statements, however many offerings and teams there are.
pub async fn lines(conn: &mut Conn) -> Result<Vec<(OfferingName, Line)>> {
    let rows = query(
        "SELECT f.name, f.declared, f.overcommit_percent, s.observed, COALESCE(s.unmanaged, 0) AS unmanaged
         FROM offerings f LEFT JOIN observations s ON s.offering = f.name",
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut lines: BTreeMap<OfferingName, Line> = BTreeMap::new();
    for row in &rows {
        lines.insert(parsed(row, "name")?, empty_line(row)?);
    }
    for row in &query(holdings!("")).fetch_all(&mut *conn).await? {
        if let Some(line) = lines.get_mut(&parsed(row, "offering")?) {
            line.holdings.insert(parsed(row, "team")?, holding(row)?);
        }
    }
    Ok(lines.into_iter().collect())
}

/// What a team holds, by offering; also offerings of which it holds nothing any more.
pub async fn of_team(conn: &mut Conn, team: &TeamName) -> Result<Vec<(OfferingName, Holding)>> {
    let rows = query(holdings!("WHERE b.team = $1 ORDER BY b.offering"))
        .bind(team.as_str())
        .fetch_all(&mut *conn)
        .await?;
    rows.iter().map(|row| Ok((parsed(row, "offering")?, holding(row)?))).collect()
}

/// What single nodes can give of an offering; empty where no node was seen.
pub async fn blocks(conn: &mut Conn, offering: &OfferingName) -> Result<Blocks> {
    let row = query("SELECT blocks FROM observations WHERE offering = $1")
        .bind(offering.as_str())
        .fetch_optional(&mut *conn)
        .await?;
    row.as_ref().map_or_else(|| Ok(Blocks::default()), |row| from_json(row, "blocks"))
}

/// Records an event and moves the balance by it. Call it under [`crate::offerings::lock`].
///
/// # Errors
/// [`crate::StoreError::Database`] when a balance would fall below zero; then drop the transaction.
pub async fn post(conn: &mut Conn, event: &Event) -> Result<()> {
    query(
        "INSERT INTO ledger_events (id, offering, team, grant_id, granted, held, reason, at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(event.id.to_string())
    .bind(event.offering.as_str())
    .bind(event.team.as_str())
    .bind(event.grant.map(|g| g.to_string()))
    .bind(event.granted)
    .bind(event.held)
    .bind(event.reason.as_str())
    .bind(micros(event.at))
    .execute(&mut *conn)
    .await?;
    let moved = query(
        "UPDATE balances SET granted = granted + $1, held = held + $2 WHERE offering = $3 AND team = $4",
    )
    .bind(event.granted)
    .bind(event.held)
    .bind(event.offering.as_str())
    .bind(event.team.as_str())
    .execute(&mut *conn)
    .await?;
    if moved.rows_affected() == 0 {
        query("INSERT INTO balances (offering, team, granted, held) VALUES ($1, $2, $3, $4)")
            .bind(event.offering.as_str())
            .bind(event.team.as_str())
            .bind(event.granted)
            .bind(event.held)
            .execute(&mut *conn)
            .await?;
    }
    Ok(())
}

/// Events of an offering, newest first.
pub async fn events(conn: &mut Conn, offering: &OfferingName, paging: &Paging) -> Result<Page<Event>> {
    Select::new("SELECT id, offering, team, grant_id, granted, held, reason, at FROM ledger_events")
        .equals("offering", Some(offering.as_str()))
        .page(conn, "id", Order::Down, paging, event)
        .await
}

/// Promised and held of each team, summed up from the events of an offering.
///
/// # Errors
/// [`crate::StoreError::Corrupt`] when a sum is negative.
pub async fn rebuilt(conn: &mut Conn, offering: &OfferingName) -> Result<BTreeMap<TeamName, (u32, u32)>> {
    let rows = query(
        "SELECT team, CAST(SUM(granted) AS BIGINT) AS granted, CAST(SUM(held) AS BIGINT) AS held
         FROM ledger_events WHERE offering = $1 GROUP BY team",
    )
    .bind(offering.as_str())
    .fetch_all(&mut *conn)
    .await?;
    rows.iter()
        .map(|row| Ok((parsed(row, "team")?, (number(row, "granted")?, number(row, "held")?))))
        .collect()
}

/// Where a stored balance is not the sum of its events: offering, team, stored, rebuilt. Reads all events.
pub async fn differences(conn: &mut Conn) -> Result<Vec<(OfferingName, TeamName, Balance, Balance)>> {
    let rows = query(
        "SELECT offering, team,
                CAST(SUM(bg) AS BIGINT) AS bg, CAST(SUM(bh) AS BIGINT) AS bh,
                CAST(SUM(eg) AS BIGINT) AS eg, CAST(SUM(eh) AS BIGINT) AS eh
         FROM (SELECT offering, team, granted AS bg, held AS bh, 0 AS eg, 0 AS eh FROM balances
               UNION ALL
               SELECT offering, team, 0, 0, granted, held FROM ledger_events) AS entries
         GROUP BY offering, team
         HAVING SUM(bg) <> SUM(eg) OR SUM(bh) <> SUM(eh)
         ORDER BY offering, team",
    )
    .fetch_all(&mut *conn)
    .await?;
    rows.iter()
        .map(|row| {
            Ok((
                parsed(row, "offering")?,
                parsed(row, "team")?,
                (row.try_get("bg")?, row.try_get("bh")?),
                (row.try_get("eg")?, row.try_get("eh")?),
            ))
        })
        .collect()
}

/// Replaces what the cluster shows of an offering.
pub async fn observe(conn: &mut Conn, offering: &OfferingName, seen: &Observation) -> Result<()> {
    query(
        "INSERT INTO observations (offering, observed, unmanaged, blocks, at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (offering) DO UPDATE SET observed = excluded.observed, unmanaged = excluded.unmanaged,
             blocks = excluded.blocks, at = excluded.at",
    )
    .bind(offering.as_str())
    .bind(seen.observed.map(i64::from))
    .bind(i64::from(seen.unmanaged))
    .bind(json("blocks", &seen.blocks)?)
    .bind(micros(seen.at))
    .execute(&mut *conn)
    .await?;
    Ok(())
}

/// An observer may be this far behind a pass over a namespace.
const FRESH: chrono::Duration = chrono::Duration::seconds(2);

/// Replaces the use in all namespaces of a cluster. What [`note_used`] wrote a moment ago is not lowered: the caller's
/// figures may be older than that.
pub async fn set_usage(conn: &mut Conn, cluster: &ClusterName, usage: &[Usage], at: Timestamp) -> Result<()> {
    lock(conn, cluster).await?;
    let noted = query(
        "SELECT namespace, resource, charged, noted_at FROM namespace_usage WHERE cluster = $1 AND noted_at > $2",
    )
    .bind(cluster.as_str())
    .bind(micros(at - FRESH))
    .fetch_all(&mut *conn)
    .await?;
    query("DELETE FROM namespace_usage WHERE cluster = $1")
        .bind(cluster.as_str())
        .execute(&mut *conn)
        .await?;
    let insert = (
        "INSERT INTO namespace_usage (cluster, namespace, resource, hard, charged, running, pending, at)",
        8,
        "",
    );
    insert_many(conn, insert, usage, |query, usage| {
        Ok(query
            .bind(cluster.as_str())
            .bind(usage.namespace.as_str())
            .bind(usage.resource.as_str())
            .bind(usage.hard.map(i64::from))
            .bind(i64::from(usage.charged))
            .bind(i64::from(usage.running))
            .bind(i64::from(usage.pending))
            .bind(micros(at)))
    })
    .await?;
    for row in &noted {
        let namespace = NamespaceName::stored(row.try_get("namespace")?);
        keep_noted(
            conn,
            cluster,
            (&namespace, &resource(row)?),
            number(row, "charged")?,
            row.try_get("noted_at")?,
        )
        .await?;
    }
    Ok(())
}

/// Notes what a pass over a namespace saw in the status of its quota, where that is more than is known: limits of others
/// are decided on it in the same transaction.
pub async fn note_used(
    conn: &mut Conn,
    cluster: &ClusterName,
    namespace: &NamespaceName,
    used: &BTreeMap<ResourceName, u32>,
    at: Timestamp,
) -> Result<()> {
    lock(conn, cluster).await?;
    for (resource, charged) in used {
        keep_noted(conn, cluster, (namespace, resource), *charged, micros(at)).await?;
    }
    Ok(())
}

async fn keep_noted(
    conn: &mut Conn,
    cluster: &ClusterName,
    (namespace, resource): (&NamespaceName, &ResourceName),
    charged: u32,
    noted_at: i64,
) -> Result<()> {
    query(
        "INSERT INTO namespace_usage (cluster, namespace, resource, charged, running, pending, at, noted_at)
         VALUES ($1, $2, $3, $4, 0, 0, $5, $5)
         ON CONFLICT (cluster, namespace, resource) DO UPDATE SET noted_at = excluded.noted_at, charged =
             CASE WHEN namespace_usage.charged < excluded.charged THEN excluded.charged ELSE namespace_usage.charged END",
    )
    .bind(cluster.as_str())
    .bind(namespace.as_str())
    .bind(resource.as_str())
    .bind(i64::from(charged))
    .bind(noted_at)
    .execute(&mut *conn)
    .await?;
    Ok(())
}

/// The use in a namespace, by resource.
pub async fn usage(conn: &mut Conn, cluster: &ClusterName, namespace: &NamespaceName) -> Result<Vec<Usage>> {
    let rows = query(
        "SELECT namespace, resource, hard, charged, running, pending FROM namespace_usage
         WHERE cluster = $1 AND namespace = $2 ORDER BY resource",
    )
    .bind(cluster.as_str())
    .bind(namespace.as_str())
    .fetch_all(&mut *conn)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(Usage {
                namespace: NamespaceName::stored(row.try_get("namespace")?),
                resource: resource(row)?,
                hard: number_or_none(row, "hard")?,
                charged: number(row, "charged")?,
                running: number(row, "running")?,
                pending: number(row, "pending")?,
            })
        })
        .collect()
}

pub(crate) fn resource(row: &AnyRow) -> Result<ResourceName> {
    ResourceName::new(row.try_get::<String, _>("resource")?)
        .map_err(|e| crate::StoreError::corrupt("resource", e))
}
