//! What there is: clusters, pools, offerings, nodes.

use domain::{
    api::Page,
    fleet::{Cluster, Node, Offering, Pool, Registration, Writer},
    people::Actor,
    resource::ResourceName,
};
use leptos::prelude::*;

use super::len;
use crate::{
    backend::{Part, Read},
    context::PageContext,
    frame::Content,
    text as t,
    ui::{
        Bar, Icon, Segment, Tone, badge, cell, empty, head, kind_mark, moment, num, pager,
        registration_badge, section, slim_bar, table, two,
    },
};

/// What the page shows.
pub(crate) struct FleetData {
    clusters: Vec<Cluster>,
    pools: Vec<Pool>,
    offerings: Vec<Offering>,
    nodes: Vec<(Cluster, Page<Node>)>,
}

impl FleetData {
    /// `?cluster=` with `&cursor=` turns the page of one cluster's nodes; the others begin at the start.
    pub(crate) async fn load(page: &PageContext, actor: &Actor) -> Read<Self> {
        let clusters = page.backend.clusters(actor).await?;
        let mut nodes = vec![];
        for cluster in &clusters {
            let turned = page.query("cluster") == Some(cluster.name.as_str());
            if page.query("cluster").is_some() && !turned {
                continue;
            }
            let part = Part { cursor: page.query("cursor").filter(|_| turned).map(str::to_owned) };
            nodes.push((cluster.clone(), page.backend.nodes(actor, &cluster.name, &part).await?));
        }
        Ok(Self {
            pools: page.backend.pools(actor).await?,
            offerings: page.backend.offerings(actor).await?,
            clusters,
            nodes,
        })
    }

    pub(crate) fn show(self, page: &PageContext) -> Content {
        let ready: Vec<_> = self.clusters.iter().filter(|c| c.registration == Registration::Ready).collect();
        let nodes = |observed: bool| {
            let clusters = self.nodes.iter().filter(move |(cluster, _)| is_observed(cluster) == observed);
            clusters.flat_map(|(_, nodes)| &nodes.items).collect::<Vec<_>>()
        };
        let (shown, imported) = (nodes(true), nodes(false));
        let down: Vec<_> = shown.iter().filter(|node| !node.ready).collect();
        let sentence =
            t::fleet_sentence(len(&self.clusters), len(&ready), len(&shown), len(&down), len(&imported));
        let lists = if self.clusters.is_empty() {
            empty(t::FLEET_EMPTY, ().into_any())
        } else {
            view! {
                {self.clusters(page)}
                {self.pools()}
                {self.offerings()}
                {self.nodes.iter().map(|(cluster, nodes)| nodes_of(page, cluster, nodes)).collect::<Vec<_>>()}
            }
            .into_any()
        };
        let body = view! { {head(t::FLEET, sentence, ().into_any())} {lists} };
        Content { title: t::FLEET.to_owned(), trail: vec![], body: body.into_any() }
    }

    fn clusters(&self, page: &PageContext) -> AnyView {
        let rows = self
            .clusters
            .iter()
            .map(|cluster| {
                let note = match &cluster.registration {
                    Registration::Registering { waiting_for } => {
                        Some(format!("{} {waiting_for}", t::WAITING_FOR))
                    }
                    Registration::Ready => None,
                    Registration::Blocked { reason } => Some(reason.clone()),
                };
                let note = note.map(|text| view! { <p class="quiet mt-1 text-sm">{text}</p> });
                // A cluster that is written to git has a time of its own making here, not of a look at it.
                let seen = cluster
                    .observed_at
                    .filter(|_| is_observed(cluster))
                    .map_or_else(|| t::NOT_OBSERVED.into_any(), |at| moment(page.now, at));
                let state = match &cluster.registration {
                    Registration::Ready if !is_observed(cluster) => {
                        badge(Tone::Plain, Icon::Up, t::WRITTEN_TO_GIT)
                    }
                    other => registration_badge(other),
                };
                view! {
                    <tr>
                        {cell(t::CLUSTER, two(cluster.display.to_string(), cluster.name.to_string()))}
                        {cell(t::STATE, view! { {state} {note} })}
                        {cell(t::WRITER, t::writer(cluster.writer))}
                        {num(t::SLOTS, cluster.fabric_slots.to_string())}
                        {cell(t::OBSERVED, seen)}
                    </tr>
                }
                .into_any()
            })
            .collect();
        let headings = [t::CLUSTER, t::STATE, t::WRITER, "#Fabric slots", t::OBSERVED];
        section(t::CLUSTERS, table(t::CLUSTERS, &headings, rows))
    }

    fn pools(&self) -> AnyView {
        let rows = self
            .pools
            .iter()
            .map(|pool| {
                let selector = format!("{}={}", pool.label_key, pool.label_value);
                view! {
                    <tr>
                        {cell(t::POOL, two(pool.display.to_string(), pool.name.to_string()))}
                        {cell(t::CLUSTER, pool.cluster.to_string())}
                        {cell(t::MODEL, pool.model.clone())}
                        {cell(t::MODE, t::mode(pool.mode))}
                        {cell(t::SELECTOR, view! { <code>{selector}</code> })}
                        {cell(t::RULES, t::rules(&pool.rules))}
                    </tr>
                }
                .into_any()
            })
            .collect();
        let headings = [t::POOL, t::CLUSTER, t::MODEL, t::MODE, t::SELECTOR, t::RULES];
        section(t::POOLS, table(t::POOLS, &headings, rows))
    }

