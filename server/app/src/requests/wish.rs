//! A wish, read against what is stored, and whether it fits.

use domain::{
    Timestamp,
    api::{FieldError, FitAnswer, FreesUp},
    fabric::Partition,
    fleet::{Cluster, Offering, Pool},
    grant::Grant,
    id::GrantId,
    ledger::{self, Decision, Dimension, Line, Shortfall},
    name::{OfferingName, TeamName},
    request::{self, Ask},
    resource::AMOUNT_MAX,
    shape::{Blocks, Shape},
};
use store::Conn;

use crate::{AppError, Result, fleet, teams};

/// A wish, read against what is stored: everything that deciding it needs.
pub(super) struct Wish {
    pub offering: Offering,
    pub pool: Pool,
    pub cluster: Cluster,
    pub line: Line,
    pub blocks: Blocks,
    /// The grant that it changes.
    pub grant: Option<Grant>,
    pub shape: Shape,
    /// Devices beyond what the team is granted now.
    pub more: u32,
    pub partition: bool,
    pub ends_at: Timestamp,
    /// Last day asked for; none for a change of the amount.
    pub until: Option<chrono::NaiveDate>,
    /// The team's partition in the cluster.
    pub existing: Option<Partition>,
    pub taken_slots: Vec<u16>,
}

impl Wish {
    /// Devices of the offering that the team is promised now.
    pub(super) fn granted(&self, team: &TeamName) -> u32 {
        self.line.holdings.get(team).map_or(0, |h| h.granted)
    }
}

/// Offering that an ask is about.
pub(super) async fn offering_of(conn: &mut Conn, team: &TeamName, ask: &Ask) -> Result<OfferingName> {
    match ask {
        Ask::New { offering, .. } => Ok(offering.clone()),
        Ask::Change { grant, .. } | Ask::Extend { grant, .. } => {
            Ok(running_grant(conn, team, *grant).await?.offering)
        }
    }
}

pub(super) fn no_offering(name: &OfferingName) -> AppError {
    AppError::invalid("ask.offering", format!("there is no offering `{name}`; see the catalogue"))
}

async fn running_grant(conn: &mut Conn, team: &TeamName, id: GrantId) -> Result<Grant> {
    let grant = store::grants::find(conn, team, id)
        .await?
        .ok_or_else(|| AppError::invalid("ask.grant", format!("team {team} has no grant {id}")))?;
    if grant.state.counts() {
        Ok(grant)
    } else {
        Err(AppError::conflict(format!("grant {id} is over; ask for a new one")))
    }
}

/// Reads an ask against what is stored.
pub(super) async fn wish(conn: &mut Conn, team: &TeamName, ask: &Ask) -> Result<Wish> {
    let (name, grant) = match ask {
        Ask::New { offering, .. } => (offering.clone(), None),
        Ask::Change { grant, .. } | Ask::Extend { grant, .. } => {
            let grant = running_grant(conn, team, *grant).await?;
            (grant.offering.clone(), Some(grant))
        }
    };
    let found = store::offerings::find(conn, &name).await?;
    let offering = found.ok_or_else(|| no_offering(&name))?;
    let pool = fleet::find_pool(conn, &offering.pool).await?;
    let cluster = fleet::find_cluster(conn, &pool.cluster).await?;
    let before = grant.as_ref().map_or(0, Grant::amount);
    let (shape, partition, until) = match (ask, &grant) {
        (Ask::New { shape, partition, until, .. }, _) => (*shape, *partition, Some(*until)),
        (Ask::Change { shape, .. }, Some(grant)) => (*shape, grant.partition, None),
        (Ask::Extend { until, .. }, Some(grant)) => (grant.shape, grant.partition, Some(*until)),
        (_, None) => return Err(AppError::not_found("the grant")),
    };
    check_shape(shape, &offering, partition)?;
    if teams::find(conn, team).await?.retired || offering.retired || pool.retired {
        return Err(AppError::conflict(format!(
            "team {team}, offering {name} or pool {} is retired; nothing new can be promised",
            pool.name
        )));
    }
    if let Some(grant) = &grant {
        check_change(ask, grant)?;
    }
    let ends_at = match (until, &grant) {
        (Some(until), _) => request::lease_end(until),
        (None, Some(grant)) => grant.ends_at,
        (None, None) => return Err(AppError::not_found("the grant")),
    };
    Ok(Wish {
        line: store::ledger::line(conn, &name).await?.unwrap_or_default(),
        blocks: store::ledger::blocks(conn, &name).await?,
        existing: store::partitions::find(conn, &cluster.name, team).await?,
        taken_slots: store::partitions::taken(conn, &cluster.name).await?,
        more: shape.amount().saturating_sub(before),
        offering,
        pool,
        cluster,
        grant,
        shape,
        partition,
        ends_at,
        until,
    })
}

