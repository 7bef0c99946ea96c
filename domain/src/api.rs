//! Bodies of the public API (`/api/v1`) and of the pages, which are one and the same.
//!
//! Bodies that come in refuse unknown fields: a field that is ignored without a word is a wrong answer later.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{
    fabric::Partition,
    fleet::{ApprovalRules, Kind, Mode, Offering, PerUnit, Pool, Writer},
    grant::Grant,
    ledger::{Decision, Holding, Line, Shortfall},
    name::{ClusterName, DisplayName, NamespaceName, OfferingName, PoolName, TeamName},
    people::{PlatformRole, Team, TeamRole},
    request::{Ask, Comment, Request},
    resource::ResourceName,
    shape::{Blocks, Shape},
};

/// An RFC 9457 problem document (`application/problem+json`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// Kind of problem: `/problems/<slug>`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// What is wrong here, and what would do.
    pub detail: String,
    /// Id of the HTTP request, to find it in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Fields that are wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldError>,
    /// Limits that are passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortfalls: Vec<Shortfall>,
}

/// A field that is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldError {
    /// Path of the field: `ask.shape.per_node`.
    pub field: String,
    /// What is wrong with it, and what would do.
    pub message: String,
}

impl FieldError {
    /// A field and what is wrong with it.
    pub fn new(field: impl Into<String>, message: impl std::fmt::Display) -> Self {
        Self { field: field.into(), message: message.to_string() }
    }
}

/// One page of a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Page<T> {
    /// Rows.
    pub items: Vec<T>,
    /// Pass as `cursor` to get the next page; none at the end.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// The same page with each row turned into something else.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(f).collect(), next: self.next }
    }
}

/// Body of `POST /clusters`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewCluster {
    /// Immutable key.
    pub name: ClusterName,
    /// For people.
    pub display: DisplayName,
    /// Who makes it true.
    pub writer: Writer,
    /// Admin kubeconfig, used once to install the static objects and identities; required for `kubernetes`.
    #[serde(default)]
    pub kubeconfig: Option<String>,
    /// Fabric slots on each physical function; 0: no fabric.
    #[serde(default)]
    pub fabric_slots: u16,
}

/// Body of `PATCH /clusters/{name}`; absent fields stay.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangeCluster {
    /// For people.
    #[serde(default)]
    pub display: Option<DisplayName>,
    /// Admin kubeconfig; registers again.
    #[serde(default)]
    pub kubeconfig: Option<String>,
    /// Fabric slots on each physical function.
    #[serde(default)]
    pub fabric_slots: Option<u16>,
}

/// A node in an imported fleet (`PUT /clusters/{name}/nodes`, JSON or YAML).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ImportedNode {
    /// Kubernetes node name.
    pub name: String,
    /// Labels.
    #[serde(default)]
    pub labels: std::collections::BTreeMap<String, String>,
    /// Extended resources that it advertises.
    #[serde(default)]
    pub allocatable: std::collections::BTreeMap<ResourceName, u32>,
}

/// Body of `PUT /clusters/{name}/nodes`: replaces all nodes of a cluster that is not observed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ImportNodes {
    /// All nodes.
    pub nodes: Vec<ImportedNode>,
}

/// Body of `POST /pools`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewPool {
    /// Immutable key.
    pub name: PoolName,
    /// Cluster that it is a part of.
    pub cluster: ClusterName,
    /// For people.
    pub display: DisplayName,
    /// GPU model as GPU Feature Discovery names it.
    pub model: String,
    /// How its GPUs are given out.
    pub mode: Mode,
    /// Label key that picks the nodes; `gpuaas.io/pool` if absent.
    #[serde(default)]
    pub label_key: Option<String>,
    /// Label value that picks the nodes; the pool's name if absent.
    #[serde(default)]
    pub label_value: Option<String>,
    /// VFs that go with each GPU when a grant has a partition.
    #[serde(default = "one")]
    pub vfs_per_gpu: u32,
    /// Rules for approval.
    #[serde(default)]
    pub rules: ApprovalRules,
}

fn one() -> u32 {
    1
}

fn hundred() -> u32 {
    100
}

/// Body of `PATCH /pools/{name}`; absent fields stay.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangePool {
    /// For people.
    #[serde(default)]
    pub display: Option<DisplayName>,
    /// Rules for approval.
    #[serde(default)]
    pub rules: Option<ApprovalRules>,
    /// No new requests.
    #[serde(default)]
    pub retired: Option<bool>,
}

