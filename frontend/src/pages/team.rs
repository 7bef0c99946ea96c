//! Quota of a team: the sentence, a bar for each offering, the grants below it.

use domain::{
    api::{CatalogueEntry, QuotaLine, TeamQuota},
    authz::Action,
    fabric::Partition,
    grant::Grant,
    name::TeamName,
    people::Actor,
    request::last_day,
};
use leptos::prelude::*;

use super::{may, of_team};
use crate::{
    backend::Read,
    context::PageContext,
    frame::Content,
    text as t,
    ui::{
        Level, alert, back_link, cell, day, empty, facts, grant_badge, head, kind_mark, link_button, moment,
        panel, section, table,
    },
};

/// What the page of a team shows.
pub(crate) struct TeamData {
    quota: TeamQuota,
    /// For the names of what is asked for; empty where nothing waits.
    catalogue: Vec<CatalogueEntry>,
}

impl TeamData {
    pub(crate) async fn load(page: &PageContext, actor: &Actor, team: &TeamName) -> Read<Self> {
        let quota = page.backend.team_quota(actor, team).await?;
        let catalogue = if quota.waiting.is_empty() { vec![] } else { page.backend.catalogue(actor).await? };
        Ok(Self { quota, catalogue })
    }

    pub(crate) fn show(self, page: &PageContext) -> Content {
        let quota = &self.quota;
        let team = &quota.team;
        let may_ask = may(page.actor.as_ref(), Action::AskForTeam, Some(&team.name)) && !team.retired;
        let ask = || {
            let href = format!("/teams/{}/requests/new", team.name);
            may_ask.then(|| link_button("btn-primary", href, t::REQUEST_GPUS)).into_any()
        };
        let lines: Vec<_> = quota.lines.iter().map(|line| self.line(page, line, may_ask)).collect();
        let list = if lines.is_empty() {
            empty(t::TEAM_EMPTY, ask())
        } else {
            view! { <div class="grid gap-4">{lines}</div> }.into_any()
        };
        let body = view! {
            {head(team.display.to_string(), self.sentence(), if quota.lines.is_empty() { ().into_any() } else { ask() })}
            {list}
            {self.waiting(page)}
            {self.partitions()}
        };
        Content { title: team.display.to_string(), trail: vec![], body: body.into_any() }
    }

    fn sentence(&self) -> String {
        let held: Vec<_> = self
            .quota
            .lines
            .iter()
            .filter(|line| line.holding.granted > 0)
            .map(|l| {
                let used = l.observed.then(|| l.holding.used());
                (used, l.holding.granted, l.offering.display.to_string())
            })
            .collect();
        let first = self
            .quota
            .lines
            .iter()
            .flat_map(|line| line.grants.iter().map(move |grant| (line, grant)))
            .filter(|(_, grant)| grant.amount() > 0)
            .min_by_key(|(_, grant)| grant.ends_at)
            .map(|(line, grant)| (grant.amount(), line.offering.display.to_string(), grant.ends_at));
        t::team_sentence(&held, first)
    }

    fn line(&self, page: &PageContext, line: &QuotaLine, may_ask: bool) -> AnyView {
        let unit = line.offering.display.to_string();
        let may_give = may(page.actor.as_ref(), Action::LeadTeam, Some(&self.quota.team.name));
        let over = line.holding.over();
        let over = (over > 0)
            .then(|| view! { <div class="mt-3">{alert(Level::Warn, t::over_grant(over, &unit))}</div> });
        let grants: Vec<_> =
            line.grants.iter().map(|grant| self.grant(page, &unit, grant, may_ask, may_give)).collect();
        panel(view! {
            <div class="mb-3 flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
                <h2>{unit.clone()}</h2>
                {kind_mark(&line.offering.kind)}
            </div>
            {of_team(&unit, line.holding, line.observed)}
            {over}
            <ul class="mt-4 grid divide-y divide-base-300 border-t border-base-300">{grants}</ul>
        })
    }

    fn grant(&self, page: &PageContext, unit: &str, grant: &Grant, may_ask: bool, may_give: bool) -> AnyView {
        let href = format!("/teams/{}/grants/{}", grant.team, grant.id);
        let new = format!("/teams/{}/requests/new", grant.team);
        let link = |href: String, text: &'static str| view! { <a class="a" href=href>{text}</a> }.into_any();
        let mut links = vec![link(href.clone(), t::DETAILS)];
        if may_ask && grant.state.counts() {
            links.push(link(format!("{new}?extend={}", grant.id), t::EXTEND));
            links.push(link(format!("{new}?change={}", grant.id), t::CHANGE));
        }
        if may_give && grant.state.counts() {
            links.push(link(format!("{href}#give-back"), t::GIVE_BACK));
        }
        let partition = grant.partition.then(|| self.partition_of(grant)).flatten().map(|partition| {
            view! { <span class="quiet">{format!("{} {}", t::PARTITION, partition.pkey)}</span> }
        });
        let blocked = grant
            .blocked
            .clone()
            .map(|reason| view! { <div class="mt-1 w-full">{alert(Level::Bad, reason)}</div> });
        view! {
            <li class="flex flex-wrap items-center gap-x-4 gap-y-1 pt-3 not-last:pb-3 text-[0.9375rem]">
                <span class="font-medium">{t::amount(grant.shape.amount(), unit)}</span>
                {grant_badge(grant)}
                <span class="quiet">{t::LAST_DAY}" "{day(last_day(grant.ends_at))} " (" {moment(page.now, grant.ends_at)} ")"</span>
                {partition}
                <span class="flex flex-wrap gap-x-4 sm:ml-auto">{links}</span>
                {blocked}
            </li>
        }
        .into_any()
    }

    fn partition_of(&self, grant: &Grant) -> Option<&Partition> {
        self.quota.partitions.iter().find(|partition| partition.cluster == grant.cluster)
    }

    fn waiting(&self, page: &PageContext) -> AnyView {
        if self.quota.waiting.is_empty() {
            return ().into_any();
        }
        let rows = self
            .quota
            .waiting
            .iter()
            .map(|request| {
                let href = format!("/teams/{}/requests/{}", request.team, request.id);
                let what = super::request_words(&self.catalogue, request);
                view! {
                    <tr>
                        {cell(t::WHAT, view! { <a class="a" href=href>{what}</a> })}
                        {cell(t::WHO, request.created_by_display.clone())}
                        {cell(t::WHEN, moment(page.now, request.created_at))}
                        {cell(t::WHY, view! { <span class="line-clamp-2">{request.purpose.clone()}</span> })}
                    </tr>
                }
                .into_any()
            })
            .collect();
        let all = back_link(format!("/teams/{}/requests", self.quota.team.name), t::REQUESTS);
        section(
            t::WAITING,
            view! { {table(t::WAITING, &[t::WHAT, t::WHO, t::WHEN, t::WHY], rows)} <p class="mt-3">{all}</p> },
        )
    }

    fn partitions(&self) -> AnyView {
        if self.quota.partitions.is_empty() {
            return ().into_any();
        }
        let rows = self
            .quota
            .partitions
            .iter()
            .map(|p| {
                let text = t::partition(&p.pkey.to_string(), p.slot, p.cluster.as_str());
                let names = view! { {text} " · " <code>{p.resource().to_string()}</code> " · " <code>{p.network()}</code> };
                (t::PARTITION, names.into_any())
            })
            .collect();
        section(t::FABRIC, panel(facts(rows)))
    }
}
