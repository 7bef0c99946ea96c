//! Approve and deny: the same on the inbox line and on the request's own page.

use domain::api::RequestView;
use domain::ledger::Decision;
use leptos::prelude::*;

use crate::{
    context::PageContext,
    text as t,
    ui::{Form, Icon, Input, Tone, badge, button, post_form, summary, textarea},
};

/// Path of a request.
pub(super) fn path(view: &RequestView) -> String {
    format!("/teams/{}/requests/{}", view.request.team, view.request.id)
}

/// What is approved: the amount, or all in words where it is not about an amount.
fn what(view: &RequestView) -> String {
    match view.request.more {
        0 => view.summary.clone(),
        more => t::amount(more, view.offering.display.as_str()),
    }
}

/// What the decision does to the pool: "After this: 3 of 32 H100 left".
pub(super) fn effect(view: &RequestView) -> String {
    let unit = view.offering.display.as_str();
    match view.fit.as_ref().map(|fit| &fit.decision) {
        Some(Decision::Fits { free_after, .. }) if view.request.more > 0 => {
            t::after_this(*free_after, view.limit, unit)
        }
        Some(Decision::Fits { free_after, .. }) => t::nothing_more(*free_after, view.limit, unit),
        Some(Decision::Short { .. }) | None => t::now_free(view.free, view.limit, unit),
    }
}

/// Does it fit? As a badge; nothing where it is not known.
pub(super) fn fit_badge(view: &RequestView) -> AnyView {
    match view.fit.as_ref().map(|fit| fit.decision.fits()) {
        None => ().into_any(),
        Some(true) => badge(Tone::Good, Icon::Check, t::FITS),
        Some(false) => badge(Tone::Bad, Icon::Cross, t::SHORT),
    }
}

/// Why it was refused to approve or deny this request just now.
pub(super) fn refusal(page: &PageContext, view: &RequestView) -> AnyView {
    let path = path(view);
    let parts: Vec<_> = ["approve", "deny", "withdraw"]
        .into_iter()
        .map(|word| summary(Form { page, action: &format!("{path}/{word}") }))
        .collect();
    parts.into_any()
}

/// Has this person approved it already?
fn approved_by(page: &PageContext, view: &RequestView) -> bool {
    let me = page.actor.as_ref().map(|actor| actor.user);
    me.is_some() && view.request.approvals.iter().any(|approval| approval.by == me)
}

/// Why this person does not decide it.
pub(super) fn not_yours(page: &PageContext, view: &RequestView) -> &'static str {
    let own = page.actor.as_ref().is_some_and(|actor| actor.user == view.request.created_by);
    if own { t::OWN_REQUEST } else { t::APPROVERS_DECIDE }
}

/// The two forms; nothing for those who may not decide.
pub(super) fn forms(page: &PageContext, view: &RequestView) -> AnyView {
    if !view.may.decide {
        return ().into_any();
    }
    let path = path(view);
    let (approve, deny) = (format!("{path}/approve"), format!("{path}/deny"));
    let back = page.path.clone();
    // What cannot be promised now is still there to be tried, but it does not invite.
    let fits = view.fit.as_ref().is_none_or(|fit| fit.decision.fits());
    let class = if fits { "btn-primary btn-sm" } else { "btn-sm" };
    let yes = if approved_by(page, view) {
        view! { <p class="quiet py-1 text-sm">{t::APPROVED_BY_YOU}</p> }.into_any()
    } else {
        let content = view! {
            <input type="hidden" name="back" value=back.clone() />
            {button(class, "", "", t::approve(&what(view)))}
        };
        post_form(Form { page, action: &approve }, "", content)
    };
    let deny = Form { page, action: &deny };
    let reason = Input { name: "text", label: t::REASON, class: "w-full", ..Input::default() };
    let no = view! {
        <input type="hidden" name="back" value=back />
        {textarea(deny, reason, "2")}
        {button("btn-sm btn-error justify-self-start", "", "", t::deny(&what(view)))}
    };
    let refused = page.form.problem(deny.action).is_some();
    view! {
        <div class="flex flex-wrap items-start gap-2">
            {yes}
            <details class="min-w-0 open:w-full" open=refused>
                <summary class="btn btn-sm">{t::DENY_DOTS}</summary>
                {post_form(deny, "mt-3 grid max-w-xl gap-3", no)}
            </details>
        </div>
    }
    .into_any()
}
