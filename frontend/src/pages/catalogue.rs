//! What can be asked for, and whether it is there.

use domain::{
    api::CatalogueEntry,
    authz::Action,
    people::{Actor, Team},
};
use leptos::prelude::*;

use super::{len, may};
use crate::{
    backend::Read,
    context::PageContext,
    frame::Content,
    text as t,
    ui::{Bar, Segment, empty, facts, head, kind_mark, link_button, panel, slim_bar},
};

/// What the catalogue shows.
pub(crate) struct CatalogueData {
    entries: Vec<CatalogueEntry>,
}

impl CatalogueData {
    pub(crate) async fn load(page: &PageContext, actor: &Actor) -> Read<Self> {
        Ok(Self { entries: page.backend.catalogue(actor).await? })
    }

    pub(crate) fn show(self, page: &PageContext, teams: &[Team]) -> Content {
        let with_free: Vec<_> = self.entries.iter().filter(|e| e.free > 0).collect();
        let sentence = t::catalogue_sentence(len(&with_free), len(&self.entries));
        let teams: Vec<&Team> = teams
            .iter()
            .filter(|team| !team.retired && may(page.actor.as_ref(), Action::AskForTeam, Some(&team.name)))
            .collect();
        let cards: Vec<_> = self.entries.iter().map(|entry| card(entry, &teams)).collect();
        let list = if cards.is_empty() {
            empty(t::CATALOGUE_EMPTY, ().into_any())
        } else {
            view! { <div class="grid items-start gap-4 md:grid-cols-2">{cards}</div> }.into_any()
        };
        let body = view! { {head(t::CATALOGUE, sentence, ().into_any())} {list} };
        Content { title: t::CATALOGUE.to_owned(), trail: vec![], body: body.into_any() }
    }
}

/// Given and free, of what may be promised.
fn free_bar(entry: &CatalogueEntry) -> Bar {
    let unit = entry.offering.display.as_str();
    let (class, word) = if entry.observed { ("running", t::GIVEN) } else { ("idle", t::GRANTED_LOW) };
    Bar {
        title: t::bar_of_offering(unit),
        segments: vec![
            Segment { class, word, amount: entry.limit.saturating_sub(entry.free) },
            Segment { class: "free", word: t::FREE, amount: entry.free },
        ],
        total: t::capacity(entry.limit, unit),
        beyond: 0,
    }
}

fn card(entry: &CatalogueEntry, teams: &[&Team]) -> AnyView {
    let offering = &entry.offering;
    let per = &offering.per_unit;
    let mut rows = vec![
        (t::POOL, view! { {format!("{} · {}", entry.pool.display, entry.pool.model)} }.into_any()),
        (t::RESOURCE, view! { <code>{offering.resource.to_string()}</code> }.into_any()),
        (
            t::PER_UNIT,
            t::per_unit(&per.cpu.to_string(), &per.memory.to_string(), &per.ephemeral_storage.to_string())
                .into_any(),
        ),
        (t::FABRIC, if offering.partition { t::PARTITION_POSSIBLE } else { t::NO_PARTITION }.into_any()),
        (t::RULES, t::rules(&entry.pool.rules).into_any()),
    ];
    if let Some(block) = entry.largest_free_block.filter(|_| entry.free > 0 && entry.observed) {
        rows.insert(0, (t::LARGEST_BLOCK, block.to_string().into_any()));
    }
    if !entry.observed {
        rows.push((t::USE, t::UNSEEN.into_any()));
    }
    panel(view! {
        <div class="flex flex-wrap items-baseline justify-between gap-x-4">
            <h2>{offering.display.to_string()}</h2>
            <span class="font-semibold whitespace-nowrap">{t::free_of(entry.free, entry.limit)}</span>
        </div>
        <p class="mt-0.5" title=t::kind_meaning(&offering.kind)>{kind_mark(&offering.kind)}</p>
        <div class="mt-3">{slim_bar(&free_bar(entry))}</div>
        <p class="mt-3">{offering.description.clone()}</p>
        <div class="mt-4 text-[0.9375rem]">{facts(rows)}</div>
        <div class="mt-4">{request_links(entry, teams)}</div>
    })
}

fn request_links(entry: &CatalogueEntry, teams: &[&Team]) -> AnyView {
    let href = |team: &Team| format!("/teams/{}/requests/new?offering={}", team.name, entry.offering.name);
    match teams {
        [] => ().into_any(),
        [one] => link_button("btn-sm btn-primary", href(one), t::request_for(one.display.as_str())),
        many => {
            let links: Vec<_> =
                many.iter().map(|team| link_button("btn-sm", href(team), team.display.to_string())).collect();
            view! {
                <div class="flex flex-wrap items-center gap-2">
                    <span class="quiet text-sm">{t::REQUEST_FOR_TEAM}</span>
                    {links}
                </div>
            }
            .into_any()
        }
    }
}
