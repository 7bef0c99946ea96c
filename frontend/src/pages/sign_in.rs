//! Sign in, and the first start.

use leptos::prelude::*;

use crate::{
    context::PageContext,
    frame::Content,
    text as t,
    ui::{Form, Input, Level, alert, button, head, input, panel, post_form, summary},
};

/// `/sign-in`.
pub(crate) fn sign_in(page: &PageContext) -> Content {
    let form = Form { page, action: "/sign-in" };
    let next = form.value("next", page.query("next").unwrap_or("/"));
    let fields = view! {
        <input type="hidden" name="next" value=next />
        {input(form, Input { name: "login", label: t::LOGIN, autocomplete: "username", ..Input::default() })}
        {input(
            form,
            Input {
                name: "password",
                label: t::PASSWORD,
                kind: "password",
                autocomplete: "current-password",
                ..Input::default()
            },
        )}
        {button("btn-primary mt-1", "", "", t::SIGN_IN)}
    };
    let body = panel(view! {
        <h1 class="mb-4">{t::SIGN_IN}</h1>
        {summary(form)}
        {post_form(form, "grid gap-4", fields)}
    });
    Content { title: t::SIGN_IN.to_owned(), trail: vec![], body }
}

/// `/setup?token=`.
pub(crate) fn setup(page: &PageContext) -> Content {
    let form = Form { page, action: "/setup" };
    let token = form.value("token", page.query("token").unwrap_or_default());
    let content = if token.is_empty() {
        view! { {head(t::SETUP, "", ().into_any())} {alert(Level::Note, t::SETUP_NO_TOKEN)} }.into_any()
    } else {
        view! {
            {head(t::SETUP, t::SETUP_SENTENCE, ().into_any())}
            {summary(form)}
            {post_form(form, "grid gap-4", setup_fields(form, token))}
        }
        .into_any()
    };
    Content { title: t::SETUP.to_owned(), trail: vec![], body: panel(content) }
}

fn setup_fields(form: Form<'_>, token: String) -> AnyView {
    let login = Input {
        name: "login",
        label: t::LOGIN,
        help: t::LOGIN_HELP,
        autocomplete: "username",
        ..Input::default()
    };
    let display = Input {
        name: "display",
        label: t::DISPLAY,
        help: t::DISPLAY_HELP,
        autocomplete: "name",
        ..Input::default()
    };
    let password = Input {
        name: "password",
        label: t::PASSWORD,
        kind: "password",
        help: t::PASSWORD_HELP,
        autocomplete: "new-password",
        ..Input::default()
    };
    view! {
        <input type="hidden" name="token" value=token />
        {input(form, login)}
        {input(form, display)}
        {input(form, password)}
        {button("btn-primary mt-1", "", "", t::SETUP_BUTTON)}
    }
    .into_any()
}