    fn offerings(&self) -> AnyView {
        let rows = self
            .offerings
            .iter()
            .map(|offering| {
                let retired = offering.retired.then(|| badge(Tone::Plain, Icon::Down, t::RETIRED));
                let name = two(offering.display.to_string(), offering.name.to_string());
                view! {
                    <tr>
                        {cell(t::OFFERING, view! { {name} {retired} })}
                        {cell(t::POOL, offering.pool.to_string())}
                        {cell(t::KIND, kind_mark(&offering.kind))}
                        {cell(t::RESOURCE, view! { <code>{offering.resource.to_string()}</code> })}
                        {num(t::WORTH, offering.effective(1))}
                        {num(t::DECLARED, offering.declared.to_string())}
                    </tr>
                }
                .into_any()
            })
            .collect();
        let headings = [t::OFFERING, t::POOL, t::KIND, t::RESOURCE, "#GPUs each", "#Declared"];
        section(t::OFFERINGS, table(t::OFFERINGS, &headings, rows))
    }
}

/// Does the cluster report what is there and what is used?
fn is_observed(cluster: &Cluster) -> bool {
    cluster.writer == Writer::Kubernetes
}

fn nodes_of(page: &PageContext, cluster: &Cluster, nodes: &Page<Node>) -> AnyView {
    let title = t::nodes_of(cluster.display.as_str());
    if nodes.items.is_empty() {
        return section(title, view! { <p class="quiet">{t::NODES_EMPTY}</p> });
    }
    let rows = nodes.items.iter().map(|node| node_row(node, is_observed(cluster))).collect();
    let list = table(title.clone(), &[t::NODE, t::STATE, t::MODEL, t::USE], rows);
    // The pager of one cluster must name the cluster.
    let mut of_cluster = page.clone();
    of_cluster.query.insert("cluster".to_owned(), cluster.name.to_string());
    if page.query("cluster").is_none() {
        of_cluster.query.remove("cursor");
    }
    section(title, view! { {list} {pager(&of_cluster, nodes.next.clone())} })
}

fn node_row(node: &Node, observed: bool) -> AnyView {
    let state = if !observed {
        badge(Tone::Plain, Icon::Up, t::NOT_OBSERVED)
    } else if node.ready {
        badge(Tone::Good, Icon::Check, t::READY)
    } else {
        badge(Tone::Bad, Icon::Cross, t::NOT_READY)
    };
    let model = node.labels.get("nvidia.com/gpu.product").cloned().unwrap_or_default();
    let there = || node.allocatable.iter().filter(|(_, all)| **all > 0);
    let mut uses: Vec<_> = there()
        .filter(|(resource, _)| !is_fabric(resource))
        .map(|(resource, all)| {
            let used = node.used.get(resource).copied().unwrap_or_default();
            resource_use(&node.name, resource.as_str(), observed.then_some(used), *all)
        })
        .collect();
    let fabric: Vec<_> = there().filter(|(resource, _)| is_fabric(resource)).collect();
    if !fabric.is_empty() {
        let sum = |amounts: &mut dyn Iterator<Item = u32>| amounts.fold(0, u32::saturating_add);
        let all = sum(&mut fabric.iter().map(|(_, all)| **all));
        let used = sum(&mut fabric.iter().filter_map(|(resource, _)| node.used.get(*resource).copied()));
        let text = t::fabric_use(observed.then_some(used), all, len(&fabric));
        uses.push(view! { <p class="text-[0.8125rem]">{text}</p> }.into_any());
    }
    view! {
        <tr>
            {cell(t::NODE, node.name.clone())}
            {cell(t::STATE, state)}
            {cell(t::MODEL, model)}
            {cell(t::USE, uses)}
        </tr>
    }
    .into_any()
}

/// Virtual functions of a partition: there are many resources of them on a node, and most are of no use to look at.
fn is_fabric(resource: &ResourceName) -> bool {
    resource.as_str().starts_with(domain::fabric::RESOURCE_PREFIX)
}

/// How much of a resource a node has, and how much of it is used, where that is known.
fn resource_use(node: &str, resource: &str, used: Option<u32>, all: u32) -> AnyView {
    let Some(used) = used else {
        return view! { <p class="text-[0.8125rem]">{t::there_are(all, resource)}</p> }.into_any();
    };
    let text = t::used_of(used, all, resource);
    let picture = Bar {
        title: format!("{resource}, {node}"),
        segments: vec![
            Segment { class: "running", word: t::IN_USE_LOW, amount: used.min(all) },
            Segment { class: "free", word: t::FREE, amount: all.saturating_sub(used) },
        ],
        total: text.clone(),
        beyond: 0,
    };
    view! {
        <div class="not-last:mb-1.5 sm:min-w-56">
            <p class="text-[0.8125rem]">{text}</p>
            {slim_bar(&picture)}
        </div>
    }
    .into_any()
}
