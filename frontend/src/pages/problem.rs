//! A page that cannot be shown.

use domain::api::Problem;
use leptos::prelude::*;

use crate::{
    context::PageContext,
    frame::Content,
    text as t,
    ui::{link_button, panel},
};

/// What went wrong, and where to go.
pub(crate) fn problem(page: &PageContext, problem: &Problem) -> Content {
    let to = if page.actor.is_some() { ("/", t::TO_HOME) } else { ("/sign-in", t::SIGN_IN) };
    let body = panel(view! {
        <p class="quiet text-sm font-semibold">{problem.status.to_string()}</p>
        <h1 class="mt-1">{problem.title.clone()}</h1>
        <p class="sentence mt-2">{t::sentence(&problem.detail)}</p>
        <div class="mt-5">{link_button("btn-primary", to.0, to.1)}</div>
        <p class="quiet mt-6 text-sm">{t::REQUEST_ID}": "<code>{page.request_id.clone()}</code></p>
    });
    Content { title: problem.title.clone(), trail: vec![], body }
}
