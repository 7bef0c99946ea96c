//! The admin's quota dashboard: the sentence, a bar for each offering, teams, enforcement, what ends.

use std::collections::BTreeMap;

use domain::{
    api::{Dashboard, DashboardLine},
    ledger::Holding,
    name::TeamName,
    people::Actor,
    request::last_day,
};
use leptos::prelude::*;

use super::{TeamNames, len, team_cell, team_link, worth};
use crate::{
    backend::Read,
    context::PageContext,
    frame::Content,
    text as t,
    ui::{
        Level, alert, bar, cell, day, empty, enforcement_badge, head, kind_mark, line_bar, link_button,
        moment, num, panel, promised_bar, section, table,
    },
};

/// Teams that stand here before one asks for all.
const TEAMS_SHOWN: usize = 20;

/// What the dashboard shows.
pub(crate) struct DashboardData {
    dashboard: Dashboard,
    names: TeamNames,
}

impl DashboardData {
    pub(crate) async fn load(page: &PageContext, actor: &Actor) -> Read<Self> {
        let dashboard = page.backend.dashboard(actor).await?;
        Ok(Self { dashboard, names: page.backend.team_names(actor).await? })
    }

    pub(crate) fn show(self, page: &PageContext) -> Content {
        let lines: Vec<_> = self.dashboard.lines.iter().map(line).collect();
        let list = if lines.is_empty() {
            empty(t::DASHBOARD_EMPTY, link_button("btn-primary", "/admin/fleet", t::FLEET))
        } else {
            view! { <div class="grid items-start gap-4 xl:grid-cols-2">{lines}</div> }.into_any()
        };
        let differ = (!self.dashboard.balances_agree)
            .then(|| view! { <div class="mb-4">{alert(Level::Bad, t::BALANCES_DIFFER)}</div> });
        let body = view! {
            {head(t::DASHBOARD, self.sentence(), link_button("", "/inbox", t::INBOX))}
            {differ}
            {list}
            {self.teams(page)}
            {self.enforcement(page)}
            {self.ending(page)}
        };
        Content { title: t::DASHBOARD.to_owned(), trail: vec![], body: body.into_any() }
    }

    fn sentence(&self) -> String {
        if self.dashboard.lines.is_empty() {
            return t::DASHBOARD_EMPTY_SENTENCE.to_owned();
        }
        let sum = |of: fn(&DashboardLine) -> u32| {
            worth(self.dashboard.lines.iter().map(|line| (&line.offering, of(line))))
        };
        let seen = |l: &DashboardLine, n: u32| if l.observed { n } else { 0 };
        let sum_seen = |of: fn(&DashboardLine) -> u32| {
            worth(self.dashboard.lines.iter().map(|line| (&line.offering, seen(line, of(line)))))
        };
        let used = self.dashboard.lines.iter().any(|l| l.observed).then(|| {
            let idle = |l: &DashboardLine| l.line.holdings.values().map(|h| h.unused()).sum();
            (sum_seen(|l| l.line.running()), sum_seen(idle))
        });
        let unseen = self.dashboard.lines.iter().any(|l| !l.observed && l.line.granted() > 0);
        let unseen = unseen.then(|| sum(|l| if l.observed { 0 } else { l.line.granted() }));
        t::dashboard_sentence(
            &sum(|l| l.line.granted()),
            &sum(|l| l.line.capacity.limit()),
            (used, unseen),
            self.dashboard.waiting,
        )
    }

    fn teams(&self, page: &PageContext) -> AnyView {
        let mut teams: BTreeMap<&TeamName, Vec<Held<'_>>> = BTreeMap::new();
        for line in &self.dashboard.lines {
            for (team, holding) in &line.line.holdings {
                if holding.taken() > 0 {
                    teams.entry(team).or_default().push((line, *holding));
                }
            }
        }
        if teams.is_empty() {
            return section(t::TEAMS, view! { <p class="quiet">{t::TEAMS_EMPTY}</p> });
        }
        let all = teams.len();
        let mut teams: Vec<_> = teams.into_iter().collect();
        // Largest first; the sort is stable, so equal ones stay in the order of their names.
        teams.sort_by_key(|(_, held)| std::cmp::Reverse(milli(held)));
        let shown = if page.query("teams") == Some("all") { all } else { TEAMS_SHOWN };
        let rows = teams.iter().take(shown).map(|(team, held)| team_row(&self.names, team, held)).collect();
        let list =
            table(t::TEAMS, &[t::TEAM, t::GRANTS, "#GPUs granted", "#GPUs in use", "#GPUs not used"], rows);
        let more = (all > shown).then(|| {
            let all = u32::try_from(all).unwrap_or(u32::MAX);
            view! { <p class="mt-3">{link_button("btn-sm", "/admin?teams=all", t::more_teams(all))}</p> }
        });
        section(t::TEAMS, view! { {list} {more} <p class="quiet mt-2 text-sm">{t::EFFECTIVE_MEANING}</p> })
    }

