//! Blocks of a page: its head, panels, lists of facts, messages.

use leptos::prelude::*;

use super::{Icon, icon};

/// How a message feels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Good,
    Warn,
    Bad,
    Note,
}

/// Head of a page: title, the sentence that answers why one came, and what one can do.
pub(crate) fn head(title: impl Into<String>, sentence: impl Into<String>, actions: AnyView) -> AnyView {
    let sentence = Some(sentence.into()).filter(|s| !s.is_empty());
    view! {
        <div class="mb-6 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
            <div class="min-w-0 flex-1 basis-80">
                <h1>{title.into()}</h1>
                {sentence.map(|s| view! { <p class="sentence mt-1.5">{s}</p> })}
            </div>
            <div class="flex flex-wrap items-center gap-2">{actions}</div>
        </div>
    }
    .into_any()
}

/// A box.
pub(crate) fn panel(content: impl IntoView + 'static) -> AnyView {
    view! { <div class="panel p-4 sm:p-5">{content.into_any()}</div> }.into_any()
}

/// A part of a page with a heading; lists go without padding.
pub(crate) fn section(title: impl Into<String>, content: impl IntoView + 'static) -> AnyView {
    view! {
        <section class="mt-8">
            <h2 class="mb-3">{title.into()}</h2>
            {content.into_any()}
        </section>
    }
    .into_any()
}

/// A message that stays.
pub(crate) fn alert(level: Level, text: impl IntoView + 'static) -> AnyView {
    let (class, mark) = match level {
        Level::Good => ("tone-good", Icon::Check),
        Level::Warn => ("tone-warn", Icon::Warn),
        Level::Bad => ("tone-bad", Icon::Cross),
        Level::Note => ("tone-busy", Icon::Dots),
    };
    view! {
        <div class=format!("tone {class} flex items-start gap-2.5 rounded-lg px-3.5 py-2.5 text-[0.9375rem]")>
            <span class="mt-1">{icon(mark)}</span>
            <div class="min-w-0 text-base-content">{text.into_any()}</div>
        </div>
    }
    .into_any()
}

/// An empty list, with the next step.
pub(crate) fn empty(text: impl Into<String>, next: AnyView) -> AnyView {
    view! {
        <div class="panel flex flex-col items-start gap-3 border-dashed p-6">
            <p class="quiet max-w-prose">{text.into()}</p>
            {next}
        </div>
    }
    .into_any()
}

/// Names and values.
pub(crate) fn facts(rows: Vec<(&'static str, AnyView)>) -> AnyView {
    let rows: Vec<_> = rows
        .into_iter()
        .map(|(name, value)| {
            view! {
                <div class="flex flex-col gap-x-6 sm:flex-row">
                    <dt class="quiet w-36 shrink-0 text-sm leading-6">{name}</dt>
                    <dd class="min-w-0 [overflow-wrap:anywhere]">{value}</dd>
                </div>
            }
        })
        .collect();
    view! { <dl class="grid gap-2.5">{rows}</dl> }.into_any()
}

/// A link that looks like a button.
pub(crate) fn link_button(class: &'static str, href: impl Into<String>, text: impl Into<String>) -> AnyView {
    view! { <a class=format!("btn {class}") href=href.into()>{text.into()}</a> }.into_any()
}

/// A plain link with an arrow.
pub(crate) fn back_link(href: impl Into<String>, text: impl Into<String>) -> AnyView {
    view! { <a class="a inline-flex items-center gap-1.5 text-[0.9375rem]" href=href.into()>{text.into()} {icon(Icon::Arrow)}</a> }
        .into_any()
}

/// A name for people with the key below it; only one of them where they are the same.
pub(crate) fn two(display: impl Into<String>, key: impl Into<String>) -> AnyView {
    let (display, key) = (display.into(), key.into());
    let key = (key != display)
        .then(|| view! { <span class="quiet block text-[0.8125rem] font-normal"><code>{key}</code></span> });
    view! { <span class="font-medium">{display}</span> {key} }.into_any()
}
