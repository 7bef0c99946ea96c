//! The document around a page: head, navigation, breadcrumbs, messages.

use domain::{
    authz::{Action, Verdict, authorize},
    people::{Actor, Team},
};
use leptos::prelude::*;

use crate::{
    context::{FlashKind, PageContext, Theme},
    islands::ThemeSwitch,
    routes::Route,
    text as t,
    ui::{Icon, Level, alert, icon},
};

const LOGO: &str = include_str!("../assets/logo.svg");

/// A page before it gets its frame.
pub(crate) struct Content {
    /// For the title of the window.
    pub(crate) title: String,
    /// Links above the page: text and path; the page itself is not among them.
    pub(crate) trail: Vec<(String, String)>,
    /// The page.
    pub(crate) body: AnyView,
}

/// What the navigation needs to know.
#[derive(Clone, Default)]
pub(crate) struct Surroundings {
    /// Teams of the actor.
    pub(crate) teams: Vec<Team>,
    /// Team that the page is about.
    pub(crate) team: Option<Team>,
    /// Requests that wait for the actor.
    pub(crate) inbox: u32,
}

/// The whole document.
pub(crate) fn document(page: &PageContext, around: &Surroundings, content: Content) -> AnyView {
    let theme = (page.theme != Theme::System).then(|| page.theme.as_str());
    let framed = match &page.actor {
        Some(actor) => with_navigation(page, actor, around, content.trail, content.body),
        None => alone(page, content.body),
    };
    view! {
        <html lang="en" data-theme=theme>
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <title>{t::title(&content.title)}</title>
                <link rel="icon" type="image/svg+xml" href=page.assets.logo.clone() />
                <link rel="stylesheet" href=page.assets.css.clone() />
                <script type="module" nonce=page.nonce.clone() inner_html=loader(page)></script>
            </head>
            <body class="min-h-screen bg-base-200 text-base-content antialiased">{framed}</body>
        </html>
    }
    .into_any()
}

/// Loads the wasm module when the page is there, and gives each island its function. Islands of ours never nest.
fn loader(page: &PageContext) -> String {
    format!(
        "document.documentElement.classList.add('script');\
         (window.requestIdleCallback||setTimeout)(async()=>{{\
         const m=await import({js:?});await m.default({{module_or_path:{wasm:?}}});m.hydrate();\
         for(const e of document.querySelectorAll('leptos-island'))m[e.dataset.component]?.(e)\
         }})",
        js = page.assets.js,
        wasm = page.assets.wasm,
    )
}

fn logo() -> AnyView {
    view! {
        <a href="/" class="inline-flex items-center gap-2.5 rounded text-lg font-semibold tracking-tight">
            <span class="logo [&_svg]:size-6" aria-hidden="true" inner_html=LOGO></span>
            {t::PRODUCT}
        </a>
    }
    .into_any()
}

fn flash(page: &PageContext) -> AnyView {
    page.flash
        .clone()
        .map(|flash| {
            let level = match flash.kind {
                FlashKind::Done => Level::Good,
                FlashKind::Failed => Level::Bad,
            };
            view! { <div class="mb-5" role="status">{alert(level, flash.text)}</div> }
        })
        .into_any()
}

/// Sign in, first start and problems without an account: the page in the middle.
fn alone(page: &PageContext, body: AnyView) -> AnyView {
    view! {
        <main id="content" class="mx-auto flex min-h-screen max-w-md flex-col justify-center px-5 py-10">
            <div class="mb-6 flex items-center justify-between">
                {logo()}
                <ThemeSwitch current=page.theme.as_str().to_owned() csrf=page.csrf.clone() back=here(page) />
            </div>
            {flash(page)}
            {body}
            <p class="quiet mt-6 text-sm">{t::TAGLINE}</p>
        </main>
    }
    .into_any()
}

