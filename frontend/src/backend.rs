//! What pages read. The server implements it with its use-cases; nothing here does HTTP.

use std::collections::BTreeMap;

use async_trait::async_trait;
use domain::{
    api::{
        AuditEntry, CatalogueEntry, Dashboard, EmittedObject, GrantView, Page, Problem, RequestView,
        TeamQuota,
    },
    fleet::{Cluster, Node, Offering, Pool},
    id::{GrantId, RequestId},
    name::{ClusterName, DisplayName, TeamName},
    people::{Actor, Member, Team},
    request::RequestState,
};

/// The answer of a read: data, or the problem that the page shows with its status (404 for what the actor may
/// not see, 403 for what they may not do).
pub type Read<T> = Result<T, Problem>;

/// Which part of a list is wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// `cursor` of the URL: where the page begins; none: at the start.
    pub cursor: Option<String>,
}

/// Filter of the audit list, as it stands in the URL.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AuditFilter {
    /// Only this team. Not parsed: a name that is none simply finds nothing.
    pub team: Option<String>,
    /// Only actions that begin with this: `request.` or `request.approve`.
    pub action: Option<String>,
}

/// Reads for pages. Every function authorises `actor` itself; a page shows what it gets.
///
/// Times in problems and summaries are in words already; all other texts are the page's.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Teams that the actor is a member of, for the team switcher.
    async fn my_teams(&self, actor: &Actor) -> Read<Vec<Team>>;

    /// One team, for its name in the frame; 404 where the actor may not see it.
    async fn team(&self, actor: &Actor, team: &TeamName) -> Read<Team>;

    /// What the teams that the actor may see are called, for lists of other things.
    async fn team_names(&self, actor: &Actor) -> Read<BTreeMap<TeamName, DisplayName>>;

    /// Requests that the actor could decide now, for the number beside the inbox; 0 for those who decide nothing.
    async fn inbox_count(&self, actor: &Actor) -> Read<u32>;

    /// What can be asked for, and whether it is there. Retired offerings are left out.
    async fn catalogue(&self, actor: &Actor) -> Read<Vec<CatalogueEntry>>;

    /// What a team has. `lines` holds only offerings of which the team has a grant that is not ended, or uses
    /// something.
    async fn team_quota(&self, actor: &Actor, team: &TeamName) -> Read<TeamQuota>;

    /// Requests of a team, newest first.
    async fn requests(
        &self,
        actor: &Actor,
        team: &TeamName,
        state: Option<RequestState>,
        part: &Part,
    ) -> Read<Page<RequestView>>;

    /// One request with its comments.
    async fn request(&self, actor: &Actor, team: &TeamName, id: RequestId) -> Read<RequestView>;

    /// One grant with the proofs of its namespace.
    async fn grant(&self, actor: &Actor, team: &TeamName, id: GrantId) -> Read<GrantView>;

    /// All objects that gpuaas writes for a team.
    async fn manifests(&self, actor: &Actor, team: &TeamName) -> Read<Vec<EmittedObject>>;

    /// People of a team, leads first.
    async fn members(&self, actor: &Actor, team: &TeamName) -> Read<Vec<Member>>;

    /// Requests that wait, oldest first, each with `fit`; for those who decide.
    async fn inbox(&self, actor: &Actor, part: &Part) -> Read<Page<RequestView>>;

    /// Figures of all offerings, for platform roles.
    async fn dashboard(&self, actor: &Actor) -> Read<Dashboard>;

    /// All clusters, for platform roles.
    async fn clusters(&self, actor: &Actor) -> Read<Vec<Cluster>>;

    /// All pools, for platform roles.
    async fn pools(&self, actor: &Actor) -> Read<Vec<Pool>>;

    /// All offerings, for platform roles, retired ones too.
    async fn offerings(&self, actor: &Actor) -> Read<Vec<Offering>>;

    /// Nodes of a cluster by name, for platform roles.
    async fn nodes(&self, actor: &Actor, cluster: &ClusterName, part: &Part) -> Read<Page<Node>>;

    /// Audit list, newest first, for platform roles.
    async fn audit(&self, actor: &Actor, filter: &AuditFilter, part: &Part) -> Read<Page<AuditEntry>>;
}
