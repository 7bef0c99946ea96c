//! Grants: what a team holds, and how a grant lives.
//!
//! `applying → enforced → reducing → ended`, with `published` in place of `enforced` where no cluster is
//! observed. What hinders it stands beside the state, it is no state of its own.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{
    fleet::Writer,
    id::{GrantId, RequestId},
    name::{ClusterName, NamespaceName, OfferingName, PoolName, TeamName},
    shape::Shape,
};

/// Where a grant stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GrantState {
    /// Promised; the cluster does not enforce it yet.
    Applying,
    /// The cluster has refused the probe: it is enforced.
    Enforced,
    /// Committed to git; nobody tells us whether it is applied.
    Published,
    /// Given back or expired; the lower limit is not confirmed yet.
    Reducing,
    /// Over.
    Ended,
}

impl GrantState {
    /// Does it count in the ledger as promised?
    #[must_use]
    pub fn counts(self) -> bool {
        matches!(self, Self::Applying | Self::Enforced | Self::Published)
    }
}

/// What a team holds of one offering.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Grant {
    /// Id.
    pub id: GrantId,
    /// Who holds it.
    pub team: TeamName,
    /// Of what.
    pub offering: OfferingName,
    /// From which pool.
    pub pool: PoolName,
    /// In which cluster.
    pub cluster: ClusterName,
    /// Namespace that it lives in.
    pub namespace: NamespaceName,
    /// How much, in which blocks.
    pub shape: Shape,
    /// With the team's fabric partition.
    pub partition: bool,
    /// Where it stands.
    pub state: GrantState,
    /// What hinders it, in words.
    pub blocked: Option<String>,
    /// When it was approved.
    pub starts_at: DateTime<Utc>,
    /// End of the lease.
    pub ends_at: DateTime<Utc>,
    /// Request that it came from.
    pub request: RequestId,
    /// Version for `If-Match`.
    pub version: i64,
}

impl Grant {
    /// Devices promised.
    #[must_use]
    pub fn amount(&self) -> u32 {
        if self.state.counts() { self.shape.amount() } else { 0 }
    }
}

/// Something that happens to a grant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happening {
    /// Another amount or another end was agreed.
    Changed,
    /// The lease is over, or the team gives all of it back.
    Over,
    /// The namespace as a whole was proved: the probes were refused and the limits are as written.
    Settled,
}

/// The state that follows; none where nothing changes.
#[must_use]
pub fn follow(state: GrantState, happening: Happening, writer: Writer) -> Option<GrantState> {
    use GrantState::{Applying, Ended, Enforced, Published, Reducing};
    match (state, happening) {
        (Enforced | Published, Happening::Changed) => Some(Applying),
        (Applying | Enforced | Published, Happening::Over) => Some(Reducing),
        (Applying, Happening::Settled) => Some(match writer {
            Writer::Kubernetes => Enforced,
            Writer::Git => Published,
        }),
        (Reducing, Happening::Settled) => Some(Ended),
        (Applying, Happening::Changed)
        | (Enforced | Published, Happening::Settled)
        | (Reducing, Happening::Changed | Happening::Over)
        | (Ended, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_life_of_a_grant() {
        use GrantState::{Applying, Ended, Enforced, Published, Reducing};
        let kube = |s, h| follow(s, h, Writer::Kubernetes);
        assert_eq!(kube(Applying, Happening::Settled), Some(Enforced));
        assert_eq!(follow(Applying, Happening::Settled, Writer::Git), Some(Published));
        assert_eq!(kube(Enforced, Happening::Changed), Some(Applying));
        assert_eq!(kube(Enforced, Happening::Over), Some(Reducing));
        assert_eq!(kube(Applying, Happening::Over), Some(Reducing));
        assert_eq!(kube(Reducing, Happening::Settled), Some(Ended));
        assert_eq!(kube(Ended, Happening::Changed), None);
        assert_eq!(kube(Reducing, Happening::Over), None);
    }
}
