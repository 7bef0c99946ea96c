//! The request form: what, how much, how long and why; beside it whether it fits.

use std::collections::BTreeMap;

use chrono::{Days, NaiveDate};
use domain::{
    api::{CatalogueEntry, GrantView},
    authz::{Action, Verdict, authorize},
    name::TeamName,
    people::{Actor, Team},
    request::last_day,
};
use leptos::prelude::*;

use super::team_trail;
use crate::{
    backend::Read,
    context::PageContext,
    frame::Content,
    islands::FitCheck,
    render::not_found,
    text as t,
    ui::{
        Form, Input, button, empty, head, icon, input, kind_mark, once, panel, post_form, summary, textarea,
    },
};

/// A lease that is proposed runs for so many days, or for as many as the pool allows.
const PROPOSED_DAYS: u32 = 30;

/// Narrow: fields, whether it fits, the buttons. Wide: the second stands beside the others.
const LAYOUT: &str =
    "grid items-start gap-5 lg:grid-cols-[minmax(0,1.5fr)_minmax(0,1fr)] lg:grid-rows-[auto_1fr]";

/// Which of the three asks the form is for.
enum Mode {
    New(Vec<CatalogueEntry>),
    Change(Box<GrantView>),
    Extend(Box<GrantView>),
}

/// What the form shows.
pub(crate) struct NewRequestData {
    team: Team,
    mode: Mode,
}

impl NewRequestData {
    /// `?change=` and `?extend=` name a grant; after a POST `kind` and `grant` of the values do.
    pub(crate) async fn load(page: &PageContext, actor: &Actor, name: &TeamName) -> Read<Self> {
        let team = page.backend.team(actor, name).await?;
        if authorize(actor, Action::AskForTeam, Some(name)) != Verdict::Allow {
            return Err(domain::api::Problem {
                kind: "/problems/forbidden".to_owned(),
                title: t::MAY_NOT_ASK.to_owned(),
                status: 403,
                detail: t::MAY_NOT_ASK_DETAIL.to_owned(),
                ..not_found()
            });
        }
        let entered = |name: &str| page.form.values.get(name).map(String::as_str);
        let of = |kind: &str| {
            page.query(kind).or_else(|| entered("grant").filter(|_| entered("kind") == Some(kind)))
        };
        let mode = match (of("change"), of("extend")) {
            (Some(id), _) => Mode::Change(Box::new(grant(page, actor, name, id).await?)),
            (None, Some(id)) => Mode::Extend(Box::new(grant(page, actor, name, id).await?)),
            (None, None) => {
                let mut entries = page.backend.catalogue(actor).await?;
                entries.retain(|entry| !entry.offering.retired && !entry.pool.retired);
                Mode::New(entries)
            }
        };
        Ok(Self { team, mode })
    }

    pub(crate) fn show(self, page: &PageContext) -> Content {
        let action = format!("/teams/{}/requests/new", self.team.name);
        let form = Form { page, action: &action };
        let (title, sentence) = self.title();
        let content = if let Mode::New(entries) = &self.mode
            && entries.is_empty()
        {
            empty(t::NOTHING_TO_ASK, ().into_any())
        } else {
            view! {
                {summary(form)}
                <div id="ask">{post_form(form, LAYOUT, self.fields(form))}</div>
            }
            .into_any()
        };
        let mut trail = team_trail(&self.team);
        trail.push((t::REQUESTS.to_owned(), format!("/teams/{}/requests", self.team.name)));
        let body = view! { {head(title.clone(), sentence, ().into_any())} {content} };
        Content { title, trail, body: body.into_any() }
    }

    fn title(&self) -> (String, &'static str) {
        let of = |view: &GrantView| t::amount(view.grant.shape.amount(), view.offering.display.as_str());
        match &self.mode {
            Mode::New(_) => (t::new_request_title(self.team.display.as_str()), t::NEW_REQUEST_SENTENCE),
            Mode::Change(view) => (t::change_title(&of(view)), t::CHANGE_SENTENCE),
            Mode::Extend(view) => (t::extend_title(&of(view)), t::EXTEND_SENTENCE),
        }
    }

