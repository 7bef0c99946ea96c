//! What pages read, answered by the use-cases.

use std::{collections::BTreeMap, sync::Arc};

use app::{App, Ctx};
use async_trait::async_trait;
use domain::{
    api::{
        AuditEntry, CatalogueEntry, Dashboard, EmittedObject, GrantView, Page, Problem, RequestView,
        TeamQuota,
    },
    authz::{Action, Verdict, authorize},
    fleet::{Cluster, Node, Offering, Pool},
    id::{GrantId, RequestId},
    name::{ClusterName, DisplayName, TeamName},
    people::{Actor, Member, Team},
    request::RequestState,
};
use frontend::{AuditFilter, Backend, Part, Read};
use store::Paging;

use super::problem::{Answer, Refusal};

/// Rows of a list on a page.
const ROWS: u32 = 50;

/// Rows of a list that is read to its end.
const MANY: u32 = 200;

/// The use-cases, for one request.
pub(crate) struct AppBackend {
    app: App,
    request_id: Arc<str>,
}

impl AppBackend {
    pub(crate) fn new(app: App, request_id: Arc<str>) -> Self {
        Self { app, request_id }
    }
    /// The problem that the page shows; what is for us alone is logged.
    fn problem(&self, refusal: impl Into<Refusal>) -> Problem {
        refusal.into().settle(&self.request_id)
    }
}

fn paging(part: &Part) -> Answer<Paging> {
    let after = part.cursor.as_deref().map(str::parse).transpose();
    let after = after.map_err(|error| Refusal::invalid("cursor", error))?;
    Ok(Paging { after, limit: ROWS })
}

fn ctx(actor: &Actor) -> Ctx {
    Ctx { actor: actor.clone() }
}

#[async_trait]
impl Backend for AppBackend {
    async fn my_teams(&self, actor: &Actor) -> Read<Vec<Team>> {
        let mut teams = vec![];
        for name in actor.teams.keys() {
            teams.push(self.app.find_team(&ctx(actor), name).await.map_err(|error| self.problem(error))?);
        }
        Ok(teams)
    }

    async fn team(&self, actor: &Actor, team: &TeamName) -> Read<Team> {
        self.app.find_team(&ctx(actor), team).await.map_err(|error| self.problem(error))
    }

    async fn team_names(&self, actor: &Actor) -> Read<BTreeMap<TeamName, DisplayName>> {
        let mut names = BTreeMap::new();
        let mut part = Part::default();
        loop {
            let after = paging(&part).map_err(|refusal| self.problem(refusal))?.after;
            let paging = Paging { after, limit: MANY };
            let page = self.app.list_teams(&ctx(actor), None, &paging).await;
            let page = page.map_err(|error| self.problem(error))?;
            names.extend(page.items.into_iter().map(|team| (team.name, team.display)));
            part.cursor = page.next;
            if part.cursor.is_none() {
                return Ok(names);
            }
        }
    }

    async fn inbox_count(&self, actor: &Actor) -> Read<u32> {
        if authorize(actor, Action::DecideRequest, None) != Verdict::Allow {
            return Ok(0);
        }
        self.app.waiting_count(&ctx(actor)).await.map_err(|error| self.problem(error))
    }

    async fn catalogue(&self, actor: &Actor) -> Read<Vec<CatalogueEntry>> {
        let mut entries = self.app.catalogue(&ctx(actor)).await.map_err(|error| self.problem(error))?;
        entries.retain(|entry| !entry.offering.retired);
        Ok(entries)
    }

    async fn team_quota(&self, actor: &Actor, team: &TeamName) -> Read<TeamQuota> {
        self.app.team_quota(&ctx(actor), team).await.map_err(|error| self.problem(error))
    }

    async fn requests(
        &self,
        actor: &Actor,
        team: &TeamName,
        state: Option<RequestState>,
        part: &Part,
    ) -> Read<Page<RequestView>> {
        let paging = paging(part).map_err(|refusal| self.problem(refusal))?;
        self.app.list_requests(&ctx(actor), team, state, &paging).await.map_err(|error| self.problem(error))
    }

    async fn request(&self, actor: &Actor, team: &TeamName, id: RequestId) -> Read<RequestView> {
        self.app.find_request(&ctx(actor), team, id).await.map_err(|error| self.problem(error))
    }

    async fn grant(&self, actor: &Actor, team: &TeamName, id: GrantId) -> Read<GrantView> {
        self.app.find_grant(&ctx(actor), team, id).await.map_err(|error| self.problem(error))
    }

    async fn manifests(&self, actor: &Actor, team: &TeamName) -> Read<Vec<EmittedObject>> {
        self.app.manifests(&ctx(actor), team).await.map_err(|error| self.problem(error))
    }

    async fn members(&self, actor: &Actor, team: &TeamName) -> Read<Vec<Member>> {
        let mut members = self.app.members(&ctx(actor), team).await.map_err(|error| self.problem(error))?;
        members.sort_by(|a, b| b.role.cmp(&a.role).then_with(|| a.login.cmp(&b.login)));
        Ok(members)
    }

    async fn inbox(&self, actor: &Actor, part: &Part) -> Read<Page<RequestView>> {
        let paging = paging(part).map_err(|refusal| self.problem(refusal))?;
        let state = Some(RequestState::Submitted);
        self.app.inbox(&ctx(actor), state, None, None, &paging).await.map_err(|error| self.problem(error))
    }

    async fn dashboard(&self, actor: &Actor) -> Read<Dashboard> {
        self.app.dashboard(&ctx(actor)).await.map_err(|error| self.problem(error))
    }

    async fn clusters(&self, actor: &Actor) -> Read<Vec<Cluster>> {
        self.app.list_clusters(&ctx(actor)).await.map_err(|error| self.problem(error))
    }

    async fn pools(&self, actor: &Actor) -> Read<Vec<Pool>> {
        self.app.list_pools(&ctx(actor)).await.map_err(|error| self.problem(error))
    }

    async fn offerings(&self, actor: &Actor) -> Read<Vec<Offering>> {
        let entries = self.app.catalogue(&ctx(actor)).await.map_err(|error| self.problem(error))?;
        Ok(entries.into_iter().map(|entry| entry.offering).collect())
    }

    async fn nodes(&self, actor: &Actor, cluster: &ClusterName, part: &Part) -> Read<Page<Node>> {
        let paging = paging(part).map_err(|refusal| self.problem(refusal))?;
        self.app.list_nodes(&ctx(actor), cluster, None, &paging).await.map_err(|error| self.problem(error))
    }

    async fn audit(&self, actor: &Actor, filter: &AuditFilter, part: &Part) -> Read<Page<AuditEntry>> {
        let paging = paging(part).map_err(|refusal| self.problem(refusal))?;
        // A name that is none finds nothing.
        let Ok(team) = filter.team.as_deref().map(str::parse).transpose() else {
            return Ok(Page { items: vec![], next: None });
        };
        let filter = store::audit::Filter { team, action: filter.action.clone(), actor: None };
        self.app.audit(&ctx(actor), &filter, &paging).await.map_err(|error| self.problem(error))
    }
}