    fn enforcement(&self, page: &PageContext) -> AnyView {
        let lagging = &self.dashboard.not_enforced;
        let sentence = t::enforcement_sentence(self.dashboard.enforced, len(lagging));
        let rows: Vec<_> = lagging
            .iter()
            .map(|namespace| {
                let reason = match &namespace.enforcement {
                    domain::api::Enforcement::Blocked { reason } => reason.clone(),
                    _ => String::new(),
                };
                let href = format!("/teams/{}", namespace.team);
                let confirmed = namespace
                    .confirmed_at
                    .map_or_else(|| t::NEVER.into_any(), |at| moment(page.now, at));
                view! {
                    <tr>
                        {cell(t::NAMESPACE, view! { <a class="a" href=href>{namespace.name.to_string()}</a> })}
                        {cell(t::CLUSTER, namespace.cluster.to_string())}
                        {cell(t::STATE, enforcement_badge(&namespace.enforcement))}
                        {cell(t::REASON_SHORT, reason)}
                        {cell(t::CONFIRMED, confirmed)}
                    </tr>
                }
                .into_any()
            })
            .collect();
        let list = (!rows.is_empty()).then(|| {
            let headings = [t::NAMESPACE, t::CLUSTER, t::STATE, t::REASON_SHORT, t::CONFIRMED];
            table(t::ENFORCEMENT, &headings, rows)
        });
        section(t::ENFORCEMENT, view! { <p class="mb-3">{sentence}</p> {list} })
    }

    fn ending(&self, page: &PageContext) -> AnyView {
        let unit = |name: &domain::name::OfferingName| {
            self.dashboard
                .lines
                .iter()
                .find(|line| line.offering.name == *name)
                .map_or_else(|| name.to_string(), |line| line.offering.display.to_string())
        };
        let rows: Vec<_> = self
            .dashboard
            .ending
            .iter()
            .map(|grant| {
                let href = format!("/teams/{}/grants/{}", grant.team, grant.id);
                let what = t::amount(grant.shape.amount(), &unit(&grant.offering));
                view! {
                    <tr>
                        {cell(t::WHAT, view! { <a class="a" href=href>{what}</a> })}
                        {team_cell(&self.names, &grant.team)}
                        {cell(t::LAST_DAY, day(last_day(grant.ends_at)))}
                        {cell(t::WHEN, moment(page.now, grant.ends_at))}
                    </tr>
                }
                .into_any()
            })
            .collect();
        if rows.is_empty() {
            return section(t::ENDING_SOON, view! { <p class="quiet">{t::NOTHING_ENDS}</p> });
        }
        section(t::ENDING_SOON, table(t::ENDING_SOON, &[t::WHAT, t::TEAM, t::LAST_DAY, t::WHEN], rows))
    }
}

/// What a team has of an offering.
type Held<'a> = (&'a DashboardLine, Holding);

fn milli(held: &[Held<'_>]) -> u64 {
    held.iter().map(|(l, h)| u64::from(l.offering.effective_milli) * u64::from(h.taken())).sum()
}

fn line(entry: &DashboardLine) -> AnyView {
    let unit = entry.offering.display.to_string();
    let reserved = entry.line.reserved();
    let reserved = (reserved > 0).then(|| t::still_held(reserved, &unit));
    let block = if !entry.observed {
        t::USE_UNKNOWN_LOW.to_owned()
    } else if entry.blocks.sizes.is_empty() {
        t::NO_NODES.to_owned()
    } else {
        format!("{}: {}", t::LARGEST_FREE, entry.blocks.largest_free())
    };
    let notes: Vec<_> =
        [Some(format!("{} / {}", entry.pool.cluster, entry.pool.name)), Some(block), reserved]
            .into_iter()
            .flatten()
            .collect();
    let picture =
        if entry.observed { line_bar(&unit, &entry.line) } else { promised_bar(&unit, &entry.line) };
    panel(view! {
        <div class="mb-3 flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
            <h2>{unit.clone()}</h2>
            {kind_mark(&entry.offering.kind)}
        </div>
        {bar(&picture)}
        <p class="quiet mt-2 text-sm">{notes.join(" · ")}</p>
    })
}

fn team_row(names: &TeamNames, team: &TeamName, held: &[Held<'_>]) -> AnyView {
    let sum = |of: &dyn Fn(&DashboardLine, Holding) -> u32| {
        worth(held.iter().map(|(l, h)| (&l.offering, of(l, *h))))
    };
    let unseen = held.iter().any(|(l, h)| !l.observed && h.granted > 0);
    let of_use = |of: fn(Holding) -> u32| {
        if held.iter().all(|(l, _)| !l.observed) {
            return t::UNSEEN.to_owned();
        }
        let seen = sum(&|l, h| if l.observed { of(h) } else { 0 });
        if !unseen {
            return seen;
        }
        t::partly_observed(&seen, &sum(&|l, h| if l.observed { 0 } else { h.granted }))
    };
    let grants: Vec<_> =
        held.iter().map(|(l, h)| t::amount(h.granted, l.offering.display.as_str())).collect();
    view! {
        <tr>
            {cell(t::TEAM, team_link(names, team))}
            {cell(t::GRANTS, grants.join(", "))}
            {num(t::GRANTED, sum(&|_, h| h.granted))}
            {num(t::IN_USE, of_use(Holding::used))}
            {num(t::IDLE, of_use(Holding::unused))}
        </tr>
    }
    .into_any()
}
