//! Stacked bars of amounts, drawn on the server, with the same numbers as text below.

use domain::ledger::{Holding, Line};
use leptos::prelude::*;

use crate::text as t;

/// A part of a bar.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    /// `running`, `pending`, `idle`, `unmanaged`, `free` or `deficit`: the colour.
    pub(crate) class: &'static str,
    /// Word in the legend.
    pub(crate) word: &'static str,
    /// Devices.
    pub(crate) amount: u32,
}

/// A bar: the segments add up to what is shown as its total.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bar {
    /// What is measured: "H100 of vision".
    pub(crate) title: String,
    /// Parts from left to right; empty ones are left out.
    pub(crate) segments: Vec<Segment>,
    /// The total in words: "12 granted".
    pub(crate) total: String,
    /// How much of the parts lies beyond what there is; marked at the right end.
    pub(crate) beyond: u32,
}

impl Bar {
    fn shown(&self) -> Vec<Segment> {
        self.segments.iter().filter(|s| s.amount > 0).cloned().collect()
    }
    /// All numbers in words, for the description and for people who do not see the picture.
    pub(crate) fn words(&self) -> String {
        let mut parts: Vec<_> = self.shown().iter().map(|s| format!("{} {}", s.amount, s.word)).collect();
        if self.beyond > 0 {
            parts.push(format!("{} {}", self.beyond, t::DEFICIT));
        }
        format!("{}: {}", self.total, parts.join(", "))
    }
}

/// Position and width in hundredths of a percent, so that no part is lost by rounding.
fn places(segments: &[Segment]) -> Vec<(u64, u64)> {
    let sum: u64 = segments.iter().map(|s| u64::from(s.amount)).sum::<u64>().max(1);
    let mut before = 0;
    segments
        .iter()
        .map(|segment| {
            let from = before * 10_000 / sum;
            before += u64::from(segment.amount);
            (from, before * 10_000 / sum - from)
        })
        .collect()
}