/// Body of `POST /offerings`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewOffering {
    /// Immutable key.
    pub name: OfferingName,
    /// Pool that serves it.
    pub pool: PoolName,
    /// For people.
    pub display: DisplayName,
    /// What it is good for, in a sentence.
    #[serde(default)]
    pub description: String,
    /// What one unit is.
    #[serde(flatten)]
    pub kind: Kind,
    /// Exact resource name that pods ask for.
    pub resource: ResourceName,
    /// Worth of one unit in thousandths of a GPU.
    pub effective_milli: u32,
    /// What goes with each unit.
    pub per_unit: PerUnit,
    /// May a grant have an InfiniBand partition?
    #[serde(default)]
    pub partition: bool,
    /// Most devices that one pod may ask for.
    #[serde(default)]
    pub per_pod_max: Option<u32>,
    /// Devices that there are.
    pub declared: u32,
    /// Over-commit in percent; only shared pools may have more than 100.
    #[serde(default = "hundred")]
    pub overcommit_percent: u32,
}

/// Body of `PATCH /offerings/{name}`; absent fields stay.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangeOffering {
    /// For people.
    #[serde(default)]
    pub display: Option<DisplayName>,
    /// What it is good for.
    #[serde(default)]
    pub description: Option<String>,
    /// Devices that there are.
    #[serde(default)]
    pub declared: Option<u32>,
    /// No new requests.
    #[serde(default)]
    pub retired: Option<bool>,
}

/// Body of `POST /teams`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewTeam {
    /// Immutable key; also the name of the team's first namespace.
    pub name: TeamName,
    /// For people.
    pub display: DisplayName,
}

/// Body of `PATCH /teams/{team}`; absent fields stay.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangeTeam {
    /// For people.
    #[serde(default)]
    pub display: Option<DisplayName>,
    /// No new requests.
    #[serde(default)]
    pub retired: Option<bool>,
}

/// Body of `PUT /teams/{team}/members/{login}`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SetMember {
    /// Role in the team.
    pub role: TeamRole,
}

/// Body of `POST /users`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// Name to sign in with.
    pub login: String,
    /// For people.
    pub display: DisplayName,
    /// First password, at least 12 characters.
    pub password: String,
    /// Roles over the platform.
    #[serde(default)]
    pub platform: Vec<PlatformRole>,
}

/// Body of `POST /teams/{team}/requests` and of the fit check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewRequest {
    /// What is asked for.
    pub ask: Ask,
    /// Why; 1 to 2000 characters.
    #[serde(default)]
    pub purpose: String,
}

/// Body of a comment and of a denial's reason; 1 to 2000 characters.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// The text.
    pub text: String,
}

/// Body of `POST /teams/{team}/grants/{id}/give-back`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct GiveBack {
    /// What stays; none: nothing, the grant ends.
    #[serde(default)]
    pub keep: Option<Shape>,
}

/// Answer of a fit check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FitAnswer {
    /// Does it fit, and if not, why.
    pub decision: Decision,
    /// Devices of lowered or ending grants that come free, by date: the next one.
    pub frees_up: Option<FreesUp>,
    /// People who must approve; 0: it approves itself.
    pub approvals_needed: u32,
    /// When the lease would end.
    pub ends_at: Option<DateTime<Utc>>,
    /// Partition that would serve it.
    pub partition: Option<Partition>,
    /// Is it the first grant of a partition: one more slot of the fabric is taken.
    pub new_partition: bool,
}

/// When something comes free.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FreesUp {
    /// When.
    pub at: DateTime<Utc>,
    /// How many devices.
    pub amount: u32,
}

/// An offering with what is there of it (`GET /offerings`, catalogue page).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CatalogueEntry {
    /// What can be asked for.
    pub offering: Offering,
    /// Pool that serves it.
    pub pool: Pool,
    /// Devices that may be promised.
    pub limit: u32,
    /// Devices that are free.
    pub free: u32,
    /// Largest block that one node can give now; none where nodes are not known.
    pub largest_free_block: Option<u32>,
    /// Is the cluster observed? False where gpuaas writes to git: figures of use are then 0 and mean nothing.
    pub observed: bool,
}

/// A team's part of an offering, with the grants that make it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuotaLine {
    /// Offering.
    pub offering: Offering,
    /// Figures.
    pub holding: Holding,
    /// Grants, not ended ones.
    pub grants: Vec<Grant>,
    /// Is the cluster observed? False where gpuaas writes to git: figures of use are then 0 and mean nothing.
    pub observed: bool,
}

/// What a team has (`GET /teams/{team}/quota`, team page).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TeamQuota {
    /// Team.
    pub team: Team,
    /// Own role; none for platform roles that look in.
    pub role: Option<TeamRole>,
    /// Per offering.
    pub lines: Vec<QuotaLine>,
    /// Fabric partitions, at most one for each cluster.
    pub partitions: Vec<Partition>,
    /// Requests that wait.
    pub waiting: Vec<Request>,
}

/// What the viewer may do with a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct May {
    /// Approve or deny it.
    pub decide: bool,
    /// Withdraw it.
    pub withdraw: bool,
    /// Comment on it.
    pub comment: bool,
}

