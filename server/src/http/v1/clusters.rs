//! Clusters and their nodes.

use axum::{Json, extract::State};
use domain::{
    api::{ChangeCluster, ImportNodes, NamespaceView, NewCluster, Page},
    fleet::{Cluster, Node},
    name::{ClusterName, NamespaceName},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Created, Refusals, Tagged, teams::Named};
use crate::http::{
    Web,
    extract::{At, Body, Filter, IfMatch, IfMatchHeader, OnceHeader, SignedIn, paging},
    problem::Answer,
};

/// What an import did.
#[derive(Serialize, ToSchema)]
pub(crate) struct Imported {
    /// Nodes that the cluster has now.
    nodes: u32,
}

/// All clusters.
#[utoipa::path(get, path = "/clusters", tag = "fleet", responses((status = 200, body = Vec<Cluster>), Refusals))]
pub(crate) async fn list_clusters(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
) -> Answer<Json<Vec<Cluster>>> {
    Ok(Json(web.app.list_clusters(&ctx).await?))
}

/// Registers a cluster.
#[utoipa::path(
    post, path = "/clusters", tag = "fleet", params(OnceHeader), request_body = NewCluster,
    responses((status = 201, body = Cluster), Refusals)
)]
pub(crate) async fn create_cluster(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    body: Body<NewCluster>,
) -> Answer<Created<Tagged<Cluster>>> {
    let cluster = web.app.create_cluster(&ctx, body.value, body.once).await?;
    Ok(Created(format!("/clusters/{}", cluster.name), Tagged(cluster)))
}

/// One cluster.
#[utoipa::path(
    get, path = "/clusters/{cluster}", tag = "fleet", params(("cluster" = ClusterName, Path)),
    responses((status = 200, body = Cluster), Refusals)
)]
pub(crate) async fn find_cluster(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(cluster): At<ClusterName>,
) -> Answer<Tagged<Cluster>> {
    Ok(Tagged(web.app.find_cluster(&ctx, &cluster).await?))
}

/// Changes a cluster; a new kubeconfig registers it again.
#[utoipa::path(
    patch, path = "/clusters/{cluster}", tag = "fleet", params(("cluster" = ClusterName, Path), IfMatchHeader),
    request_body = ChangeCluster, responses((status = 200, body = Cluster), Refusals)
)]
pub(crate) async fn change_cluster(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(cluster): At<ClusterName>,
    IfMatch(expected): IfMatch,
    body: Body<ChangeCluster>,
) -> Answer<Tagged<Cluster>> {
    Ok(Tagged(web.app.change_cluster(&ctx, &cluster, body.value, expected).await?))
}

/// Nodes of a cluster, by name.
#[utoipa::path(
    get, path = "/clusters/{cluster}/nodes", tag = "fleet", params(("cluster" = ClusterName, Path), Named),
    responses((status = 200, body = Page<Node>), Refusals)
)]
pub(crate) async fn list_nodes(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(cluster): At<ClusterName>,
    Filter(filter): Filter<Named>,
) -> Answer<Json<Page<Node>>> {
    let part = paging(filter.cursor, filter.limit);
    Ok(Json(web.app.list_nodes(&ctx, &cluster, filter.name.as_deref(), &part).await?))
}

/// Replaces the nodes of a cluster that is not observed.
#[utoipa::path(
    put, path = "/clusters/{cluster}/nodes", tag = "fleet", params(("cluster" = ClusterName, Path)),
    request_body = ImportNodes, responses((status = 200, body = Imported), Refusals)
)]
pub(crate) async fn import_nodes(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(cluster): At<ClusterName>,
    body: Body<ImportNodes>,
) -> Answer<Json<Imported>> {
    Ok(Json(Imported { nodes: web.app.import_nodes(&ctx, &cluster, body.value).await? }))
}

/// One node.
#[utoipa::path(
    get, path = "/clusters/{cluster}/nodes/{node}", tag = "fleet",
    params(("cluster" = ClusterName, Path), ("node" = String, Path)),
    responses((status = 200, body = Node), Refusals)
)]
pub(crate) async fn find_node(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At((cluster, node)): At<(ClusterName, String)>,
) -> Answer<Json<Node>> {
    Ok(Json(web.app.find_node(&ctx, &cluster, &node).await?))
}

/// An admin's word that the published state of a namespace is applied; for clusters that are not observed.
#[utoipa::path(
    post, path = "/clusters/{cluster}/namespaces/{namespace}/confirm", tag = "fleet",
    params(("cluster" = ClusterName, Path), ("namespace" = NamespaceName, Path)),
    responses((status = 200, body = NamespaceView), Refusals)
)]
pub(crate) async fn confirm_namespace(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At((cluster, namespace)): At<(ClusterName, NamespaceName)>,
) -> Answer<Json<NamespaceView>> {
    Ok(Json(web.app.confirm_namespace(&ctx, &cluster, &namespace).await?))
}
