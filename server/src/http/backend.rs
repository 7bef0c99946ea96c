//! What pages read, answered by the use-cases.

use std::sync::Arc;

use app::{App, AppError, Ctx};
use async_trait::async_trait;
use domain::{
    api::{
        AuditEntry, CatalogueEntry, Dashboard, EmittedObject, GrantView, Page, Problem, RequestView,
        TeamQuota,
    },
    authz::{Action, Verdict, authorize},
    fleet::{Cluster, Node, Offering, Pool},
    id::{GrantId, RequestId},
    name::{ClusterName, TeamName},
    people::{Actor, Member, Team},
    request::RequestState,
};
use frontend::{AuditFilter, Backend, Part, Read};
use store::Paging;

use super::problem::{Answer, Refusal};

/// Rows of a list on a page.
const ROWS: u32 = 50;

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
    fn read<T>(&self, answer: Result<T, AppError>) -> Read<T> {
        answer.map_err(|error| Refusal::from(error).settle(&self.request_id))
    }
    fn paging(&self, part: &Part) -> Result<Paging, Problem> {
        paging(part).map_err(|refusal| refusal.settle(&self.request_id))
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
            teams.push(self.read(self.app.find_team(&ctx(actor), name).await)?);
        }
        Ok(teams)
    }

    async fn team(&self, actor: &Actor, team: &TeamName) -> Read<Team> {
        self.read(self.app.find_team(&ctx(actor), team).await)
    }

    async fn inbox_count(&self, actor: &Actor) -> Read<u32> {
        if authorize(actor, Action::DecideRequest, None) != Verdict::Allow {
            return Ok(0);
        }
        self.read(self.app.waiting_count(&ctx(actor)).await)
    }

    async fn catalogue(&self, actor: &Actor) -> Read<Vec<CatalogueEntry>> {
        let mut entries = self.read(self.app.catalogue(&ctx(actor)).await)?;
        entries.retain(|entry| !entry.offering.retired);
        Ok(entries)
    }

    async fn team_quota(&self, actor: &Actor, team: &TeamName) -> Read<TeamQuota> {
        self.read(self.app.team_quota(&ctx(actor), team).await)
    }

    async fn requests(
        &self,
        actor: &Actor,
        team: &TeamName,
        state: Option<RequestState>,
        part: &Part,
    ) -> Read<Page<RequestView>> {
        let paging = self.paging(part)?;
        self.read(self.app.list_requests(&ctx(actor), team, state, &paging).await)
    }

    async fn request(&self, actor: &Actor, team: &TeamName, id: RequestId) -> Read<RequestView> {
        self.read(self.app.find_request(&ctx(actor), team, id).await)
    }

    async fn grant(&self, actor: &Actor, team: &TeamName, id: GrantId) -> Read<GrantView> {
        self.read(self.app.find_grant(&ctx(actor), team, id).await)
    }

    async fn manifests(&self, actor: &Actor, team: &TeamName) -> Read<Vec<EmittedObject>> {
        self.read(self.app.manifests(&ctx(actor), team).await)
    }

    async fn members(&self, actor: &Actor, team: &TeamName) -> Read<Vec<Member>> {
        let mut members = self.read(self.app.members(&ctx(actor), team).await)?;
        members.sort_by(|a, b| b.role.cmp(&a.role).then_with(|| a.login.cmp(&b.login)));
        Ok(members)
    }

    async fn inbox(&self, actor: &Actor, part: &Part) -> Read<Page<RequestView>> {
        let paging = self.paging(part)?;
        let state = Some(RequestState::Submitted);
        self.read(self.app.inbox(&ctx(actor), state, None, None, &paging).await)
    }

    async fn dashboard(&self, actor: &Actor) -> Read<Dashboard> {
        self.read(self.app.dashboard(&ctx(actor)).await)
    }

    async fn clusters(&self, actor: &Actor) -> Read<Vec<Cluster>> {
        self.read(self.app.list_clusters(&ctx(actor)).await)
    }

    async fn pools(&self, actor: &Actor) -> Read<Vec<Pool>> {
        self.read(self.app.list_pools(&ctx(actor)).await)
    }

    async fn offerings(&self, actor: &Actor) -> Read<Vec<Offering>> {
        let entries = self.read(self.app.catalogue(&ctx(actor)).await)?;
        Ok(entries.into_iter().map(|entry| entry.offering).collect())
    }

    async fn nodes(&self, actor: &Actor, cluster: &ClusterName, part: &Part) -> Read<Page<Node>> {
        let paging = self.paging(part)?;
        self.read(self.app.list_nodes(&ctx(actor), cluster, None, &paging).await)
    }

    async fn audit(&self, actor: &Actor, filter: &AuditFilter, part: &Part) -> Read<Page<AuditEntry>> {
        let paging = self.paging(part)?;
        // A name that is none finds nothing.
        let Ok(team) = filter.team.as_deref().map(str::parse).transpose() else {
            return Ok(Page { items: vec![], next: None });
        };
        let filter = store::audit::Filter { team, action: filter.action.clone(), actor: None };
        self.read(self.app.audit(&ctx(actor), &filter, &paging).await)
    }
}
