//! Tables. On a narrow screen each row becomes a small card: each cell carries its column's name.

use leptos::prelude::*;

use crate::{context::PageContext, text as t};

/// A table with a caption for screen readers; headings that begin with `#` are of numbers.
pub(crate) fn table(caption: impl Into<String>, headings: &[&'static str], rows: Vec<AnyView>) -> AnyView {
    let headings: Vec<_> = headings
        .iter()
        .map(|heading| match heading.strip_prefix('#') {
            Some(number) => view! { <th scope="col" class="num">{number}</th> }.into_any(),
            None => view! { <th scope="col">{*heading}</th> }.into_any(),
        })
        .collect();
    view! {
        <div class="panel overflow-x-auto">
            <table class="rows">
                <caption class="sr-only">{caption.into()}</caption>
                <thead>
                    <tr>{headings}</tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// A cell.
pub(crate) fn cell(label: &'static str, content: impl IntoView + 'static) -> AnyView {
    view! { <td data-label=label><div class="min-w-0 sm:min-w-20">{content.into_any()}</div></td> }.into_any()
}

/// A cell with a number.
pub(crate) fn num(label: &'static str, number: String) -> AnyView {
    view! { <td class="num" data-label=label>{number}</td> }.into_any()
}

/// Link to the next part of a list, and back to its beginning; the filter stays.
pub(crate) fn pager(page: &PageContext, next: Option<String>) -> AnyView {
    let keep: Vec<_> = page.query.iter().filter(|(name, _)| *name != "cursor").collect();
    let link = |cursor: Option<&str>| {
        let mut query: Vec<String> =
            keep.iter().map(|(n, v)| format!("{}={}", encode(n), encode(v))).collect();
        query.extend(cursor.map(|c| format!("cursor={}", encode(c))));
        let query = query.join("&");
        if query.is_empty() { page.path.clone() } else { format!("{}?{query}", page.path) }
    };
    let first =
        page.query("cursor").map(|_| view! { <a class="btn btn-sm" href=link(None)>{t::FIRST_PAGE}</a> });
    let next = next
        .map(|cursor| view! { <a class="btn btn-sm" rel="next" href=link(Some(&cursor))>{t::NEXT_PAGE}</a> });
    if first.is_none() && next.is_none() {
        return ().into_any();
    }
    view! { <nav class="mt-3 flex gap-2" aria-label=t::PAGES>{first} {next}</nav> }.into_any()
}

/// Percent-encodes a query value.
pub(crate) fn encode(text: &str) -> String {
    text.bytes()
        .map(|b| match b {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(b).to_string(),
            _ => format!("%{b:02X}"),
        })
        .collect()
}