fn percent(hundredths: u64) -> String {
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

fn picture(bar: &Bar, class: &'static str, with_numbers: bool) -> AnyView {
    let shown = bar.shown();
    let parts: Vec<_> = shown
        .iter()
        .zip(places(&shown))
        .map(|(segment, (from, width))| {
            let ink = match segment.class {
                "free" | "idle" => "on-pale",
                "pending" => "on-amber",
                _ => "",
            };
            let number = (with_numbers && width >= 500).then(|| {
                view! {
                    <text
                        class=ink
                        x=percent(from + width / 2)
                        y="50%"
                        text-anchor="middle"
                        dominant-baseline="central"
                    >
                        {segment.amount.to_string()}
                    </text>
                }
            });
            let gap = (from > 0).then(|| view! { <line class="gap" x1=percent(from) x2=percent(from) y1="0" y2="100%"></line> });
            view! {
                <rect class=format!("seg-{}", segment.class) x=percent(from) width=percent(width) height="100%"></rect>
                {gap}
                {number}
            }
        })
        .collect();
    let sum: u32 = shown.iter().map(|s| s.amount).fold(0, u32::saturating_add);
    let beyond = (bar.beyond > 0).then(|| {
        let width = u64::from(bar.beyond) * 10_000 / u64::from(sum.max(1));
        let x = percent(10_000 - width.min(10_000));
        view! { <rect class="seg-deficit" x=x y="75%" width=percent(width) height="25%"></rect> }
    });
    view! {
        <svg class=class role="img" aria-label=format!("{}. {}", bar.title, bar.words())>
            <title>{bar.title.clone()}</title>
            <desc>{bar.words()}</desc>
            {parts}
            {beyond}
        </svg>
    }
    .into_any()
}

/// A bar with its legend.
pub(crate) fn bar(bar: &Bar) -> AnyView {
    let mut parts = bar.segments.clone();
    parts.push(part("deficit", t::DEFICIT, bar.beyond));
    let legend: Vec<_> = parts
        .into_iter()
        .filter(|s| s.amount > 0 || s.class == "free")
        .map(|segment| {
            view! {
                <li class="inline-flex items-center gap-1.5">
                    <span class=format!("swatch seg-{}", segment.class)></span>
                    {format!("{} {}", segment.amount, segment.word)}
                </li>
            }
        })
        .collect();
    view! {
        <div>
            {picture(bar, "bar", true)}
            <div class="mt-2 flex flex-wrap justify-between gap-x-4 gap-y-1 text-sm">
                <ul class="quiet flex flex-wrap gap-x-4 gap-y-1" aria-hidden="true">
                    {legend}
                </ul>
                <span class="font-medium">{bar.total.clone()}</span>
            </div>
        </div>
    }
    .into_any()
}

/// A thin bar without numbers; they stand beside it.
pub(crate) fn slim_bar(bar: &Bar) -> AnyView {
    picture(bar, "bar bar-slim", false)
}

fn part(class: &'static str, word: &'static str, amount: u32) -> Segment {
    Segment { class, word, amount }
}

/// A team's part of an offering: what runs, waits, and is free to use, or runs above the grant.
pub(crate) fn quota_bar(unit: &str, holding: Holding) -> Bar {
    let over = holding.over();
    let running = holding.running.min(holding.granted);
    let pending = holding.used().min(holding.granted).saturating_sub(running);
    Bar {
        title: t::bar_of_team(unit),
        segments: vec![
            part("running", t::RUNNING, running),
            part("pending", t::PENDING, pending),
            part("free", t::FREE_TO_USE, holding.unused()),
            part("deficit", t::OVER_GRANT, over),
        ],
        total: t::granted(holding.granted, unit),
        beyond: 0,
    }
}

/// A team's part of an offering whose use nobody reports: only what is granted is known.
pub(crate) fn granted_bar(unit: &str, holding: Holding) -> Bar {
    Bar {
        title: t::bar_of_team(unit),
        segments: vec![part("idle", t::GRANTED_LOW, holding.granted)],
        total: t::granted(holding.granted, unit),
        beyond: 0,
    }
}

/// An offering whose use nobody reports: capacity = granted + free − deficit.
pub(crate) fn promised_bar(unit: &str, line: &Line) -> Bar {
    Bar {
        title: t::bar_of_offering(unit),
        segments: vec![part("idle", t::GRANTED_LOW, line.granted()), part("free", t::FREE, line.free())],
        total: t::capacity(line.capacity.limit(), unit),
        beyond: line.deficit(),
    }
}

/// An offering: capacity = running + pending + granted and idle + unmanaged + still held + free − deficit.
pub(crate) fn line_bar(unit: &str, line: &Line) -> Bar {
    let running = line.running();
    let used: u32 = line.holdings.values().map(|h| h.used()).fold(0, u32::saturating_add);
    let idle: u32 = line.holdings.values().map(|h| h.unused()).fold(0, u32::saturating_add);
    Bar {
        title: t::bar_of_offering(unit),
        segments: vec![
            part("running", t::RUNNING, running),
            part("pending", t::PENDING, used.saturating_sub(running)),
            part("idle", t::GRANTED_IDLE, idle),
            part("unmanaged", t::UNMANAGED, line.unmanaged),
            part("free", t::FREE, line.free()),
        ],
        total: t::capacity(line.capacity.limit(), unit),
        beyond: line.deficit(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_bar_fill_it() {
        let parts = [part("running", "", 1), part("pending", "", 1), part("free", "", 1)];
        let places = places(&parts);
        assert_eq!(places, vec![(0, 3333), (3333, 3333), (6666, 3334)]);
        assert_eq!(places.iter().map(|p| p.1).sum::<u64>(), 10_000);
        assert!(super::places(&[]).is_empty());
    }

    #[test]
    fn a_team_above_its_grant_shows_what_is_too_much() {
        let holding = Holding { granted: 4, held: 4, running: 6, pending: 0, charged: 6 };
        let amounts: Vec<_> = quota_bar("H100", holding).segments.iter().map(|s| s.amount).collect();
        assert_eq!(amounts, [4, 0, 0, 2]);
    }

    #[test]
    fn an_offering_adds_up_to_its_capacity() {
        let holdings = [
            ("vision", Holding { granted: 12, held: 12, running: 6, pending: 2, charged: 8 }),
            ("language", Holding { granted: 4, held: 4, running: 5, pending: 0, charged: 5 }),
        ];
        let line = Line {
            capacity: domain::ledger::Capacity { declared: 24, observed: Some(24), overcommit_percent: 100 },
            unmanaged: 1,
            holdings: holdings.map(|(n, h)| (n.parse().unwrap(), h)).into(),
        };
        let amounts: Vec<_> = line_bar("H100", &line).segments.iter().map(|s| s.amount).collect();
        assert_eq!(amounts, [11, 2, 4, 1, 6]);
        assert_eq!(amounts.iter().sum::<u32>(), line.capacity.limit());
    }

    #[test]
    fn what_is_granted_and_what_is_free_make_the_capacity_where_use_is_not_observed() {
        let holding = Holding { granted: 12, held: 16, running: 0, pending: 0, charged: 0 };
        let line = Line {
            capacity: domain::ledger::Capacity { declared: 24, observed: None, overcommit_percent: 100 },
            unmanaged: 0,
            holdings: [("vision".parse().unwrap(), holding)].into(),
        };
        let amounts: Vec<_> = promised_bar("H100", &line).segments.iter().map(|s| s.amount).collect();
        assert_eq!(amounts, [12, 12]);
        assert!(granted_bar("H100", holding).words().ends_with(": 12 granted"));
    }
}
