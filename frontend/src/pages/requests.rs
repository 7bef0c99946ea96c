//! Requests of a team.

use domain::{
    api::{Page, RequestView},
    authz::Action,
    name::TeamName,
    people::{Actor, Team},
    request::RequestState,
};
use leptos::prelude::*;

use super::{may, team_trail};
use crate::{
    backend::{Part, Read},
    context::PageContext,
    frame::Content,
    text as t,
    ui::{cell, empty, head, link_button, moment, pager, request_badge, table},
};

const STATES: [(&str, RequestState); 4] = [
    ("submitted", RequestState::Submitted),
    ("approved", RequestState::Approved),
    ("denied", RequestState::Denied),
    ("withdrawn", RequestState::Withdrawn),
];

/// What the list shows.
pub(crate) struct RequestsData {
    team: Team,
    requests: Page<RequestView>,
}

impl RequestsData {
    pub(crate) async fn load(page: &PageContext, actor: &Actor, name: &TeamName) -> Read<Self> {
        let state =
            STATES.iter().find(|(word, _)| page.query("state") == Some(word)).map(|(_, state)| *state);
        let part = Part { cursor: page.query("cursor").map(str::to_owned) };
        Ok(Self {
            team: page.backend.team(actor, name).await?,
            requests: page.backend.requests(actor, name, state, &part).await?,
        })
    }

    pub(crate) fn show(self, page: &PageContext) -> Content {
        let new = format!("/teams/{}/requests/new", self.team.name);
        let may_ask = may(page.actor.as_ref(), Action::AskForTeam, Some(&self.team.name));
        let ask = || may_ask.then(|| link_button("btn-primary", new.clone(), t::REQUEST_GPUS)).into_any();
        let rows: Vec<_> = self.requests.items.iter().map(|view| row(page, view)).collect();
        let list = if rows.is_empty() {
            empty(t::REQUESTS_EMPTY, ask())
        } else {
            table(t::REQUESTS, &[t::WHAT, t::STATE, t::WHO, t::WHEN, t::WHY], rows)
        };
        let title = t::requests_title(self.team.display.as_str());
        let body = view! {
            {head(title.clone(), "", ask())}
            {filter(page)}
            {list}
            {pager(page, self.requests.next)}
        };
        Content { title, trail: team_trail(&self.team), body: body.into_any() }
    }
}

fn filter(page: &PageContext) -> AnyView {
    let link = |query: Option<&str>, word: &'static str| {
        let current = (page.query("state") == query).then_some("true");
        let href = query.map_or_else(|| page.path.clone(), |q| format!("{}?state={q}", page.path));
        view! {
            <li>
                <a class="btn btn-sm btn-ghost aria-[current]:bg-base-300" href=href aria-current=current>
                    {word}
                </a>
            </li>
        }
        .into_any()
    };
    let mut links = vec![link(None, t::ALL)];
    links.extend(STATES.iter().map(|(query, state)| link(Some(query), t::request_state(*state))));
    view! { <nav class="mb-3" aria-label=t::STATE><ul class="flex flex-wrap gap-1">{links}</ul></nav> }
        .into_any()
}

fn row(page: &PageContext, view: &RequestView) -> AnyView {
    let request = &view.request;
    let href = format!("/teams/{}/requests/{}", request.team, request.id);
    view! {
        <tr>
            {cell(t::WHAT, view! { <a class="a" href=href>{view.summary.clone()}</a> })}
            {cell(t::STATE, request_badge(request.state))}
            {cell(t::WHO, request.created_by_display.clone())}
            {cell(t::WHEN, moment(page.now, request.created_at))}
            {cell(t::WHY, view! { <span class="line-clamp-2 max-w-md">{request.purpose.clone()}</span> })}
        </tr>
    }
    .into_any()
}
