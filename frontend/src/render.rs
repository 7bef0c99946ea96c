//! From a path to a document: load what the page shows, build it, put it into its frame.

use domain::{api::Problem, people::Actor};
use leptos::{prelude::*, reactive::owner::Owner};

use crate::{
    backend::Read,
    context::{Answer, PageContext},
    frame::{Content, Surroundings, document},
    pages,
    routes::Route,
    text as t,
    ui::encode,
};

/// Renders the page at `page.path`.
///
/// The status is 200, that of the problem which a read met, or, where a refused form is shown again, that of
/// [`FormState::problem`](crate::FormState::problem).
pub async fn render(page: PageContext) -> Answer {
    let Some(route) = Route::parse(&page.path) else {
        return render_problem(page, not_found()).await;
    };
    if page.actor.is_none() && !route.for_anyone() {
        return Answer::SignIn { location: sign_in(&page) };
    }
    let loaded = match (&page.actor, &route) {
        (Some(actor), _) => load(&page, actor, &route).await,
        (None, Route::Setup) => Ok(Loaded::Setup),
        (None, _) => Ok(Loaded::SignIn),
    };
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(problem) => return render_problem(page, problem).await,
    };
    let around = surroundings(&page, Some(&route)).await;
    let status = page.form.problem.as_ref().map_or(200, |problem| problem.status);
    finish(status, &page, &around, || show(&page, &around, loaded))
}

/// A page that says what went wrong, with the status of the problem.
pub async fn render_problem(page: PageContext, problem: Problem) -> Answer {
    let around = surroundings(&page, None).await;
    finish(problem.status, &page, &around, || pages::problem(&page, &problem))
}

fn sign_in(page: &PageContext) -> String {
    if page.path == "/" { "/sign-in".to_owned() } else { format!("/sign-in?next={}", encode(&page.path)) }
}

pub(crate) fn not_found() -> Problem {
    Problem {
        kind: "/problems/not-found".to_owned(),
        title: t::NOT_FOUND.to_owned(),
        status: 404,
        detail: t::NOT_FOUND_DETAIL.to_owned(),
        instance: None,
        fields: vec![],
        shortfalls: vec![],
    }
}

/// What stands around the page. A read that fails here must not take the page away, so it only leaves a gap.
async fn surroundings(page: &PageContext, route: Option<&Route>) -> Surroundings {
    let Some(actor) = &page.actor else { return Surroundings::default() };
    let teams = page.backend.my_teams(actor).await.unwrap_or_default();
    let inbox = page.backend.inbox_count(actor).await.unwrap_or_default();
    let team = match route.and_then(Route::team) {
        None => None,
        Some(name) => match teams.iter().find(|team| team.name == *name) {
            Some(own) => Some(own.clone()),
            None => page.backend.team(actor, name).await.ok(),
        },
    };
    Surroundings { teams, team, inbox }
}

/// Builds the view within a reactive owner that knows of islands, and writes it.
fn finish(
    status: u16,
    page: &PageContext,
    around: &Surroundings,
    content: impl FnOnce() -> Content,
) -> Answer {
    let owner = Owner::new_root(None);
    let body = owner.with(|| document(page, around, content()).to_html());
    drop(owner);
    Answer::Html { status, body: format!("<!DOCTYPE html>{body}") }
}

/// The data of a page.
enum Loaded {
    SignIn,
    Setup,
    Home(pages::HomeData),
    Catalogue(pages::CatalogueData),
    Team(pages::TeamData),
    Requests(pages::RequestsData),
    NewRequest(pages::NewRequestData),
    Request(pages::RequestData),
    Grant(pages::GrantData),
    Manifests(pages::ManifestsData),
    Members(pages::MembersData),
    Inbox(pages::InboxData),
    Dashboard(pages::DashboardData),
    Fleet(pages::FleetData),
    Audit(pages::AuditData),
}

async fn load(page: &PageContext, actor: &Actor, route: &Route) -> Read<Loaded> {
    Ok(match route {
        Route::SignIn => Loaded::SignIn,
        Route::Setup => Loaded::Setup,
        Route::Home => Loaded::Home(pages::HomeData::load(page, actor).await?),
        Route::Catalogue => Loaded::Catalogue(pages::CatalogueData::load(page, actor).await?),
        Route::Team(team) => Loaded::Team(pages::TeamData::load(page, actor, team).await?),
        Route::Requests(team) => Loaded::Requests(pages::RequestsData::load(page, actor, team).await?),
        Route::NewRequest(team) => Loaded::NewRequest(pages::NewRequestData::load(page, actor, team).await?),
        Route::Request(team, id) => Loaded::Request(pages::RequestData::load(page, actor, team, *id).await?),
        Route::Grant(team, id) => Loaded::Grant(pages::GrantData::load(page, actor, team, *id).await?),
        Route::Manifests(team) => Loaded::Manifests(pages::ManifestsData::load(page, actor, team).await?),
        Route::Members(team) => Loaded::Members(pages::MembersData::load(page, actor, team).await?),
        Route::Inbox => Loaded::Inbox(pages::InboxData::load(page, actor).await?),
        Route::Dashboard => Loaded::Dashboard(pages::DashboardData::load(page, actor).await?),
        Route::Fleet => Loaded::Fleet(pages::FleetData::load(page, actor).await?),
        Route::Audit => Loaded::Audit(pages::AuditData::load(page, actor).await?),
    })
}

fn show(page: &PageContext, around: &Surroundings, loaded: Loaded) -> Content {
    match loaded {
        Loaded::SignIn => pages::sign_in(page),
        Loaded::Setup => pages::setup(page),
        Loaded::Home(data) => data.show(page),
        Loaded::Catalogue(data) => data.show(page, &around.teams),
        Loaded::Team(data) => data.show(page),
        Loaded::Requests(data) => data.show(page),
        Loaded::NewRequest(data) => data.show(page),
        Loaded::Request(data) => data.show(page),
        Loaded::Grant(data) => data.show(page),
        Loaded::Manifests(data) => data.show(page),
        Loaded::Members(data) => data.show(page),
        Loaded::Inbox(data) => data.show(page),
        Loaded::Dashboard(data) => data.show(page),
        Loaded::Fleet(data) => data.show(page),
        Loaded::Audit(data) => data.show(page),
    }
}
