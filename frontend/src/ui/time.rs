//! Times: relative in words, exact on hover and for machines.

use chrono::NaiveDate;
use domain::Timestamp;
use leptos::prelude::*;

use crate::text as t;

/// A moment: "3 hours ago", "in 14 days".
pub(crate) fn moment(now: Timestamp, at: Timestamp) -> AnyView {
    view! {
        <time class="whitespace-nowrap" datetime=at.format("%Y-%m-%dT%H:%M:%SZ").to_string() title=t::exact(at)>
            {t::relative(now, at)}
        </time>
    }
    .into_any()
}

/// A day: "14 December 2026".
pub(crate) fn day(date: NaiveDate) -> AnyView {
    view! { <time class="whitespace-nowrap" datetime=date.to_string()>{t::date(date)}</time> }.into_any()
}
