//! Native forms. What was refused keeps its values and says why, at the field and in a summary that takes the focus.

use domain::api::Problem;
use leptos::prelude::*;

use super::{Icon, icon};
use crate::{context::PageContext, text as t};

/// A form of a page, known by the path that it posts to.
#[derive(Clone, Copy)]
pub(crate) struct Form<'a> {
    /// The page.
    pub(crate) page: &'a PageContext,
    /// Where it posts to.
    pub(crate) action: &'a str,
}

/// A field of one line.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    /// `type` of the input.
    pub(crate) kind: &'static str,
    /// Shown before anything was entered.
    pub(crate) value: &'a str,
    pub(crate) help: &'a str,
    pub(crate) required: bool,
    pub(crate) autocomplete: &'static str,
    pub(crate) min: &'a str,
    pub(crate) max: &'a str,
    pub(crate) class: &'static str,
}

impl Default for Input<'_> {
    fn default() -> Self {
        Self {
            name: "",
            label: "",
            kind: "text",
            value: "",
            help: "",
            required: true,
            autocomplete: "off",
            min: "",
            max: "",
            class: "w-full",
        }
    }
}

/// One of several values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) text: String,
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|t| !t.is_empty())
}

impl Form<'_> {
    /// What was entered, or else `before`.
    pub(crate) fn value(&self, name: &str, before: &str) -> String {
        self.page.form.value(self.action, name).unwrap_or(before).to_owned()
    }
    /// What is wrong with a field.
    pub(crate) fn error(&self, name: &str) -> Option<String> {
        self.page.form.error(self.action, name).map(t::sentence)
    }
    /// Id of a field: unique on a page with several forms.
    pub(crate) fn id(&self, name: &str) -> String {
        let place: String =
            self.action.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        format!("f{place}-{name}")
    }
    /// Ids of help and error, for `aria-describedby`.
    pub(crate) fn described(&self, name: &str, help: &str) -> Option<String> {
        let mut ids = vec![];
        if !help.is_empty() {
            ids.push(format!("{}-help", self.id(name)));
        }
        if self.error(name).is_some() {
            ids.push(format!("{}-error", self.id(name)));
        }
        Some(ids.join(" ")).filter(|ids| !ids.is_empty())
    }
    /// Help and error below a field.
    pub(crate) fn below(&self, name: &str, help: &str) -> AnyView {
        let error = self.error(name).map(|message| {
            view! {
                <p id=format!("{}-error", self.id(name)) class="mt-1 flex items-start gap-1.5 text-sm text-error">
                    <span class="mt-0.5">{icon(Icon::Warn)}</span>
                    <span>{message}</span>
                </p>
            }
        });
        let help = some(help).map(
            |text| view! { <p id=format!("{}-help", self.id(name)) class="quiet mt-1 text-sm">{text}</p> },
        );
        view! { {error} {help} }.into_any()
    }
    pub(crate) fn invalid(&self, name: &str) -> Option<&'static str> {
        self.error(name).is_some().then_some("true")
    }
}

/// A form that posts, with the token.
pub(crate) fn post_form(form: Form<'_>, class: &'static str, content: impl IntoView + 'static) -> AnyView {
    view! {
        <form method="post" action=form.action.to_owned() class=class>
            <input type="hidden" name="csrf" value=form.page.csrf.clone() />
            {content.into_any()}
        </form>
    }
    .into_any()
}

/// The key of a form that makes something, so that a second click makes nothing more.
pub(crate) fn once(form: Form<'_>) -> AnyView {
    view! { <input type="hidden" name="key" value=form.page.key.clone() /> }.into_any()
}

/// A field of one line.
pub(crate) fn input(form: Form<'_>, field: Input<'_>) -> AnyView {
    let id = form.id(field.name);
    let described = form.described(field.name, field.help);
    view! {
        <div class=field.class>
            <label class="mb-1 block text-sm font-medium" for=id.clone()>{field.label}</label>
            <input
                class="input w-full text-base"
                class:input-error=form.error(field.name).is_some()
                id=id
                name=field.name
                type=field.kind
                value=(field.kind != "password").then(|| form.value(field.name, field.value))
                required=field.required
                autocomplete=field.autocomplete
                min=some(field.min)
                max=some(field.max)
                inputmode=(field.kind == "number").then_some("numeric")
                aria-describedby=described
                aria-invalid=form.invalid(field.name)
            />
            {form.below(field.name, field.help)}
        </div>
    }
    .into_any()
}

