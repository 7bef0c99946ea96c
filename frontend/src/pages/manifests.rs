//! What gpuaas writes for a team, beside what is there.

use domain::{
    api::EmittedObject,
    name::TeamName,
    people::{Actor, Team},
};
use leptos::prelude::*;

use super::{len, team_trail};
use crate::{
    backend::Read,
    context::PageContext,
    frame::Content,
    islands::Copy,
    text as t,
    ui::{Icon, Tone, badge, empty, head, icon},
};

/// What the page shows.
pub(crate) struct ManifestsData {
    team: Team,
    objects: Vec<EmittedObject>,
}

/// How an object stands in the cluster.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Same,
    Differs,
    Missing,
    Unseen,
}

fn standing(object: &EmittedObject) -> Standing {
    match (&object.live, &object.diff) {
        (_, None) => Standing::Unseen,
        (None, Some(_)) => Standing::Missing,
        (Some(_), Some(diff)) if diff.is_empty() => Standing::Same,
        (Some(_), Some(_)) => Standing::Differs,
    }
}

impl ManifestsData {
    pub(crate) async fn load(page: &PageContext, actor: &Actor, name: &TeamName) -> Read<Self> {
        Ok(Self {
            team: page.backend.team(actor, name).await?,
            objects: page.backend.manifests(actor, name).await?,
        })
    }

    pub(crate) fn show(self, _page: &PageContext) -> Content {
        let number = |standing_is| {
            let these: Vec<_> = self.objects.iter().filter(|o| standing(o) == standing_is).collect();
            len(&these)
        };
        let sentence = t::manifests_sentence(
            len(&self.objects),
            number(Standing::Differs),
            number(Standing::Missing),
            number(Standing::Unseen),
        );
        let list =
            if self.objects.is_empty() { empty(t::MANIFESTS_EMPTY, ().into_any()) } else { self.places() };
        let title = t::manifests_title(self.team.display.as_str());
        let body = view! { {head(title.clone(), sentence, ().into_any())} {list} };
        Content { title, trail: team_trail(&self.team), body: body.into_any() }
    }

    /// Objects by cluster and namespace, in the order of the plan.
    fn places(&self) -> AnyView {
        let mut places: Vec<(String, Vec<AnyView>)> = vec![];
        for (index, object) in self.objects.iter().enumerate() {
            let space = object.namespace.as_deref().unwrap_or(t::CLUSTER_WIDE);
            let place = format!("{} / {space}", object.cluster);
            let view = object_view(index, object);
            match places.iter_mut().find(|(name, _)| *name == place) {
                Some((_, views)) => views.push(view),
                None => places.push((place, vec![view])),
            }
        }
        let places: Vec<_> = places
            .into_iter()
            .map(|(name, views)| {
                view! {
                    <section class="mb-8">
                        <h2 class="mb-3 font-mono">{name}</h2>
                        <div class="panel divide-y divide-base-300">{views}</div>
                    </section>
                }
            })
            .collect();
        places.into_any()
    }
}

fn object_view(index: usize, object: &EmittedObject) -> AnyView {
    let (tone, mark, word) = match standing(object) {
        Standing::Same => (Tone::Good, Icon::Check, t::SAME),
        Standing::Differs => (Tone::Warn, Icon::Warn, t::DIFFERS),
        Standing::Missing => (Tone::Bad, Icon::Cross, t::MISSING),
        Standing::Unseen => (Tone::Plain, Icon::Up, t::UNSEEN),
    };
    let id = format!("object-{index}");
    let differs = standing(object) == Standing::Differs;
    let diff = object.diff.as_ref().filter(|_| differs).map(|diff| {
        view! { <h3 class="mt-4 mb-1.5">{t::DIFF}</h3> <pre tabindex="0" class="code">{diff_lines(diff)}</pre> }
    });
    let live = object.live.clone().map(|yaml| {
        view! {
            <details class="mt-3">
                <summary class="quiet text-sm">{t::LIVE}</summary>
                <pre tabindex="0" class="code mt-1.5">{yaml}</pre>
            </details>
        }
    });
    view! {
        <details class="px-4 py-2.5" open=differs>
            <summary class="flex flex-wrap items-center gap-x-3 gap-y-1">
                <span class="quiet transition-transform [[open]>summary>&]:rotate-90">{icon(Icon::Arrow)}</span>
                <span class="font-medium">{object.kind.clone()}</span>
                <code class="[overflow-wrap:anywhere]">{object.name.clone()}</code>
                <span class="quiet text-sm">{object.api_version.clone()}</span>
                <span class="ml-auto">{badge(tone, mark, word)}</span>
            </summary>
            {diff}
            <div class="mt-4 mb-1.5 flex items-center justify-between gap-3">
                <h3>{t::DESIRED}</h3>
                <Copy target=id.clone() />
            </div>
            <pre tabindex="0" class="code mb-2" id=id>{object.desired.clone()}</pre>
            {live}
        </details>
    }
    .into_any()
}

/// Lines of a unified diff; sign and colour both tell what a line is.
fn diff_lines(diff: &str) -> Vec<AnyView> {
    diff.lines()
        .map(|line| {
            let class = match line.as_bytes().first() {
                _ if line.starts_with("+++") || line.starts_with("---") => "diff-at",
                Some(b'@') => "diff-at",
                Some(b'+') => "diff-add",
                Some(b'-') => "diff-del",
                _ => "diff-same",
            };
            view! { <span class=class>{line.to_owned()}</span> }.into_any()
        })
        .collect()
}
