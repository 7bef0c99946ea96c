//! The ledger of one offering: who holds how much of it, and whether a wish fits.
//!
//! Three figures belong to each team. `granted` is what the ledger promises. `held` is the most that the
//! cluster may still let the team have: it follows a lowering only when the cluster has reported it. `used` is
//! what runs or waits. A wish is decided on `granted` and `used` ([`decide`]); a quota is raised only when the
//! sum of what may be held leaves room ([`next_step`]). So a move from A to B has two phases, and the sum of all
//! limits in the cluster never passes the capacity.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    name::TeamName,
    shape::{Blocks, Shape},
};

/// How many devices there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Capacity {
    /// What the admin declared.
    pub declared: u32,
    /// What ready nodes advertise; none where nothing is observed.
    pub observed: Option<u32>,
    /// Promises allowed in percent of the capacity; 100 unless a shared pool is over-committed on purpose.
    pub overcommit_percent: u32,
}

impl Capacity {
    /// Devices that may be promised: the smaller of declared and observed, times the over-commit factor.
    #[must_use]
    pub fn limit(self) -> u32 {
        let base = self.observed.map_or(self.declared, |o| o.min(self.declared));
        u32::try_from(u64::from(base) * u64::from(self.overcommit_percent.max(100)) / 100).unwrap_or(u32::MAX)
    }
}

/// One team's part of an offering.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Holding {
    /// Promised: the sum of the team's grants that count.
    pub granted: u32,
    /// The most that the cluster may still let the team have.
    pub held: u32,
    /// Devices of pods that are bound to a node.
    pub running: u32,
    /// Devices of pods that wait for a node. They are charged to the quota as well.
    pub pending: u32,
    /// What the quota's status says is used. Above `running + pending` for a while after failed creates.
    pub charged: u32,
}

impl Holding {
    /// The larger of our own sum over pods and the quota's status.
    #[must_use]
    pub fn used(self) -> u32 {
        self.charged.max(self.running.saturating_add(self.pending))
    }
    /// What this team takes away from others: a grant that was lowered below use still takes what is used.
    #[must_use]
    pub fn taken(self) -> u32 {
        self.granted.max(self.used())
    }
    /// The most that the team can have in the cluster at this moment.
    #[must_use]
    pub fn ceiling(self) -> u32 {
        self.held.max(self.used())
    }
    /// Devices above the grant that still run.
    #[must_use]
    pub fn over(self) -> u32 {
        self.used().saturating_sub(self.granted)
    }
    /// Granted and not used.
    #[must_use]
    pub fn unused(self) -> u32 {
        self.granted.saturating_sub(self.used())
    }
}

/// The ledger of one offering.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Line {
    /// How many devices there are.
    pub capacity: Capacity,
    /// Devices held by pods outside team namespaces.
    pub unmanaged: u32,
    /// Per team.
    pub holdings: BTreeMap<TeamName, Holding>,
}

impl Line {
    /// Sum of all promises.
    #[must_use]
    pub fn granted(&self) -> u32 {
        self.sum(|h| h.granted)
    }
    /// Sum of devices of bound pods of teams.
    #[must_use]
    pub fn running(&self) -> u32 {
        self.sum(|h| h.running)
    }
    /// Sum of devices of waiting pods of teams.
    #[must_use]
    pub fn pending(&self) -> u32 {
        self.sum(|h| h.pending)
    }
    /// What lowered grants still block: until the cluster has reported the lower limit, or until it is used no more.
    #[must_use]
    pub fn reserved(&self) -> u32 {
        self.sum(|h| h.ceiling().saturating_sub(h.granted))
    }
    /// What can still be promised.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.capacity.limit().saturating_sub(self.engaged())
    }
    /// What is promised or used beyond what there is, for example after a node died. Never an error.
    #[must_use]
    pub fn deficit(&self) -> u32 {
        self.engaged().saturating_sub(self.capacity.limit())
    }
    /// Promised or used, unmanaged use included.
    #[must_use]
    pub fn engaged(&self) -> u32 {
        self.sum(Holding::taken).saturating_add(self.unmanaged)
    }
    fn sum(&self, of: impl Fn(Holding) -> u32) -> u32 {
        self.holdings.values().fold(0, |sum, h| sum.saturating_add(of(*h)))
    }
}

/// What a limit is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Devices that can be promised.
    Capacity,
    /// Blocks that single nodes can give.
    Shape,
    /// Slots of the fabric.
    Partition,
    /// Days that a lease may run.
    Lease,
}

