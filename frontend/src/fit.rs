//! The answer to "does it fit?", the same in a page and in the island that asks while one types.

use domain::{api::FitAnswer, ledger::Decision};
use leptos::prelude::*;

use crate::{
    text as t,
    ui::{Icon, icon},
};

fn line(tone: &'static str, mark: Icon, text: String) -> AnyView {
    view! {
        <li class="flex items-start gap-2">
            <span class=format!("{tone} mt-0.5")>{icon(mark)}</span>
            <span>{text}</span>
        </li>
    }
    .into_any()
}

/// Verdict, then each reason with its numbers. `unit` is what one device is called.
pub(crate) fn fit_answer(unit: &str, answer: &FitAnswer) -> AnyView {
    let (good, warn, bad, note) = ("text-success", "text-warning", "text-error", "quiet");
    let mut lines = vec![];
    match &answer.decision {
        Decision::Fits { waits_for, warnings, .. } => {
            lines.extend(t::fit_capacity(&answer.decision, unit).map(|text| line(good, Icon::Check, text)));
            if *waits_for > 0 {
                lines.push(line(warn, Icon::Clock, t::fit_waits(*waits_for, unit)));
            }
            lines.extend(warnings.iter().map(|w| line(warn, Icon::Warn, t::shortfall(w))));
        }
        Decision::Short { shortfalls } => {
            lines.extend(shortfalls.iter().map(|s| line(bad, Icon::Cross, t::shortfall(s))));
            lines.extend(answer.frees_up.as_ref().map(|f| line(note, Icon::Clock, t::fit_frees_up(f, unit))));
        }
    }
    lines.extend(t::fit_partition(answer).map(|text| line(good, Icon::Check, text)));
    lines.extend(t::fit_ends(answer).map(|text| line(note, Icon::Clock, text)));
    if answer.decision.fits() {
        lines.push(line(note, Icon::Check, t::fit_approvals(answer.approvals_needed)));
    }
    let (tone, mark, verdict) =
        if answer.decision.fits() { (good, Icon::Check, t::FIT_YES) } else { (bad, Icon::Cross, t::FIT_NO) };
    view! {
        <p class=format!("{tone} flex items-center gap-2 font-semibold")>{icon(mark)} {verdict}</p>
        <ul class="mt-2 grid gap-1.5 text-[0.9375rem]">{lines}</ul>
    }
    .into_any()
}
