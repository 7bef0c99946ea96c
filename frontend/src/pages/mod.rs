//! The pages. Each has a type that holds what it shows, with `load` that reads it and `show` that builds the view.

mod audit;
mod catalogue;
mod dashboard;
mod decision;
mod fleet;
mod grant;
mod home;
mod inbox;
mod manifests;
mod members;
mod new_request;
mod problem;
mod request;
mod requests;
mod sign_in;
mod team;

pub(crate) use {
    audit::AuditData,
    catalogue::CatalogueData,
    dashboard::DashboardData,
    fleet::FleetData,
    grant::GrantData,
    home::HomeData,
    inbox::InboxData,
    manifests::ManifestsData,
    members::MembersData,
    new_request::NewRequestData,
    problem::problem,
    request::RequestData,
    requests::RequestsData,
    sign_in::{setup, sign_in},
    team::TeamData,
};

use domain::{
    api::CatalogueEntry,
    authz::{Action, Verdict, authorize},
    fleet::Offering,
    ledger::Holding,
    name::TeamName,
    people::{Actor, Team},
    request::Request,
};
use leptos::prelude::*;

use crate::ui::{bar, granted_bar, quota_bar};

/// May the actor do it to the team? Only decides what is shown; the use-case decides for itself.
pub(crate) fn may(actor: Option<&Actor>, action: Action, team: Option<&TeamName>) -> bool {
    actor.is_some_and(|actor| authorize(actor, action, team) == Verdict::Allow)
}

/// A team's part of an offering, drawn; where nobody observes use, that is said in place of figures.
fn of_team(unit: &str, holding: Holding, observed: bool) -> AnyView {
    if observed {
        return bar(&quota_bar(unit, holding));
    }
    view! {
        {bar(&granted_bar(unit, holding))}
        <p class="quiet mt-2 text-sm">{crate::text::USE_UNKNOWN}</p>
    }
    .into_any()
}

/// Breadcrumbs of a page below a team.
fn team_trail(team: &Team) -> Vec<(String, String)> {
    vec![(team.display.to_string(), format!("/teams/{}", team.name))]
}

/// Worth of several amounts in GPUs, to one decimal: `19`, `14.5`.
fn worth<'a>(amounts: impl Iterator<Item = (&'a Offering, u32)>) -> String {
    let milli: u64 = amounts.map(|(o, n)| u64::from(o.effective_milli) * u64::from(n)).sum();
    let tenths = (milli + 50) / 100;
    if tenths.is_multiple_of(10) {
        (tenths / 10).to_string()
    } else {
        format!("{}.{}", tenths / 10, tenths % 10)
    }
}

/// Amount and offering of a request of a team; the offering's key where the team holds none of it yet.
fn request_words(catalogue: &[CatalogueEntry], request: &Request) -> String {
    let unit = catalogue
        .iter()
        .find(|entry| entry.offering.name == request.offering)
        .map_or(request.offering.as_str(), |entry| entry.offering.display.as_str());
    if request.more > 0 { crate::text::amount(request.more, unit) } else { unit.to_owned() }
}

/// Length of a list as an amount.
fn len<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).unwrap_or(u32::MAX)
}
