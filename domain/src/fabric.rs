//! Fabric partitions: one per team and cluster, with its number, slot, resource and network.

use serde::{Deserialize, Serialize};

use crate::{
    name::{ClusterName, TeamName},
    resource::ResourceName,
};

/// Why a number is not a partition key that a team may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "partition key 0x{0:04x} cannot belong to a team; teams have 0x0001 to 0x7ffe (0x0000 is invalid, 0x7fff is the default partition)"
)]
pub struct PKeyError(pub u16);

/// A partition key: the 15-bit base; the membership bit (0x8000, full member) is added where a consumer wants it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = u16))]
#[serde(try_from = "u16", into = "u16")]
pub struct PKey(u16);

impl PKey {
    /// # Errors
    /// When the base is 0, the default partition, or has the membership bit.
    pub fn new(base: u16) -> Result<Self, PKeyError> {
        if (1..=0x7ffe).contains(&base) { Ok(Self(base)) } else { Err(PKeyError(base)) }
    }
    /// The 15-bit base, as in `partitions.conf`.
    #[must_use]
    pub fn base(self) -> u16 {
        self.0
    }
    /// With the full-member bit, as port tables, the device plugin and people show it: 0x8001 for base 0x0001.
    #[must_use]
    pub fn full_member(self) -> u16 {
        self.0 | 0x8000
    }
}

impl TryFrom<u16> for PKey {
    type Error = PKeyError;
    fn try_from(base: u16) -> Result<Self, PKeyError> {
        Self::new(base)
    }
}
impl From<PKey> for u16 {
    fn from(key: PKey) -> u16 {
        key.0
    }
}
impl std::fmt::Display for PKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "0x{:04x}", self.full_member())
    }
}

/// What names of resources of partitions begin with.
pub const RESOURCE_PREFIX: &str = "nvidia.com/sriov";

/// A team's partition on the fabric of a cluster.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Partition {
    /// Fabric of this cluster.
    pub cluster: ClusterName,
    /// Owner.
    pub team: TeamName,
    /// VF slot of each physical function that belongs to it: slot k belongs to partition number k.
    pub slot: u16,
    /// Key.
    pub pkey: PKey,
}

impl Partition {
    /// The partition that lies in `slot` (from 1).
    ///
    /// # Errors
    /// When the slot's number cannot be a key.
    pub fn in_slot(cluster: ClusterName, team: TeamName, slot: u16) -> Result<Self, PKeyError> {
        Ok(Self { cluster, team, slot, pkey: PKey::new(slot)? })
    }

    /// Resource name of its VFs: `nvidia.com/sriov8001` for key 0x0001 as full member.
    ///
    /// # Panics
    /// Never: the name is made of a constant prefix and four hexadecimal digits.
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "a constant prefix and four hexadecimal digits are a resource name"
    )]
    pub fn resource(&self) -> ResourceName {
        ResourceName::new(format!("{RESOURCE_PREFIX}{:04x}", self.pkey.full_member()))
            .expect("a resource name")
    }

    /// Name of its network (NetworkAttachmentDefinition): `ib-p0001`.
    #[must_use]
    pub fn network(&self) -> String {
        format!("ib-p{:04x}", self.pkey.base())
    }
}

/// Lowest free slot of `slots`, given those that are taken.
#[must_use]
pub fn free_slot(slots: u16, taken: &[u16]) -> Option<u16> {
    (1..=slots.min(0x7ffe)).find(|slot| !taken.contains(slot))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_three_forms() {
        let partition =
            Partition::in_slot(ClusterName::new("c").unwrap(), TeamName::new("vision").unwrap(), 1).unwrap();
        assert_eq!(partition.resource().as_str(), "nvidia.com/sriov8001");
        assert_eq!(partition.network(), "ib-p0001");
        assert_eq!(partition.pkey.to_string(), "0x8001");
    }

    #[test]
    fn keys_that_no_team_may_have() {
        for bad in [0, 0x7fff, 0x8000, 0x8001, 0xffff] {
            assert!(PKey::new(bad).is_err(), "{bad:x}");
        }
    }

    #[test]
    fn slots_are_given_from_below() {
        assert_eq!(free_slot(4, &[]), Some(1));
        assert_eq!(free_slot(4, &[1, 3]), Some(2));
        assert_eq!(free_slot(2, &[1, 2]), None);
        assert_eq!(free_slot(0, &[]), None);
    }
}
