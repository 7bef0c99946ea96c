//! Home: my teams, what waits, what ends.

use domain::{
    api::{CatalogueEntry, QuotaLine, RequestView, TeamQuota},
    grant::Grant,
    people::Actor,
    request::Request,
};
use leptos::prelude::*;

use super::{TeamNames, len, team_cell, team_link, worth};
use crate::{
    backend::{Part, Read},
    context::PageContext,
    frame::Content,
    text as t,
    ui::{
        back_link, cell, empty, granted_bar, head, link_button, moment, panel, quota_bar, section, slim_bar,
        table,
    },
};

/// Leases that end within so many days are told on the first page.
const SOON_DAYS: i64 = 14;
/// Lines of the inbox that stand here; the rest is one click away.
const INBOX_LINES: usize = 5;

/// What home shows.
pub(crate) struct HomeData {
    teams: Vec<TeamQuota>,
    inbox: Vec<RequestView>,
    /// For the names of what is asked for; empty where nothing waits.
    catalogue: Vec<CatalogueEntry>,
    name: String,
    names: TeamNames,
}

impl HomeData {
    pub(crate) async fn load(page: &PageContext, actor: &Actor) -> Read<Self> {
        let mut teams = vec![];
        for team in page.backend.my_teams(actor).await? {
            teams.push(page.backend.team_quota(actor, &team.name).await?);
        }
        let catalogue = if teams.iter().all(|team| team.waiting.is_empty()) {
            vec![]
        } else {
            page.backend.catalogue(actor).await?
        };
        let inbox = if page.backend.inbox_count(actor).await? > 0 {
            page.backend.inbox(actor, &Part::default()).await?.items
        } else {
            vec![]
        };
        // Requests of others stand here only for those who decide.
        let names = if inbox.is_empty() {
            teams.iter().map(|quota| (quota.team.name.clone(), quota.team.display.clone())).collect()
        } else {
            page.backend.team_names(actor).await?
        };
        Ok(Self { teams, inbox, catalogue, name: actor.display.to_string(), names })
    }

    pub(crate) fn show(self, page: &PageContext) -> Content {
        let lines = || self.teams.iter().flat_map(|team| &team.lines);
        let waiting: Vec<&Request> = self.teams.iter().flat_map(|team| &team.waiting).collect();
        let sentence = t::home_sentence(
            len(&self.teams),
            &worth(lines().map(|l| (&l.offering, l.holding.granted))),
            len(&waiting),
            len(&self.inbox),
        );
        let body = view! {
            {head(t::home_title(&self.name), sentence, ().into_any())}
            {self.inbox_lines(page)}
            {self.my_teams()}
            {(!self.teams.is_empty()).then(|| self.waiting(page, &waiting))}
            {self.ending(page)}
        };
        Content { title: t::HOME.to_owned(), trail: vec![], body: body.into_any() }
    }

    fn my_teams(&self) -> AnyView {
        if self.teams.is_empty() {
            return empty(t::NO_TEAM, link_button("btn-primary", "/catalogue", t::SEE_CATALOGUE));
        }
        let cards: Vec<_> = self.teams.iter().map(|quota| team_card(&self.names, quota)).collect();
        section(t::MY_TEAMS, view! { <div class="grid gap-4 md:grid-cols-2">{cards}</div> })
    }

    fn inbox_lines(&self, page: &PageContext) -> AnyView {
        if self.inbox.is_empty() {
            return ().into_any();
        }
        let rows = self
            .inbox
            .iter()
            .take(INBOX_LINES)
            .map(|view| self.request_row(page, &view.request, view.summary.clone()))
            .collect();
        let list = table(t::WAITS_FOR_ME, &[t::WHAT, t::TEAM, t::WHO, t::WHEN], rows);
        section(t::WAITS_FOR_ME, view! { {list} <p class="mt-3">{back_link("/inbox", t::OPEN_INBOX)}</p> })
    }

    fn waiting(&self, page: &PageContext, waiting: &[&Request]) -> AnyView {
        if waiting.is_empty() {
            return section(t::WAITING, view! { <p class="quiet">{t::NOTHING_WAITS}</p> });
        }
        let words = |request: &Request| super::request_words(&self.catalogue, request);
        let rows = waiting.iter().map(|request| self.request_row(page, request, words(request))).collect();
        section(t::WAITING, table(t::WAITING, &[t::WHAT, t::TEAM, t::WHO, t::WHEN], rows))
    }

    fn ending(&self, page: &PageContext) -> AnyView {
        let limit = page.now + chrono::Duration::days(SOON_DAYS);
        let mut ending: Vec<(&QuotaLine, &Grant)> = self
            .teams
            .iter()
            .flat_map(|team| &team.lines)
            .flat_map(|line| line.grants.iter().map(move |grant| (line, grant)))
            .filter(|(_, grant)| grant.state.counts() && grant.ends_at <= limit)
            .collect();
        if ending.is_empty() {
            return ().into_any();
        }
        ending.sort_by_key(|(_, grant)| grant.ends_at);
        let rows = ending
            .into_iter()
            .map(|(line, grant)| {
                let href = format!("/teams/{}/grants/{}", grant.team, grant.id);
                let what = t::amount(grant.amount(), line.offering.display.as_str());
                view! {
                    <tr>
                        {cell(t::WHAT, view! { <a class="a" href=href>{what}</a> })}
                        {team_cell(&self.names, &grant.team)}
                        {cell(t::LAST_DAY, moment(page.now, grant.ends_at))}
                    </tr>
                }
                .into_any()
            })
            .collect();
        section(t::ENDS_SOON, table(t::ENDS_SOON, &[t::WHAT, t::TEAM, t::LAST_DAY], rows))
    }

    fn request_row(&self, page: &PageContext, request: &Request, words: String) -> AnyView {
        let href = format!("/teams/{}/requests/{}", request.team, request.id);
        view! {
            <tr>
                {cell(t::WHAT, view! { <a class="a" href=href>{words}</a> })}
                {team_cell(&self.names, &request.team)}
                {cell(t::WHO, request.created_by_display.clone())}
                {cell(t::WHEN, moment(page.now, request.created_at))}
            </tr>
        }
        .into_any()
    }
}

fn team_card(names: &TeamNames, quota: &TeamQuota) -> AnyView {
    let lines: Vec<_> = quota
        .lines
        .iter()
        .map(|line| {
            let unit = line.offering.display.as_str();
            let (figures, picture) = if line.observed {
                (t::in_use(line.holding.used(), line.holding.granted), quota_bar(unit, line.holding))
            } else {
                (t::granted_unobserved(line.holding.granted), granted_bar(unit, line.holding))
            };
            view! {
                <li>
                    <div class="mb-1 flex justify-between gap-3 text-sm">
                        <span class="min-w-0 [overflow-wrap:anywhere]">{unit.to_owned()}</span>
                        <span class="quiet text-right">{figures}</span>
                    </div>
                    {slim_bar(&picture)}
                </li>
            }
        })
        .collect();
    let content = if lines.is_empty() {
        view! { <p class="quiet text-[0.9375rem]">{t::HOLDS_NOTHING}</p> }.into_any()
    } else {
        view! { <ul class="grid gap-3">{lines}</ul> }.into_any()
    };
    let role = quota.role.map(|role| view! { <span class="quiet text-sm">{t::team_role(role)}</span> });
    panel(view! {
        <div class="flex items-baseline justify-between gap-3">
            <h3 class="text-base">{team_link(names, &quota.team.name)}</h3>
            {role}
        </div>
        <div class="mt-3">{content}</div>
    })
}
