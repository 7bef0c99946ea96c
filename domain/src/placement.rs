//! Which namespace a grant lives in.
//!
//! Kubernetes quota does not know nodes, so within a namespace a resource name belongs to exactly one pool. A
//! team's second pool with the same resource name gets a namespace of its own.

use crate::{
    name::{NamespaceName, PoolName, TeamName},
    resource::ResourceName,
};

/// A resource that a team already has a place for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// Namespace that carries it.
    pub namespace: NamespaceName,
    /// Pool that serves it.
    pub pool: PoolName,
    /// Resource name.
    pub resource: ResourceName,
}

/// Namespace for `resource` of `pool`: where this pair is already placed, else the team's first namespace unless
/// another pool has the name there, else the namespace of the pool.
#[must_use]
pub fn place(team: &TeamName, pool: &PoolName, resource: &ResourceName, placed: &[Placed]) -> NamespaceName {
    if let Some(same) = placed.iter().find(|p| p.pool == *pool && p.resource == *resource) {
        return same.namespace.clone();
    }
    let first = NamespaceName::of_team(team);
    let clash = placed.iter().any(|p| p.namespace == first && p.resource == *resource && p.pool != *pool);
    if clash { NamespaceName::of_team_and_pool(team, pool) } else { first }
}

/// Ways to read a team's name as another team's namespace of a pool: team `a-b` and pool `b` of team `a` would meet.
pub fn readings(team: &TeamName) -> impl Iterator<Item = (TeamName, PoolName)> + '_ {
    let name = team.as_str();
    name.match_indices('-')
        .filter_map(|(at, _)| Some((TeamName::new(&name[..at]).ok()?, PoolName::new(&name[at + 1..]).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_teams_name_may_be_anothers_namespace() {
        let team = TeamName::new("a-b-c").unwrap();
        let pairs: Vec<_> = readings(&team).map(|(t, p)| format!("{t} {p}")).collect();
        assert_eq!(pairs, ["a b-c", "a-b c"]);
    }

    #[test]
    fn a_second_pool_with_the_same_resource_gets_its_own_namespace() {
        let (team, gpu) = (TeamName::new("vision").unwrap(), ResourceName::new("nvidia.com/gpu").unwrap());
        let (h100, a100) = (PoolName::new("h100").unwrap(), PoolName::new("a100").unwrap());
        let first = place(&team, &h100, &gpu, &[]);
        assert_eq!(first.as_str(), "vision");
        let placed = [Placed { namespace: first.clone(), pool: h100.clone(), resource: gpu.clone() }];
        assert_eq!(place(&team, &h100, &gpu, &placed), first);
        assert_eq!(place(&team, &a100, &gpu, &placed).as_str(), "vision-a100");
        let slice = ResourceName::new("nvidia.com/mig-1g.10gb").unwrap();
        assert_eq!(place(&team, &a100, &slice, &placed).as_str(), "vision");
    }
}
