//! Who did what.

use domain::{
    api::{AuditEntry, Page},
    people::Actor,
};
use leptos::prelude::*;

use super::{TeamNames, team_link};
use crate::{
    backend::{AuditFilter, Part, Read},
    context::PageContext,
    frame::Content,
    text as t,
    ui::{cell, empty, head, link_button, moment, pager, table},
};

/// What the page shows.
pub(crate) struct AuditData {
    entries: Page<AuditEntry>,
    names: TeamNames,
}

impl AuditData {
    pub(crate) async fn load(page: &PageContext, actor: &Actor) -> Read<Self> {
        let own = |name: &str| page.query(name).map(str::to_owned);
        let filter = AuditFilter { team: own("team"), action: own("action") };
        let part = Part { cursor: own("cursor") };
        let entries = page.backend.audit(actor, &filter, &part).await?;
        Ok(Self { entries, names: page.backend.team_names(actor).await? })
    }

    pub(crate) fn show(self, page: &PageContext) -> Content {
        let rows: Vec<_> = self.entries.items.iter().map(|entry| row(page, &self.names, entry)).collect();
        let list = if rows.is_empty() {
            empty(t::AUDIT_EMPTY, link_button("btn-sm", "/admin/audit", t::RESET))
        } else {
            table(t::AUDIT, &[t::WHEN, t::WHO, t::ACTION, t::SUBJECT, t::TEAM, t::DETAILS], rows)
        };
        let body = view! {
            {head(t::AUDIT, t::AUDIT_SENTENCE, ().into_any())}
            {filter(page)}
            {list}
            {pager(page, self.entries.next)}
        };
        Content { title: t::AUDIT.to_owned(), trail: vec![], body: body.into_any() }
    }
}

fn filter(page: &PageContext) -> AnyView {
    let value = |name: &str| page.query(name).unwrap_or_default().to_owned();
    let reset = (page.query("team").is_some() || page.query("action").is_some())
        .then(|| link_button("btn-ghost", "/admin/audit", t::RESET));
    view! {
        <form method="get" action="/admin/audit" class="mb-4 flex flex-wrap items-end gap-3" role="search">
            <label class="w-48">
                <span class="mb-1 block text-sm font-medium">{t::TEAM}</span>
                <input class="input w-full" name="team" value=value("team") />
            </label>
            <label class="w-64">
                <span class="mb-1 block text-sm font-medium">{t::ACTION}</span>
                <input class="input w-full" name="action" value=value("action") placeholder=t::ACTION_HELP />
            </label>
            <button class="btn" type="submit">{t::FILTER}</button>
            {reset}
        </form>
    }
    .into_any()
}

fn row(page: &PageContext, names: &TeamNames, entry: &AuditEntry) -> AnyView {
    let who = if entry.actor.is_some() {
        entry.actor_display.clone()
    } else {
        format!("{} ({})", t::SYSTEM, entry.actor_display)
    };
    let team = entry.team.as_ref().map(|team| team_link(names, team));
    view! {
        <tr>
            {cell(t::WHEN, moment(page.now, entry.at))}
            {cell(t::WHO, who)}
            {cell(t::ACTION, view! { <code>{entry.action.clone()}</code> })}
            {cell(t::SUBJECT, view! { <code class="block text-[0.8125rem] [overflow-wrap:anywhere] sm:min-w-40">{entry.subject.clone()}</code> })}
            {cell(t::TEAM, team)}
            {cell(t::DETAILS, detail(&entry.detail))}
        </tr>
    }
    .into_any()
}

/// Long details are folded: a row of the list stays a row.
fn detail(text: &str) -> AnyView {
    const SHORT: usize = 60;
    let code = view! { <code class="block text-[0.8125rem] [overflow-wrap:anywhere] sm:min-w-48">{text.to_owned()}</code> };
    if text.chars().count() <= SHORT {
        return code.into_any();
    }
    let begin: String = text.chars().take(SHORT / 2).collect();
    view! {
        <details>
            <summary><code class="quiet text-[0.8125rem]">{begin}"…"</code></summary>
            {code}
        </details>
    }
    .into_any()
}