/// One reason why something does not fit, in numbers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Shortfall {
    /// What the limit is about.
    pub dimension: Dimension,
    /// How much there is in all.
    pub limit: u32,
    /// How much of it is taken.
    pub used: u32,
    /// How much was asked for.
    pub requested: u32,
    /// How much is missing.
    pub shortfall: u32,
    /// The whole reason in one sentence, with what would do.
    pub detail: String,
}

/// Does it fit?
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// It can be promised.
    Fits {
        /// Free after it.
        free_after: u32,
        /// The quota is raised only when this many devices of lowered grants are confirmed back; 0: at once.
        waits_for: u32,
        /// Does not stop the promise, but the asker should know: no block of this size is free now.
        warnings: Vec<Shortfall>,
    },
    /// It cannot be promised now, or never.
    Short {
        /// Each reason.
        shortfalls: Vec<Shortfall>,
    },
}

impl Decision {
    /// Can it be promised?
    #[must_use]
    pub fn fits(&self) -> bool {
        matches!(self, Self::Fits { .. })
    }
}

/// Can `team` be promised `more` devices beyond what it is promised now, in blocks of `shape`?
///
/// `blocks` is what nodes can give; where no node is known (empty) the shape is not judged.
#[must_use]
pub fn decide(line: &Line, blocks: &Blocks, team: &TeamName, shape: Shape, more: u32) -> Decision {
    let mut shortfalls: Vec<Shortfall> = never(blocks, shape).into_iter().collect();
    let own = line.holdings.get(team).copied().unwrap_or_default();
    let after = Holding { granted: own.granted.saturating_add(more), ..own };
    let limit = line.capacity.limit();
    let engaged = (line.engaged() - own.taken()).saturating_add(after.taken());
    if more > 0 && engaged > limit {
        let free = line.free();
        let used = limit.min(line.engaged());
        shortfalls.push(Shortfall {
            dimension: Dimension::Capacity,
            limit,
            used,
            requested: more,
            shortfall: engaged - limit,
            detail: capacity_detail(line, more, free),
        });
    }
    if !shortfalls.is_empty() {
        return Decision::Short { shortfalls };
    }
    let ceilings: u32 = line.holdings.values().fold(line.unmanaged, |s, h| s.saturating_add(h.ceiling()));
    let needed = (ceilings - own.ceiling()).saturating_add(after.granted.max(own.ceiling()));
    Decision::Fits {
        free_after: limit.saturating_sub(engaged),
        waits_for: if more == 0 { 0 } else { needed.saturating_sub(limit) },
        warnings: not_now(blocks, shape).into_iter().collect(),
    }
}

fn capacity_detail(line: &Line, more: u32, free: u32) -> String {
    let (limit, granted) = (line.capacity.limit(), line.granted());
    let mut parts = vec![format!("{granted} granted")];
    let over = line.sum(Holding::over);
    if over > 0 {
        parts.push(format!("{over} in use above their grant"));
    }
    if line.unmanaged > 0 {
        parts.push(format!("{} used outside team namespaces", line.unmanaged));
    }
    let deficit = line.deficit();
    let tail = match (free, deficit) {
        (0, 0) => "nothing is free; wait until a lease ends, or ask for another offering".to_owned(),
        (0, d) => format!("{d} more are promised than there are"),
        (f, _) => format!("ask for at most {f}"),
    };
    format!("{more} asked, {free} free of {limit} ({}); {tail}", parts.join(", "))
}

/// A shape that no node, or not enough nodes, could ever give.
fn never(blocks: &Blocks, shape: Shape) -> Option<Shortfall> {
    if blocks.sizes.is_empty() || shape.per_node == 0 {
        return None;
    }
    let (possible, largest) = (blocks.possible_blocks(shape.per_node), blocks.largest());
    (possible < shape.nodes).then(|| Shortfall {
        dimension: Dimension::Shape,
        limit: if largest < shape.per_node { largest } else { possible },
        used: 0,
        requested: if largest < shape.per_node { shape.per_node } else { shape.nodes },
        shortfall: if largest < shape.per_node { shape.per_node - largest } else { shape.nodes - possible },
        detail: if largest < shape.per_node {
            format!("{} on one node asked, the largest node has {largest}; ask for at most {largest} on each node", shape.per_node)
        } else {
            format!("{} blocks of {} asked, the nodes of this pool have {possible}", shape.nodes, shape.per_node)
        },
    })
}