    fn fields(&self, form: Form<'_>) -> AnyView {
        let parts: Vec<AnyView> = match &self.mode {
            Mode::New(entries) => vec![
                hidden("kind", "new"),
                group(t::STEP_WHAT, offerings(form, entries)),
                group(t::STEP_AMOUNT, amount_fields(form, "1", "1", &with_partition(entries))),
                group(
                    t::STEP_WHY,
                    view! { {until(form, self.propose(form, entries))} {purpose(form)} }.into_any(),
                ),
            ],
            Mode::Change(view) => {
                let shape = view.grant.shape;
                let (nodes, per_node) = (shape.nodes.to_string(), shape.per_node.to_string());
                vec![
                    of_grant("change", view),
                    group(t::STEP_AMOUNT, amount_fields(form, &nodes, &per_node, &[])),
                    group(t::STEP_WHY, purpose(form)),
                ]
            }
            Mode::Extend(view) => {
                let proposed = last_day(view.grant.ends_at) + Days::new(PROPOSED_DAYS.into());
                vec![
                    of_grant("extend", view),
                    group(
                        t::STEP_WHY,
                        view! { {until(form, (proposed, String::new()))} {purpose(form)} }.into_any(),
                    ),
                ]
            }
        };
        view! {
            <div class="grid min-w-0 gap-5 lg:col-start-1">{once(form)} {parts}</div>
            <aside class="min-w-0 lg:sticky lg:top-6 lg:col-start-2 lg:row-span-2 lg:row-start-1">
                {self.fit(form)}
            </aside>
            <div class="flex flex-wrap gap-2 lg:col-start-1">
                {button("btn-primary", "do", "submit", t::SEND)}
                {button("", "do", "check", t::CHECK)}
            </div>
        }
        .into_any()
    }

    /// Last day that is proposed, and the longest lease of each offering, in words.
    fn propose(&self, form: Form<'_>, entries: &[CatalogueEntry]) -> (NaiveDate, String) {
        let chosen = chosen(form, entries);
        let longest =
            entries.iter().find(|e| e.offering.name.as_str() == chosen).map(|e| e.pool.rules.max_days);
        let today = form.page.now.date_naive();
        let days = longest.map_or(PROPOSED_DAYS, |max| max.min(PROPOSED_DAYS));
        let mut leases: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for entry in entries {
            leases.entry(entry.pool.rules.max_days).or_default().push(entry.offering.display.to_string());
        }
        (today + Days::new(days.into()), t::longest_leases(&leases))
    }

    fn fit(&self, form: Form<'_>) -> AnyView {
        let (units, offering) = match &self.mode {
            Mode::New(entries) => (
                entries
                    .iter()
                    .map(|e| (e.offering.name.to_string(), e.offering.display.to_string()))
                    .collect(),
                chosen(form, entries),
            ),
            Mode::Change(view) | Mode::Extend(view) => {
                let name = view.offering.name.to_string();
                (BTreeMap::from([(name.clone(), view.offering.display.to_string())]), name)
            }
        };
        panel(view! {
            <h2 class="mb-2">{t::FIT_TITLE}</h2>
            <FitCheck
                form="ask".to_owned()
                action=format!("/api/v1/teams/{}/fit", self.team.name)
                csrf=form.page.csrf.clone()
                units=units
                offering=offering
                answer=form.page.form.fit.clone()
            />
        })
    }
}

async fn grant(page: &PageContext, actor: &Actor, team: &TeamName, id: &str) -> Read<GrantView> {
    let id = id.parse().map_err(|_| not_found())?;
    page.backend.grant(actor, team, id).await
}

/// Offering that was entered, or named in the URL, or else the first one that has something free.
fn chosen(form: Form<'_>, entries: &[CatalogueEntry]) -> String {
    let first = entries.iter().find(|e| e.free > 0).or(entries.first());
    let first = first.map(|e| e.offering.name.to_string()).unwrap_or_default();
    form.value("offering", form.page.query("offering").unwrap_or(&first))
}

fn hidden(name: &'static str, value: &str) -> AnyView {
    view! { <input type="hidden" name=name value=value.to_owned() /> }.into_any()
}

/// The offering is sent too: the panel beside needs to know what one device is called.
fn of_grant(kind: &'static str, view: &GrantView) -> AnyView {
    view! {
        {hidden("kind", kind)}
        {hidden("grant", &view.grant.id.to_string())}
        {hidden("offering", view.offering.name.as_str())}
    }
    .into_any()
}