fn here(page: &PageContext) -> String {
    let query: Vec<_> = page
        .query
        .iter()
        .map(|(n, v)| format!("{}={}", crate::ui::encode(n), crate::ui::encode(v)))
        .collect();
    if query.is_empty() { page.path.clone() } else { format!("{}?{}", page.path, query.join("&")) }
}

fn with_navigation(
    page: &PageContext,
    actor: &Actor,
    around: &Surroundings,
    trail: Vec<(String, String)>,
    body: AnyView,
) -> AnyView {
    let crumbs: Vec<_> = trail
        .into_iter()
        .enumerate()
        .map(|(index, (text, href))| {
            view! {
                <li class="flex items-center gap-1.5">
                    {(index > 0).then(|| view! { <span aria-hidden="true">"/"</span> })}
                    <a class="hover:underline" href=href>{text}</a>
                </li>
            }
        })
        .collect();
    let breadcrumbs = (!crumbs.is_empty()).then(|| {
        view! {
            <nav class="quiet mb-2 text-sm" aria-label=t::BREADCRUMBS>
                <ol class="flex flex-wrap gap-1.5">{crumbs}</ol>
            </nav>
        }
    });
    view! {
        <a href="#content" class="btn btn-primary sr-only focus:not-sr-only focus:fixed focus:left-3 focus:top-3 focus:z-20">
            {t::SKIP}
        </a>
        <div class="lg:grid lg:grid-cols-[15.5rem_minmax(0,1fr)]">
            <div class="border-base-300 bg-base-100 max-lg:border-b lg:min-h-screen lg:border-r">
                <div class="lg:sticky lg:top-0 lg:flex lg:h-screen lg:flex-col lg:overflow-y-auto">
                    <input type="checkbox" id="menu" class="peer sr-only" aria-label=t::MENU />
                    <div class="flex items-center justify-between px-5 py-3.5 max-lg:peer-focus-visible:[&_label]:outline-2">
                        {logo()}
                        <label for="menu" class="btn btn-ghost btn-sm lg:hidden" aria-hidden="true">
                            {icon(Icon::Menu)} {t::MENU}
                        </label>
                    </div>
                    <div class="hidden flex-1 flex-col gap-5 px-3 pb-4 peer-checked:flex lg:flex">
                        {navigation(page, actor, around)} {account(page, actor)}
                    </div>
                </div>
            </div>
            <main id="content" tabindex="-1" class="mx-auto w-full min-w-0 max-w-6xl px-4 py-6 outline-none sm:px-8 sm:py-8">
                {breadcrumbs}
                {flash(page)}
                {body}
            </main>
        </div>
    }
    .into_any()
}

fn account(page: &PageContext, actor: &Actor) -> AnyView {
    let roles: Vec<_> = actor.platform.iter().map(|r| t::platform_role(*r)).collect();
    let roles = (!roles.is_empty()).then(|| view! { <p class="quiet text-xs">{roles.join(", ")}</p> });
    view! {
        <div class="mt-auto flex items-center justify-between gap-2 border-t border-base-300 px-2.5 pt-4">
            <div class="min-w-0">
                <p class="truncate text-sm font-medium" title=actor.display.to_string()>{actor.display.to_string()}</p>
                {roles}
                <form method="post" action="/sign-out">
                    <input type="hidden" name="csrf" value=page.csrf.clone() />
                    <button class="quiet cursor-pointer text-sm hover:underline" type="submit">{t::SIGN_OUT}</button>
                </form>
            </div>
            <ThemeSwitch current=page.theme.as_str().to_owned() csrf=page.csrf.clone() back=here(page) />
        </div>
    }
    .into_any()
}