/// Leptos writes the content of a `textarea` as it is (tachys: `ESCAPE_CHILDREN` is false for it), so we escape it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// A field of several lines, at most [`domain::request::TEXT_MAX`] characters.
pub(crate) fn textarea(form: Form<'_>, field: Input<'_>, rows: &'static str) -> AnyView {
    let id = form.id(field.name);
    let described = form.described(field.name, field.help);
    view! {
        <div class=field.class>
            <label class="mb-1 block text-sm font-medium" for=id.clone()>{field.label}</label>
            <textarea
                class="textarea w-full text-base"
                class:textarea-error=form.error(field.name).is_some()
                id=id
                name=field.name
                rows=rows
                maxlength=domain::request::TEXT_MAX.to_string()
                required=field.required
                aria-describedby=described
                aria-invalid=form.invalid(field.name)
            >
                {escaped(&form.value(field.name, field.value))}
            </textarea>
            {form.below(field.name, field.help)}
        </div>
    }
    .into_any()
}

/// One value of a few.
pub(crate) fn select(form: Form<'_>, field: Input<'_>, choices: Vec<Choice>) -> AnyView {
    let id = form.id(field.name);
    let now = form.value(field.name, field.value);
    let options: Vec<_> = choices
        .into_iter()
        .map(|c| {
            let selected = c.value == now;
            view! { <option value=c.value selected=selected>{c.text}</option> }
        })
        .collect();
    view! {
        <div class=field.class>
            <label class="mb-1 block text-sm font-medium" for=id.clone()>{field.label}</label>
            <select
                class="select w-full text-base"
                id=id
                name=field.name
                aria-describedby=form.described(field.name, field.help)
                aria-invalid=form.invalid(field.name)
            >
                {options}
            </select>
            {form.below(field.name, field.help)}
        </div>
    }
    .into_any()
}

/// A button that sends its form; `name` and `value` are left out where they are empty.
pub(crate) fn button(class: &'static str, name: &str, value: &str, text: impl Into<String>) -> AnyView {
    view! {
        <button class=format!("btn {class}") type="submit" name=some(name) value=some(value)>
            {text.into()}
        </button>
    }
    .into_any()
}

/// Why the form was refused. It takes the focus, so that nobody misses it.
pub(crate) fn summary(form: Form<'_>) -> AnyView {
    let Some(problem) = form.page.form.problem(form.action) else { return ().into_any() };
    problem_summary(form, problem)
}

fn problem_summary(form: Form<'_>, problem: &Problem) -> AnyView {
    let fields: Vec<_> = problem
        .fields
        .iter()
        .map(|error| {
            let name = error.field.rsplit('.').next().unwrap_or_default().to_owned();
            let href = format!("#{}", form.id(&name));
            view! { <li><a class="a" href=href>{t::field(&name)}</a>": "{t::stop(&error.message)}</li> }
        })
        .collect();
    let shortfalls: Vec<_> =
        problem.shortfalls.iter().map(|s| view! { <li>{t::stop(&t::shortfall(s))}</li> }).collect();
    // The detail of a refusal with reasons is all of them in a row; they stand below, one a line.
    let detail =
        (fields.is_empty() && shortfalls.is_empty()).then(|| view! { <p>{t::sentence(&problem.detail)}</p> });
    view! {
        <div class="tone tone-bad mb-5 rounded-lg px-4 py-3" role="alert" tabindex="-1" autofocus=true>
            <p class="flex items-center gap-2 font-semibold">{icon(Icon::Warn)} {problem.title.clone()}</p>
            <div class="mt-1 text-[0.9375rem] text-base-content">
                {detail}
                <ul class="mt-1 list-disc pl-5">{fields} {shortfalls}</ul>
            </div>
        </div>
    }
    .into_any()
}
