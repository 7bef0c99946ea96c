//! One grant: how true it is, layer by layer, and how it is given back.

use domain::{
    api::{Enforcement, GrantView, NamespaceView, ProbeAnswer},
    authz::Action,
    grant::GrantState,
    id::GrantId,
    name::TeamName,
    people::{Actor, Team},
    request::last_day,
};
use leptos::prelude::*;

use super::{may, of_team, team_trail};
use crate::{
    backend::Read,
    context::PageContext,
    frame::Content,
    text as t,
    ui::{
        Form, Icon, Input, Level, Tone, alert, back_link, button, day, facts, grant_badge, head, icon, input,
        kind_mark, link_button, moment, once, panel, post_form, section, summary,
    },
};

/// What the page shows.
pub(crate) struct GrantData {
    team: Team,
    view: GrantView,
}

/// One step of the ladder.
struct Rung {
    name: &'static str,
    tone: Tone,
    mark: Icon,
    text: String,
    /// The cluster's own words.
    proof: Option<String>,
    at: Option<domain::Timestamp>,
}

impl Rung {
    fn new(name: &'static str, how: (Tone, Icon), text: impl Into<String>) -> Self {
        Self { name, tone: how.0, mark: how.1, text: text.into(), proof: None, at: None }
    }
}

const DONE: (Tone, Icon) = (Tone::Good, Icon::Check);
const WAITS: (Tone, Icon) = (Tone::Busy, Icon::Dots);
const FAILED: (Tone, Icon) = (Tone::Bad, Icon::Cross);
const OVER: (Tone, Icon) = (Tone::Plain, Icon::Down);

impl GrantData {
    pub(crate) async fn load(page: &PageContext, actor: &Actor, name: &TeamName, id: GrantId) -> Read<Self> {
        let view = page.backend.grant(actor, name, id).await?;
        Ok(Self { team: page.backend.team(actor, name).await?, view })
    }

    pub(crate) fn show(self, page: &PageContext) -> Content {
        let grant = &self.view.grant;
        let title = t::amount(grant.shape.amount(), self.view.offering.display.as_str());
        let blocked =
            grant.blocked.clone().map(|reason| view! { <div class="mb-4">{alert(Level::Bad, reason)}</div> });
        let unit = self.view.offering.display.as_str();
        let last = t::date(last_day(grant.ends_at));
        let body = view! {
            {head(title.clone(), t::grant_sentence(grant.state, &last), self.actions(page))}
            {blocked}
            <div class="grid items-start gap-4 lg:grid-cols-2">
                {panel(self.facts(page))}
                {panel(view! { <h2 class="mb-3">{t::LAYERS}</h2> {self.ladder(page)} })}
            </div>
            {section(t::WHOLE_OFFERING, panel(of_team(unit, self.view.holding, self.view.observed)))}
            {self.give_back(page)}
        };
        Content { title, trail: team_trail(&self.team), body: body.into_any() }
    }

    fn actions(&self, page: &PageContext) -> AnyView {
        let grant = &self.view.grant;
        let may_ask = may(page.actor.as_ref(), Action::AskForTeam, Some(&self.team.name));
        let links = (may_ask && grant.state.counts()).then(|| {
            let new = format!("/teams/{}/requests/new", self.team.name);
            view! {
                {link_button("", format!("{new}?extend={}", grant.id), t::EXTEND)}
                {link_button("", format!("{new}?change={}", grant.id), t::CHANGE)}
            }
        });
        view! { {grant_badge(grant)} {links} }.into_any()
    }