/// A shape that the nodes cannot give at this moment.
fn not_now(blocks: &Blocks, shape: Shape) -> Option<Shortfall> {
    if blocks.sizes.is_empty() || shape.per_node == 0 {
        return None;
    }
    let (possible, free) = (blocks.possible_blocks(shape.per_node), blocks.free_blocks(shape.per_node));
    (free < shape.nodes).then(|| Shortfall {
        dimension: Dimension::Shape,
        limit: possible,
        used: possible - free,
        requested: shape.nodes,
        shortfall: shape.nodes - free,
        detail: format!(
            "{} blocks of {} asked, {free} are free on single nodes now; the largest free block is {}",
            shape.nodes,
            shape.per_node,
            blocks.largest_free()
        ),
    })
}

/// The next move of a team's quota towards its grant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The quota says what was granted.
    Keep,
    /// Write the lower limit; it is held until the cluster reports it.
    Lower {
        /// New limit.
        to: u32,
    },
    /// Reserve, then write the higher limit.
    Raise {
        /// New limit.
        to: u32,
    },
    /// Lowered grants are not confirmed yet, or a node is gone: the old limit stays.
    Wait {
        /// Devices that are missing.
        missing: u32,
    },
}

/// Decides the next move. Called with the offering's row locked, so that two raises cannot share one gap.
#[must_use]
pub fn next_step(line: &Line, team: &TeamName) -> Step {
    let own = line.holdings.get(team).copied().unwrap_or_default();
    match own.granted.cmp(&own.held) {
        std::cmp::Ordering::Equal => Step::Keep,
        std::cmp::Ordering::Less => Step::Lower { to: own.granted },
        std::cmp::Ordering::Greater => {
            let others = line
                .holdings
                .iter()
                .filter(|(name, _)| *name != team)
                .fold(line.unmanaged, |sum, (_, h)| sum.saturating_add(h.ceiling()));
            let needed = others.saturating_add(own.granted.max(own.used()));
            match needed.checked_sub(line.capacity.limit()) {
                None | Some(0) => Step::Raise { to: own.granted },
                Some(missing) => Step::Wait { missing },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn team(name: &str) -> TeamName {
        TeamName::new(name).unwrap()
    }
    fn line(declared: u32, holdings: &[(&str, Holding)]) -> Line {
        Line {
            capacity: Capacity { declared, observed: None, overcommit_percent: 100 },
            unmanaged: 0,
            holdings: holdings.iter().map(|(n, h)| (team(n), *h)).collect(),
        }
    }
    fn settled(granted: u32, running: u32) -> Holding {
        Holding { granted, held: granted, running, pending: 0, charged: running }
    }
    fn one(n: u32) -> Shape {
        Shape { nodes: n, per_node: 1 }
    }
    fn free_after(decision: &Decision) -> u32 {
        match decision {
            Decision::Fits { free_after, .. } => *free_after,
            Decision::Short { shortfalls } => panic!("short: {shortfalls:?}"),
        }
    }

    #[test]
    fn case_04_lowering_below_use_frees_only_what_is_not_used() {
        let blue = Holding { granted: 4, held: 4, running: 6, pending: 0, charged: 6 };
        let pool = line(8, &[("blue", blue)]);
        assert_eq!(blue.over(), 2);
        assert_eq!(pool.free(), 2);
        let Decision::Short { shortfalls } = decide(&pool, &Blocks::default(), &team("cyan"), one(3), 3)
        else {
            panic!("3 must be refused")
        };
        assert_eq!((shortfalls[0].requested, shortfalls[0].shortfall), (3, 1));
        assert!(shortfalls[0].detail.contains("2 free of 8"), "{}", shortfalls[0].detail);
        assert_eq!(free_after(&decide(&pool, &Blocks::default(), &team("cyan"), one(2), 2)), 0);
        let later = line(8, &[("blue", settled(4, 2)), ("cyan", settled(2, 0))]);
        assert_eq!((later.free(), later.holdings[&team("blue")].over()), (2, 0));
    }

    #[test]
    fn case_05_nine_and_ten_are_more_than_ten() {
        let pool = line(10, &[("red", settled(9, 9))]);
        assert!(!decide(&pool, &Blocks::default(), &team("blue"), one(10), 10).fits());
        assert!(decide(&pool, &Blocks::default(), &team("blue"), one(1), 1).fits());
    }

    #[test]
    fn use_outside_team_namespaces_counts() {
        let mut pool = line(8, &[("red", settled(4, 0))]);
        pool.unmanaged = 3;
        assert_eq!(pool.free(), 1);
        assert!(!decide(&pool, &Blocks::default(), &team("red"), one(2), 2).fits());
    }

    #[test]
    fn a_dead_node_makes_a_deficit_and_no_error() {
        let mut pool = line(16, &[("red", settled(12, 8))]);
        pool.capacity.observed = Some(8);
        assert_eq!((pool.free(), pool.deficit()), (0, 4));
        assert_eq!(next_step(&pool, &team("red")), Step::Keep);
    }

    #[test]
    fn a_move_has_two_phases() {
        let red = Holding { granted: 0, held: 8, ..Holding::default() };
        let mut pool = line(8, &[("red", red), ("blue", Holding::default())]);
        let decision = decide(&pool, &Blocks::default(), &team("blue"), one(8), 8);
        assert!(matches!(decision, Decision::Fits { waits_for: 8, .. }), "{decision:?}");
        pool.holdings.get_mut(&team("blue")).unwrap().granted = 8;
        assert_eq!(next_step(&pool, &team("blue")), Step::Wait { missing: 8 });
        assert_eq!(next_step(&pool, &team("red")), Step::Lower { to: 0 });
        pool.holdings.get_mut(&team("red")).unwrap().held = 0;
        assert_eq!(next_step(&pool, &team("blue")), Step::Raise { to: 8 });
    }

    #[test]
    fn a_shape_that_no_node_can_give_is_refused_and_one_that_is_not_free_is_told() {
        let pool = line(24, &[("red", settled(16, 16))]);
        let blocks = Blocks { sizes: vec![8, 8, 8], free: vec![3, 3, 2] };
        let Decision::Short { shortfalls } =
            decide(&pool, &blocks, &team("blue"), Shape { nodes: 1, per_node: 16 }, 16)
        else {
            panic!()
        };
        assert_eq!(shortfalls[0].dimension, Dimension::Shape);
        assert!(shortfalls[0].detail.contains("largest node has 8"));
        let Decision::Fits { warnings, .. } =
            decide(&pool, &blocks, &team("blue"), Shape { nodes: 1, per_node: 8 }, 8)
        else {
            panic!()
        };
        assert!(warnings[0].detail.contains("largest free block is 3"), "{}", warnings[0].detail);
    }

    #[test]
    fn huge_numbers_do_not_overflow() {
        let huge = Shape { nodes: u32::MAX, per_node: u32::MAX };
        let pool = line(crate::resource::AMOUNT_MAX, &[("red", settled(crate::resource::AMOUNT_MAX, 0))]);
        assert!(!decide(&pool, &Blocks::default(), &team("blue"), huge, huge.amount()).fits());
    }

    #[derive(Clone, Debug)]
    enum Move {
        Grant(usize, u32),
        Lower(usize, u32),
        Step(usize),
        Confirm(usize),
    }

    fn moves() -> impl Strategy<Value = Vec<Move>> {
        let one = prop_oneof![
            (0usize..3, 1u32..9).prop_map(|(t, n)| Move::Grant(t, n)),
            (0usize..3, 1u32..9).prop_map(|(t, n)| Move::Lower(t, n)),
            (0usize..3).prop_map(Move::Step),
            (0usize..3).prop_map(Move::Confirm),
        ];
        proptest::collection::vec(one, 0..80)
    }

    proptest! {
        /// Whatever the order of approvals, lowerings and late reports: neither the promises nor the limits
        /// that the cluster may hold ever pass the capacity.
        #[test]
        fn never_over_promised(moves in moves()) {
            let names = ["red", "blue", "green"].map(team);
            let mut pool = line(16, &[]);
            let mut written = [0u32; 3];
            for m in moves {
                match m {
                    Move::Grant(t, n) => if decide(&pool, &Blocks::default(), &names[t], one(n), n).fits() {
                        pool.holdings.entry(names[t].clone()).or_default().granted += n;
                    },
                    Move::Lower(t, n) => { let h = pool.holdings.entry(names[t].clone()).or_default(); h.granted = h.granted.saturating_sub(n); }
                    Move::Step(t) => match next_step(&pool, &names[t]) {
                        Step::Raise { to } => { pool.holdings.entry(names[t].clone()).or_default().held = to; written[t] = to; }
                        Step::Lower { to } => written[t] = to,
                        Step::Keep | Step::Wait { .. } => {}
                    },
                    Move::Confirm(t) => { let h = pool.holdings.entry(names[t].clone()).or_default(); if written[t] <= h.granted { h.held = written[t]; } }
                }
                prop_assert!(pool.granted() <= 16);
                prop_assert!(pool.holdings.values().map(|h| h.held).sum::<u32>() <= 16);
                prop_assert!(written.iter().sum::<u32>() <= 16, "limits in the cluster: {written:?}");
            }
        }
    }
}
