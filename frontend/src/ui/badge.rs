//! States: an icon, a word and a tone. The tone alone never says anything.

use domain::{
    api::Enforcement,
    fleet::{Kind, Registration},
    grant::{Grant, GrantState},
    request::RequestState,
};
use leptos::prelude::*;

use super::{Icon, icon};
use crate::text as t;

/// How a state feels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tone {
    Plain,
    Good,
    Busy,
    Warn,
    Bad,
}

impl Tone {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Plain => "tone",
            Self::Good => "tone tone-good",
            Self::Busy => "tone tone-busy",
            Self::Warn => "tone tone-warn",
            Self::Bad => "tone tone-bad",
        }
    }
}

/// An icon with a word on a pale ground.
pub(crate) fn badge(tone: Tone, mark: Icon, word: impl Into<String>) -> AnyView {
    let class = format!(
        "{} inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-[0.8125rem] font-medium whitespace-nowrap",
        tone.class()
    );
    view! { <span class=class>{icon(mark)} <span>{word.into()}</span></span> }.into_any()
}

/// State of a grant; one that is hindered says so.
pub(crate) fn grant_badge(grant: &Grant) -> AnyView {
    if grant.blocked.is_some() {
        return badge(Tone::Bad, Icon::Cross, t::BLOCKED);
    }
    let (tone, mark) = match grant.state {
        GrantState::Applying => (Tone::Busy, Icon::Dots),
        GrantState::Enforced => (Tone::Good, Icon::Check),
        GrantState::Published => (Tone::Good, Icon::Up),
        GrantState::Reducing => (Tone::Warn, Icon::Down),
        GrantState::Ended => (Tone::Plain, Icon::Clock),
    };
    badge(tone, mark, t::grant_state(grant.state))
}

/// State of a request.
pub(crate) fn request_badge(state: RequestState) -> AnyView {
    let (tone, mark) = match state {
        RequestState::Submitted => (Tone::Busy, Icon::Clock),
        RequestState::Approved => (Tone::Good, Icon::Check),
        RequestState::Denied => (Tone::Bad, Icon::Cross),
        RequestState::Withdrawn => (Tone::Plain, Icon::Down),
    };
    badge(tone, mark, t::request_state(state))
}

/// How true a namespace is.
pub(crate) fn enforcement_badge(enforcement: &Enforcement) -> AnyView {
    match enforcement {
        Enforcement::Applying => badge(Tone::Busy, Icon::Dots, t::APPLYING),
        Enforcement::Enforced => badge(Tone::Good, Icon::Check, t::ENFORCED),
        Enforcement::Published => badge(Tone::Good, Icon::Up, t::PUBLISHED),
        Enforcement::Blocked { .. } => badge(Tone::Bad, Icon::Cross, t::BLOCKED),
    }
}

/// How far the registration of a cluster is.
pub(crate) fn registration_badge(registration: &Registration) -> AnyView {
    match registration {
        Registration::Registering { .. } => badge(Tone::Busy, Icon::Dots, t::REGISTERING),
        Registration::Ready => badge(Tone::Good, Icon::Check, t::READY),
        Registration::Blocked { .. } => badge(Tone::Bad, Icon::Cross, t::BLOCKED),
    }
}

/// Glyph and word of what a unit is.
pub(crate) fn kind_mark(kind: &Kind) -> AnyView {
    let mark = match kind {
        Kind::Whole => Icon::Whole,
        Kind::Mig { .. } => Icon::Slices,
        Kind::Shared { .. } => Icon::Shared,
    };
    view! { <span class="quiet inline-flex items-center gap-1.5 text-sm">{icon(mark)} <span>{t::kind(kind)}</span></span> }
        .into_any()
}