/// A request with all that a decision needs (`GET /teams/{team}/requests/{id}`, inbox line).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RequestView {
    /// The request.
    pub request: Request,
    /// Offering that it is about.
    pub offering: Offering,
    /// Amount and end in words: "4 × H100 until 14 December".
    pub summary: String,
    /// Does it fit now? Only while it waits.
    pub fit: Option<FitAnswer>,
    /// Ledger figures of the offering now.
    pub limit: u32,
    /// Free now.
    pub free: u32,
    /// People who must approve in all.
    pub approvals_needed: u32,
    /// What the viewer may do.
    pub may: May,
    /// Remarks, oldest first; empty in lists.
    pub comments: Vec<Comment>,
}

/// A grant with what it is of, and whether it is true (`GET /teams/{team}/grants/{id}`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GrantView {
    /// The grant.
    pub grant: Grant,
    /// Offering.
    pub offering: Offering,
    /// Figures of the team for the whole offering.
    pub holding: Holding,
    /// Namespace that it lives in, with the probes' last answers.
    pub namespace: Option<NamespaceView>,
    /// Fabric partition, where it has one.
    pub partition: Option<Partition>,
    /// Is the cluster observed? False where gpuaas writes to git: figures of use are then 0 and mean nothing.
    pub observed: bool,
}

/// How true a namespace is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Enforcement {
    /// Being written.
    Applying,
    /// Both probes were refused and access is given.
    Enforced,
    /// Committed; nobody tells us whether it is applied.
    Published,
    /// It cannot go on; the next try is automatic.
    Blocked {
        /// Why, in words, with the API server's own text.
        reason: String,
    },
}

/// What a probe asked, and what the cluster said.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProbeAnswer {
    /// `quota` or `policy`.
    pub layer: String,
    /// What was asked: "5 × nvidia.com/gpu (4 granted)".
    pub asked: String,
    /// Was it refused by the layer that it was meant for?
    pub refused: bool,
    /// The API server's text.
    pub text: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// A namespace of a team.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NamespaceView {
    /// Kubernetes name.
    pub name: NamespaceName,
    /// Cluster.
    pub cluster: ClusterName,
    /// Team.
    pub team: TeamName,
    /// How true it is.
    pub enforcement: Enforcement,
    /// When that was last confirmed.
    pub confirmed_at: Option<DateTime<Utc>>,
    /// The probes' last answers.
    pub probes: Vec<ProbeAnswer>,
}

/// An object that gpuaas writes, beside what is there (`GET /teams/{team}/manifests`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EmittedObject {
    /// Cluster.
    pub cluster: ClusterName,
    /// Namespace; none for cluster-wide objects.
    pub namespace: Option<String>,
    /// `v1`, `rbac.authorization.k8s.io/v1` …
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Desired, as YAML.
    pub desired: String,
    /// Live, as YAML, reduced to the fields that we set; none where it is missing or nothing is observed.
    pub live: Option<String>,
    /// Unified diff from live to desired; empty when they agree; none where nothing is observed.
    pub diff: Option<String>,
}

/// The admin dashboard (`GET /dashboard`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Dashboard {
    /// One line an offering.
    pub lines: Vec<DashboardLine>,
    /// Requests that wait.
    pub waiting: u32,
    /// Namespaces that are enforced or published.
    pub enforced: u32,
    /// Namespaces that are not (yet), with the reason.
    pub not_enforced: Vec<NamespaceView>,
    /// Grants whose lease ends within 14 days, earliest first, at most 20.
    pub ending: Vec<Grant>,
    /// Use of pool resources by pods outside team namespaces, and whether balances agree with the events.
    pub balances_agree: bool,
}

/// An offering's ledger.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DashboardLine {
    /// Pool.
    pub pool: Pool,
    /// Offering.
    pub offering: Offering,
    /// Figures of all teams.
    pub line: Line,
    /// What nodes can give.
    pub blocks: Blocks,
    /// Is the cluster observed? False where gpuaas writes to git: figures of use are then 0 and mean nothing.
    pub observed: bool,
}

/// Who is signed in (`GET /me`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Me {
    /// Account and roles.
    pub actor: crate::people::Actor,
    /// Send as `X-CSRF-Token` with each change.
    pub csrf: String,
}

/// One line of the audit list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// Id; sorts by time.
    pub id: crate::id::AuditId,
    /// When.
    pub at: DateTime<Utc>,
    /// Who; none for the system itself.
    pub actor: Option<crate::id::UserId>,
    /// Their name, or the name of the job.
    pub actor_display: String,
    /// What was done: `request.approve`.
    pub action: String,
    /// To what: `request/01J…`.
    pub subject: String,
    /// Team that it is about.
    pub team: Option<TeamName>,
    /// Facts, as JSON text.
    pub detail: String,
}
