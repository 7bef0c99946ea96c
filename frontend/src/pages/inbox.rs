//! The approver's inbox: one screen, each line decides.

use domain::{
    api::{Page, RequestView},
    ledger::Decision,
    people::Actor,
};
use leptos::prelude::*;

use super::{TeamNames, decision, display_of, len};
use crate::{
    backend::{Part, Read},
    context::PageContext,
    frame::Content,
    text as t,
    ui::{back_link, empty, head, moment, pager, panel},
};

/// What the inbox shows.
pub(crate) struct InboxData {
    requests: Page<RequestView>,
    names: TeamNames,
}

impl InboxData {
    pub(crate) async fn load(page: &PageContext, actor: &Actor) -> Read<Self> {
        let part = Part { cursor: page.query("cursor").map(str::to_owned) };
        let requests = page.backend.inbox(actor, &part).await?;
        Ok(Self { requests, names: page.backend.team_names(actor).await? })
    }

    pub(crate) fn show(self, page: &PageContext) -> Content {
        let items = &self.requests.items;
        let fitting: Vec<_> =
            items.iter().filter(|v| v.fit.as_ref().is_some_and(|f| f.decision.fits())).collect();
        let sentence = t::inbox_sentence(len(items), len(&fitting));
        let lines: Vec<_> = items.iter().map(|view| line(page, &self.names, view)).collect();
        let list = if lines.is_empty() {
            empty(t::INBOX_EMPTY, back_link("/admin/audit", t::SEE_AUDIT))
        } else {
            view! { <ul class="grid gap-3">{lines}</ul> }.into_any()
        };
        let body = view! { {head(t::INBOX, sentence, ().into_any())} {list} {pager(page, self.requests.next.clone())} };
        Content { title: t::INBOX.to_owned(), trail: vec![], body: body.into_any() }
    }
}

fn line(page: &PageContext, names: &TeamNames, view: &RequestView) -> AnyView {
    let request = &view.request;
    let given = len(&request.approvals);
    let two = (view.approvals_needed > 1).then(|| {
        view! { <span class="quiet text-sm">{t::approvals(given, view.approvals_needed)}</span> }
    });
    let short: Vec<_> = match view.fit.as_ref().map(|fit| &fit.decision) {
        Some(Decision::Short { shortfalls }) => shortfalls.iter().map(t::shortfall).collect(),
        Some(Decision::Fits { warnings, .. }) => warnings.iter().map(t::shortfall).collect(),
        None => vec![],
    };
    let short: Vec<_> = short.into_iter().map(|text| view! { <li>{text}</li> }).collect();
    let actions = if view.may.decide {
        decision::forms(page, view)
    } else {
        view! { <p class="quiet text-sm">{decision::not_yours(page, view)}</p> }.into_any()
    };
    let called = t::called(&display_of(names, &request.team), request.team.as_str());
    let purpose = if request.purpose.is_empty() { t::TEXT_NONE.to_owned() } else { request.purpose.clone() };
    let content = view! {
        {decision::refusal(page, view)}
        <div class="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h2><a class="a" href=decision::path(view)>{view.summary.clone()}</a></h2>
            {decision::fit_badge(view)}
            {two}
            <span class="quiet text-sm sm:ml-auto">
                {t::asked_for(&called, &request.created_by_display)} " · "
                {moment(page.now, request.created_at)}
            </span>
        </div>
        <div class="mt-2 grid gap-x-6 gap-y-1 text-[0.9375rem] md:grid-cols-[minmax(0,1fr)_auto]">
            <p class="line-clamp-3 [overflow-wrap:anywhere]">{purpose}</p>
            <p class="font-medium md:text-right">{decision::effect(view)}</p>
        </div>
        {(!short.is_empty()).then(|| view! { <ul class="mt-1 text-sm text-error">{short}</ul> })}
        <div class="mt-3">{actions}</div>
    };
    view! { <li>{panel(content)}</li> }.into_any()
}