fn group(title: &'static str, fields: AnyView) -> AnyView {
    view! {
        <fieldset class="panel min-w-0 p-4 sm:p-5">
            <legend class="float-left mb-3 w-full text-[1.0625rem] font-semibold">{title}</legend>
            <div class="clear-both grid gap-4">{fields}</div>
        </fieldset>
    }
    .into_any()
}

/// One card an offering; the group as a whole carries its error.
fn offerings(form: Form<'_>, entries: &[CatalogueEntry]) -> AnyView {
    let chosen = chosen(form, entries);
    let cards: Vec<_> = entries
        .iter()
        .map(|entry| {
            let name = entry.offering.name.to_string();
            let checked = name == chosen;
            view! {
                <label class="choice">
                    <input class="radio radio-sm radio-primary mt-0.5" type="radio" name="offering" value=name checked=checked required=true />
                    <span class="min-w-0 flex-1">
                        <span class="flex flex-wrap justify-between gap-x-3 font-medium">
                            <span class="[overflow-wrap:anywhere]">{entry.offering.display.to_string()}</span>
                            <span class="quiet text-sm font-normal">{t::free_of(entry.free, entry.limit)}</span>
                        </span>
                        <span class="mt-0.5 block">{kind_mark(&entry.offering.kind)}</span>
                    </span>
                </label>
            }
        })
        .collect();
    let error = form.error("offering").map(|message| {
        view! { <p class="flex items-start gap-1.5 text-sm text-error">{icon(crate::ui::Icon::Warn)} {message}</p> }
    });
    view! { <div class="grid gap-2 sm:grid-cols-2" id=form.id("offering") tabindex="-1">{cards}</div> {error} }.into_any()
}

/// Offerings that can have a partition.
fn with_partition(entries: &[CatalogueEntry]) -> Vec<String> {
    let possible = entries.iter().filter(|entry| entry.offering.partition);
    possible.map(|entry| entry.offering.display.to_string()).collect()
}

/// The box for a partition, with what it is possible for; nothing where it is possible for nothing.
fn partition_field(form: Form<'_>, possible: &[String]) -> AnyView {
    if possible.is_empty() {
        return ().into_any();
    }
    let checked = form.value("partition", "") == "yes";
    let (id, help) = (form.id("partition"), t::with_partition_help(possible));
    view! {
        <div class="flex items-start gap-3">
            <input
                class="checkbox checkbox-sm checkbox-primary mt-0.5"
                type="checkbox"
                name="partition"
                value="yes"
                checked=checked
                id=id.clone()
                aria-describedby=form.described("partition", &help)
                aria-invalid=form.invalid("partition")
            />
            <div>
                <label class="font-medium" for=id>{t::WITH_PARTITION}</label>
                {form.below("partition", &help)}
            </div>
        </div>
    }
    .into_any()
}

fn amount_fields(form: Form<'_>, nodes: &str, per_node: &str, partition: &[String]) -> AnyView {
    let number = |name, label, value, help| Input {
        name,
        label,
        kind: "number",
        value,
        help,
        min: "1",
        class: "min-w-0",
        ..Input::default()
    };
    view! {
        <div class="grid gap-4 sm:grid-cols-2">
            {input(form, number("nodes", t::NODES, nodes, t::NODES_HELP))}
            {input(form, number("per_node", t::PER_NODE, per_node, t::PER_NODE_HELP))}
        </div>
        {partition_field(form, partition)}
    }
    .into_any()
}

fn until(form: Form<'_>, (proposed, help): (NaiveDate, String)) -> AnyView {
    let (value, min) = (proposed.to_string(), form.page.now.date_naive().to_string());
    let field = Input {
        name: "until",
        label: t::UNTIL,
        kind: "date",
        value: &value,
        help: &help,
        min: &min,
        class: "max-w-60",
        ..Input::default()
    };
    input(form, field)
}

fn purpose(form: Form<'_>) -> AnyView {
    textarea(
        form,
        Input { name: "purpose", label: t::PURPOSE, help: t::PURPOSE_HELP, ..Input::default() },
        "4",
    )
}
