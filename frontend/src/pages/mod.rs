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

use std::collections::BTreeMap;

use domain::{
    api::CatalogueEntry,
    authz::{Action, Verdict, authorize},
    fleet::Offering,
    ledger::Holding,
    name::{DisplayName, TeamName},
    people::{Actor, Team},
    request::Request,
};
use leptos::prelude::*;

use crate::ui::{bar, cell, granted_bar, quota_bar, two};

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

/// What teams are called.
type TeamNames = BTreeMap<TeamName, DisplayName>;

/// What a team is called; its key where that is not known.
fn display_of(names: &TeamNames, team: &TeamName) -> String {
    names.get(team).map_or_else(|| team.to_string(), ToString::to_string)
}

/// A team in a list: what it is called, with its key.
fn team_cell(names: &TeamNames, team: &TeamName) -> AnyView {
    cell(crate::text::TEAM, two(display_of(names, team), team.as_str()))
}

/// The same, as a link to the team.
fn team_link(names: &TeamNames, team: &TeamName) -> AnyView {
    let href = format!("/teams/{team}");
    let display = display_of(names, team);
    let key = (display != team.as_str())
        .then(|| view! { <span class="quiet block text-[0.8125rem]"><code>{team.to_string()}</code></span> });
    view! { <a class="a font-medium" href=href>{display}</a> {key} }.into_any()
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