/// One entry of the navigation.
fn entry(page: &PageContext, mark: Icon, href: String, text: &'static str, number: u32) -> AnyView {
    let exact = page.path == href;
    // A page below an entry belongs to it, but "Quota" of a team is not the head of its other pages.
    let below = href.matches('/').count() > 2 && page.path.starts_with(&format!("{href}/"));
    let grant = text == t::QUOTA && page.path.starts_with(&format!("{href}/grants/"));
    let current = (exact || below || grant).then_some("page");
    let number = (number > 0).then(|| {
        view! { <span class="tone tone-busy ml-auto rounded-full px-1.5 text-xs font-semibold">{number}</span> }
    });
    view! { <li><a href=href aria-current=current>{icon(mark)} <span>{text}</span> {number}</a></li> }
        .into_any()
}

fn group(title: Option<String>, entries: Vec<AnyView>, more: AnyView) -> AnyView {
    let title = title.map(|title| {
        view! { <p class="quiet px-2.5 pb-1 text-xs font-semibold tracking-wide [overflow-wrap:anywhere]">{title}</p> }
    });
    view! { <div>{title}<ul class="grid gap-0.5">{entries}</ul>{more}</div> }.into_any()
}

fn navigation(page: &PageContext, actor: &Actor, around: &Surroundings) -> AnyView {
    let may = |action| authorize(actor, action, None) == Verdict::Allow;
    let mut groups = vec![group(
        None,
        vec![
            entry(page, Icon::Home, "/".to_owned(), t::HOME, 0),
            entry(page, Icon::Grid, "/catalogue".to_owned(), t::CATALOGUE, 0),
        ],
        ().into_any(),
    )];
    groups.push(team_group(page, around));
    if may(Action::DecideRequest) {
        let inbox = entry(page, Icon::Inbox, "/inbox".to_owned(), t::INBOX, around.inbox);
        groups.push(group(Some(t::APPROVALS.to_owned()), vec![inbox], ().into_any()));
    }
    if may(Action::ReadPlatform) {
        let entries = vec![
            entry(page, Icon::Gauge, "/admin".to_owned(), t::DASHBOARD, 0),
            entry(page, Icon::Server, "/admin/fleet".to_owned(), t::FLEET, 0),
            entry(page, Icon::Book, "/admin/audit".to_owned(), t::AUDIT, 0),
        ];
        groups.push(group(Some(t::PLATFORM.to_owned()), entries, ().into_any()));
    }
    view! { <nav class="nav grid gap-5" aria-label=t::NAVIGATION>{groups}</nav> }.into_any()
}

/// Pages of the team at hand, and the way to the others.
fn team_group(page: &PageContext, around: &Surroundings) -> AnyView {
    let Some(team) = around.team.as_ref().or(around.teams.first()) else { return ().into_any() };
    let base = format!("/teams/{}", team.name);
    let entries = vec![
        entry(page, Icon::Gauge, base.clone(), t::QUOTA, 0),
        entry(page, Icon::List, format!("{base}/requests"), t::REQUESTS, 0),
        entry(page, Icon::Sheets, format!("{base}/manifests"), t::MANIFESTS, 0),
        entry(page, Icon::People, format!("{base}/members"), t::MEMBERS, 0),
    ];
    let others: Vec<_> = around
        .teams
        .iter()
        .filter(|other| other.name != team.name)
        .map(|other| {
            // The same page of the other team, where it is not about one thing of this team.
            let rest = match Route::parse(&page.path) {
                Some(Route::Requests(_)) => "/requests",
                Some(Route::NewRequest(_)) => "/requests/new",
                Some(Route::Manifests(_)) => "/manifests",
                Some(Route::Members(_)) => "/members",
                _ => "",
            };
            view! { <li><a href=format!("/teams/{}{rest}", other.name)>{other.display.to_string()}</a></li> }
        })
        .collect();
    let switcher = (!others.is_empty()).then(|| {
        view! {
            <details class="mt-1">
                <summary class="quiet rounded px-2.5 py-1 text-sm hover:underline">{t::OTHER_TEAMS}</summary>
                <ul class="ml-2.5 border-l border-base-300 pl-2">{others}</ul>
            </details>
        }
    });
    group(Some(team.display.to_string()), entries, switcher.into_any())
}