/// A change is for more, an extension for later: anything else needs no approval, or was overtaken by another.
fn check_change(ask: &Ask, grant: &Grant) -> Result<()> {
    match ask {
        Ask::Change { shape, .. } if shape.amount() < grant.amount() => Err(AppError::invalid(
            "ask.shape",
            format!(
                "{} is less than the {} granted; a lower amount needs no approval: give back {}",
                shape.amount(),
                grant.amount(),
                grant.amount() - shape.amount()
            ),
        )),
        Ask::Extend { until, .. } if request::lease_end(*until) <= grant.ends_at => Err(AppError::invalid(
            "ask.until",
            format!("the grant runs until {} already; choose a later day", request::last_day(grant.ends_at)),
        )),
        _ => Ok(()),
    }
}

fn check_shape(shape: Shape, offering: &Offering, partition: bool) -> Result<()> {
    let mut fields = vec![];
    if shape.nodes == 0 {
        fields.push(FieldError::new("ask.shape.nodes", "must be at least 1"));
    }
    if shape.per_node == 0 {
        fields.push(FieldError::new("ask.shape.per_node", "must be at least 1"));
    }
    if shape.amount() > AMOUNT_MAX {
        fields.push(FieldError::new(
            "ask.shape",
            format!("{} × {} is more than {AMOUNT_MAX}", shape.nodes, shape.per_node),
        ));
    }
    if partition && !offering.partition {
        fields.push(FieldError::new("ask.partition", format!("offering {} has no fabric; leave the partition out, or take an offering of whole GPUs that has one", offering.name)));
    }
    if fields.is_empty() { Ok(()) } else { Err(AppError::Invalid { fields }) }
}

/// Refuses what no state of the pool could serve, so that nobody waits for it.
pub(super) fn never_possible(wish: &Wish, now: Timestamp) -> Result<()> {
    let mut shortfalls = vec![];
    if let Some(until) = wish.until {
        shortfalls.extend(request::check_lease(&wish.pool.rules, now.date_naive(), until).err());
    }
    let declared =
        Line { capacity: ledger::Capacity { observed: None, ..wish.line.capacity }, ..Line::default() };
    let alone = ledger::decide(
        &declared,
        &wish.blocks,
        &TeamName::new("nobody").map_err(|e| AppError::internal("a constant name", e))?,
        wish.shape,
        wish.shape.amount(),
    );
    if let Decision::Short { shortfalls: never } = alone {
        shortfalls.extend(never);
    }
    if wish.partition && wish.cluster.fabric_slots == 0 {
        shortfalls.push(no_slot(wish));
    }
    if shortfalls.is_empty() { Ok(()) } else { Err(AppError::short(shortfalls)) }
}

/// Does it fit now: ledger, shape, partition.
pub(super) async fn answer(
    conn: &mut Conn,
    team: &TeamName,
    wish: &Wish,
    now: Timestamp,
) -> Result<FitAnswer> {
    let mut decision = ledger::decide(&wish.line, &wish.blocks, team, wish.shape, wish.more);
    let mut partition = None;
    let mut new_partition = false;
    let mut refused = vec![];
    if wish.partition {
        partition = wish.existing.clone();
        if partition.is_none() {
            new_partition = true;
            match domain::fabric::free_slot(wish.cluster.fabric_slots, &wish.taken_slots) {
                Some(slot) => {
                    partition = Partition::in_slot(wish.cluster.name.clone(), team.clone(), slot).ok();
                }
                None => refused.push(no_slot(wish)),
            }
        }
    }
    if let Some(until) = wish.until {
        refused.extend(request::check_lease(&wish.pool.rules, now.date_naive(), until).err());
    }
    if !refused.is_empty() {
        decision = match decision {
            Decision::Short { mut shortfalls } => {
                shortfalls.extend(refused);
                Decision::Short { shortfalls }
            }
            Decision::Fits { .. } => Decision::Short { shortfalls: refused },
        };
    }
    let needed = request::approvals_needed(&wish.pool.rules, wish.more);
    let itself = request::approves_itself(&wish.pool.rules, wish.granted(team), wish.more, decision.fits());
    Ok(FitAnswer {
        frees_up: if decision.fits() { None } else { frees_up(conn, &wish.offering.name, now).await? },
        approvals_needed: if itself { 0 } else { needed },
        ends_at: Some(wish.ends_at),
        partition,
        new_partition,
        decision,
    })
}

fn no_slot(wish: &Wish) -> Shortfall {
    let (slots, taken) =
        (u32::from(wish.cluster.fabric_slots), u32::try_from(wish.taken_slots.len()).unwrap_or(u32::MAX));
    let detail = if slots == 0 {
        format!("cluster {} has no fabric; ask without a partition", wish.cluster.name)
    } else {
        format!(
            "all {slots} partitions of cluster {} belong to teams; ask without a partition, or ask an admin for more slots",
            wish.cluster.name
        )
    };
    Shortfall {
        dimension: Dimension::Partition,
        limit: slots,
        used: taken,
        requested: 1,
        shortfall: 1,
        detail,
    }
}

/// The next lease of the offering that ends.
async fn frees_up(conn: &mut Conn, offering: &OfferingName, now: Timestamp) -> Result<Option<FreesUp>> {
    let grants = store::grants::of_offering(conn, offering).await?;
    let next = grants.iter().filter(|g| g.state.counts() && g.ends_at > now).min_by_key(|g| g.ends_at);
    Ok(next.map(|g| FreesUp { at: g.ends_at, amount: g.amount() }))
}