    fn facts(&self, page: &PageContext) -> AnyView {
        let (grant, offering) = (&self.view.grant, &self.view.offering);
        let request = format!("/teams/{}/requests/{}", self.team.name, grant.request);
        let mut rows = vec![
            (
                t::OFFERING,
                view! { <span class="mr-2">{offering.display.to_string()}</span> {kind_mark(&offering.kind)} }
                    .into_any(),
            ),
            (t::RESOURCE, view! { <code>{offering.resource.to_string()}</code> }.into_any()),
            (t::SHAPE, t::shape(grant.shape.nodes, grant.shape.per_node).into_any()),
            (t::POOL, grant.pool.to_string().into_any()),
            (t::NAMESPACE, view! { <code>{grant.namespace.to_string()}</code> }.into_any()),
            (t::CLUSTER, grant.cluster.to_string().into_any()),
        ];
        if let Some(partition) = &self.view.partition {
            let text = t::partition(&partition.pkey.to_string(), partition.slot, partition.cluster.as_str());
            rows.push((t::PARTITION, view! { {text} " · " <code>{partition.network()}</code> }.into_any()));
        }
        rows.push((
            t::LEASE,
            view! { {moment(page.now, grant.starts_at)} " – " {day(last_day(grant.ends_at))} }.into_any(),
        ));
        rows.push((t::FROM_REQUEST, back_link(request, t::SEE_REQUEST)));
        facts(rows)
    }

    fn rungs(&self) -> Vec<Rung> {
        let grant = &self.view.grant;
        let unit = self.view.offering.display.as_str();
        let ledger = if grant.amount() > 0 { DONE } else { OVER };
        let mut rungs = vec![Rung {
            at: Some(grant.starts_at),
            ..Rung::new(t::LAYER_LEDGER, ledger, t::ledger_layer(grant.amount(), unit))
        }];
        let namespace = self.view.namespace.as_ref();
        rungs.push(namespace_rung(&self.view, namespace));
        rungs.push(probe_rung(t::LAYER_POLICY, "policy", namespace));
        rungs.push(probe_rung(t::LAYER_QUOTA, "quota", namespace));
        if let Some(partition) = &self.view.partition {
            let written = namespace.is_some_and(|n| settled(&n.enforcement));
            let text = t::partition(&partition.pkey.to_string(), partition.slot, partition.cluster.as_str());
            rungs.push(Rung::new(t::LAYER_NETWORK, if written { DONE } else { WAITS }, text));
        }
        rungs.push(access_rung(grant.state, namespace));
        rungs
    }

    fn ladder(&self, page: &PageContext) -> AnyView {
        let rungs: Vec<_> = self
            .rungs()
            .into_iter()
            .map(|rung| {
                let proof = rung.proof.map(|text| {
                    view! {
                        <details class="mt-1">
                            <summary class="quiet text-sm">{t::CLUSTER_SAYS}</summary>
                            <pre tabindex="0" class="code mt-1 whitespace-pre-wrap">{text}</pre>
                        </details>
                    }
                });
                let at = rung
                    .at
                    .map(|at| view! { <span class="quiet ml-2 text-sm">{moment(page.now, at)}</span> });
                view! {
                    <li>
                        <span class=format!("rung {}", rung.tone.class())>{icon(rung.mark)}</span>
                        <p><span class="font-medium">{rung.name}</span> {at}</p>
                        <p class="text-[0.9375rem] [overflow-wrap:anywhere]">{rung.text}</p>
                        {proof}
                    </li>
                }
            })
            .collect();
        view! { <ol class="ladder">{rungs}</ol> }.into_any()
    }

    fn give_back(&self, page: &PageContext) -> AnyView {
        let grant = &self.view.grant;
        let may_give = may(page.actor.as_ref(), Action::LeadTeam, Some(&self.team.name));
        if !may_give || !grant.state.counts() {
            return ().into_any();
        }
        let action = format!("/teams/{}/grants/{}/give-back", self.team.name, grant.id);
        let form = Form { page, action: &action };
        let unit = self.view.offering.display.to_string();
        let (nodes, per_node) = (grant.shape.nodes.to_string(), grant.shape.per_node.to_string());
        let number = |name, label, value, max| Input {
            name,
            label,
            kind: "number",
            value,
            min: "1",
            max,
            class: "w-32",
            ..Input::default()
        };
        let some = view! {
            {once(form)}
            {input(form, number("nodes", t::KEEP_NODES, nodes.as_str(), nodes.as_str()))}
            {input(form, number("per_node", t::KEEP_PER_NODE, per_node.as_str(), per_node.as_str()))}
            {button("self-end", "", "", t::KEEP_BUTTON)}
        };
        let all = view! {
            {once(form)}
            <input type="hidden" name="nodes" value="0" />
            <input type="hidden" name="per_node" value="0" />
            {button("btn-outline btn-error", "", "", t::give_back_all(grant.shape.amount(), &unit))}
        };
        let part = (grant.shape.amount() > 1).then(|| {
            view! {
                <div>
                    <h3>{t::GIVE_BACK_SOME}</h3>
                    <p class="quiet mt-1 mb-3 text-[0.9375rem]">{t::GIVE_BACK_SOME_HELP}</p>
                    {post_form(form, "flex flex-wrap gap-3", some)}
                </div>
            }
        });
        let content = view! {
            {summary(form)}
            <div class="grid gap-6 md:grid-cols-2">
                {part}
                <div>
                    <h3>{t::GIVE_BACK_ALL_TITLE}</h3>
                    <p class="quiet mt-1 mb-3 text-[0.9375rem]">{t::give_back_all_help(&unit)}</p>
                    {post_form(form, "", all)}
                </div>
            </div>
        };
        view! { <div id="give-back" class="scroll-mt-6">{section(t::GIVE_BACK, panel(content))}</div> }
            .into_any()
    }
}

fn settled(enforcement: &Enforcement) -> bool {
    matches!(enforcement, Enforcement::Enforced | Enforcement::Published)
}

fn namespace_rung(view: &GrantView, namespace: Option<&NamespaceView>) -> Rung {
    let text = t::namespace_layer(view.grant.namespace.as_str(), view.grant.cluster.as_str());
    let Some(namespace) = namespace else { return Rung::new(t::LAYER_NAMESPACE, WAITS, text) };
    let how = match &namespace.enforcement {
        Enforcement::Applying => WAITS,
        Enforcement::Enforced => DONE,
        Enforcement::Published => (Tone::Good, Icon::Up),
        Enforcement::Blocked { .. } => FAILED,
    };
    let proof = match &namespace.enforcement {
        Enforcement::Blocked { reason } => Some(reason.clone()),
        Enforcement::Applying | Enforcement::Enforced | Enforcement::Published => None,
    };
    Rung { proof, at: namespace.confirmed_at, ..Rung::new(t::LAYER_NAMESPACE, how, text) }
}

fn probe_rung(name: &'static str, layer: &str, namespace: Option<&NamespaceView>) -> Rung {
    let answer: Option<&ProbeAnswer> =
        namespace.and_then(|n| n.probes.iter().find(|probe| probe.layer == layer));
    let Some(answer) = answer else {
        let unobserved = namespace.is_some_and(|n| n.enforcement == Enforcement::Published);
        let (how, text) =
            if unobserved { ((Tone::Plain, Icon::Up), t::PROBE_UNOBSERVED) } else { (WAITS, t::PROBE_WAITS) };
        return Rung::new(name, how, text);
    };
    let (how, text) = if answer.refused {
        (DONE, t::probe_refused(&answer.asked))
    } else {
        (FAILED, t::probe_not_refused(&answer.asked))
    };
    Rung { proof: Some(answer.text.clone()), at: Some(answer.at), ..Rung::new(name, how, text) }
}

fn access_rung(state: GrantState, namespace: Option<&NamespaceView>) -> Rung {
    let given = namespace.is_some_and(|n| settled(&n.enforcement));
    let (how, text) = match (state, given) {
        (GrantState::Reducing | GrantState::Ended, _) => (OVER, t::ACCESS_GONE),
        (_, true) if namespace.is_some_and(|n| n.enforcement == Enforcement::Published) => {
            ((Tone::Good, Icon::Up), t::ACCESS_PUBLISHED)
        }
        (_, true) => (DONE, t::ACCESS_GIVEN),
        (_, false) => (WAITS, t::ACCESS_WAITS),
    };
    Rung::new(t::LAYER_ACCESS, how, text)
}
