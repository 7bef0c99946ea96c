//! A backend with sample data: three teams on two clusters, in the states that pages must be able to show.

#![expect(
    clippy::result_large_err,
    reason = "a problem is as large as the trait has it, and this is no hot path"
)]
#![expect(clippy::unwrap_used, reason = "the texts below are constants, and the tests read each of them")]

use std::collections::BTreeMap;

use async_trait::async_trait;
use chrono::{Days, Duration};
use domain::{
    Timestamp,
    api::{
        AuditEntry, CatalogueEntry, Dashboard, DashboardLine, EmittedObject, Enforcement, FitAnswer, FreesUp,
        GrantView, May, NamespaceView, Page, ProbeAnswer, Problem, QuotaLine, RequestView, TeamQuota,
    },
    authz::{Action, Verdict, authorize},
    fabric::Partition,
    fleet::{ApprovalRules, Cluster, Kind, Mode, Node, Offering, PerUnit, Pool, Registration, Writer},
    grant::{Grant, GrantState},
    id::{AuditId, CommentId, GrantId, RequestId, UserId},
    ledger::{Capacity, Holding, Line, decide},
    name::{ClusterName, DisplayName, NamespaceName, TeamName},
    people::{Actor, Member, PlatformRole, Team, TeamRole},
    request::{Approval, Ask, Comment, Request, RequestState, lease_end},
    shape::{Blocks, Shape},
};
use ulid::Ulid;

use crate::{
    backend::{AuditFilter, Backend, Part, Read},
    render::not_found,
};

/// The moment at which the sample is true.
#[must_use]
pub fn now() -> Timestamp {
    "2026-11-30T14:05:00Z".parse().unwrap()
}

fn id<T: From<Ulid>>(n: u64) -> T {
    Ulid::from_parts(1_796_000_000_000 + n, u128::from(n)).into()
}

fn display(text: &str) -> DisplayName {
    DisplayName::new(text).unwrap()
}

fn actor(n: u64, name: &str, platform: &[PlatformRole], teams: &[(&str, TeamRole)]) -> Actor {
    Actor {
        user: id(n),
        display: display(name),
        platform: platform.iter().copied().collect(),
        teams: teams.iter().map(|(team, role)| (team.parse().unwrap(), *role)).collect(),
    }
}

/// Runs the platform; also a member of a team.
#[must_use]
pub fn admin() -> Actor {
    actor(1, "Platform admin", &[PlatformRole::Admin], &[("robotics", TeamRole::Member)])
}

/// Leads one team and is a member of another.
#[must_use]
pub fn lead() -> Actor {
    actor(2, "Vision lead", &[], &[("vision", TeamRole::Lead), ("language", TeamRole::Member)])
}

/// Reads one team.
#[must_use]
pub fn viewer() -> Actor {
    actor(3, "Vision viewer", &[], &[("vision", TeamRole::Viewer)])
}

/// Has an account and nothing else.
#[must_use]
pub fn stranger() -> Actor {
    actor(4, "New person", &[], &[])
}

/// Request of the sample that waits and fits.
#[must_use]
pub fn waiting_request() -> RequestId {
    id(101)
}

/// Request of the sample that was denied.
#[must_use]
pub fn denied_request() -> RequestId {
    id(104)
}

/// Grant of the sample that is enforced and has a partition.
#[must_use]
pub fn enforced_grant() -> GrantId {
    id(201)
}

/// Grant of the sample that cannot go on.
#[must_use]
pub fn blocked_grant() -> GrantId {
    id(203)
}

/// The backend. It keeps nothing, so every read is made anew.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sample;

fn team(name: &str) -> Team {
    let text = match name {
        "vision" => "Atlas vision",
        "language" => "Language models",
        _ => "Робототехника и планирование движения",
    };
    Team {
        name: name.parse().unwrap(),
        display: display(text),
        retired: false,
        created_at: now() - Duration::days(120),
        version: 1,
    }
}

const TEAMS: [&str; 3] = ["vision", "language", "robotics"];

fn pools() -> Vec<Pool> {
    let pool = |name: &str, cluster: &str, text: &str, model: &str, mode, rules| Pool {
        name: name.parse().unwrap(),
        cluster: cluster.parse().unwrap(),
        display: display(text),
        model: model.to_owned(),
        mode,
        label_key: "gpuaas.io/pool".to_owned(),
        label_value: name.to_owned(),
        vfs_per_gpu: 1,
        rules,
        retired: false,
        version: 1,
    };
    let two = ApprovalRules { two_above: Some(8), ..ApprovalRules::default() };
    let small = ApprovalRules { auto_up_to: 2, two_above: None, max_days: 30 };
    vec![
        pool("h100-ib", "north", "H100 with InfiniBand", "NVIDIA-H100-80GB-HBM3", Mode::Whole, two),
        pool("a100-mig", "north", "A100 in slices", "NVIDIA-A100-SXM4-80GB", Mode::Mig, small),
        pool("l40s", "south", "L40S, shared", "NVIDIA-L40S", Mode::Shared, small),
        pool("lab-h200", "lab", "H200 of the laboratory", "NVIDIA-H200", Mode::Whole, two),
    ]
}

fn offerings() -> Vec<Offering> {
    let offering =
        |name: &str, pool: &str, text: &str, about: &str, kind, resource: &str, milli, declared| {
            let whole = kind == Kind::Whole;
            Offering {
                name: name.parse().unwrap(),
                pool: pool.parse().unwrap(),
                display: display(text),
                description: about.to_owned(),
                resource: resource.parse::<String>().unwrap().try_into().unwrap(),
                effective_milli: milli,
                per_unit: PerUnit {
                    cpu: if whole { "16" } else { "4" }.parse().unwrap(),
                    memory: if whole { "200Gi" } else { "24Gi" }.parse().unwrap(),
                    ephemeral_storage: "100Gi".parse().unwrap(),
                },
                partition: whole,
                per_pod_max: (!whole).then_some(1),
                declared,
                overcommit_percent: 100,
                retired: false,
                version: 1,
                kind,
            }
        };
    let (mig, shared) = (Kind::Mig { profile: "1g.10gb".to_owned() }, Kind::Shared { replicas: 4 });
    vec![
        offering(
            "h100",
            "h100-ib",
            "H100",
            "Whole GPUs for training, eight to a node, with a fabric between nodes.",
            Kind::Whole,
            "nvidia.com/gpu",
            1000,
            32,
        ),
        offering(
            "a100-1g",
            "a100-mig",
            "A100 1g.10gb",
            "A seventh of an A100 with memory of its own: notebooks, inference, tests.",
            mig,
            "nvidia.com/mig-1g.10gb",
            143,
            56,
        ),
        offering(
            "l40s-shared",
            "l40s",
            "L40S shared",
            "A place on a GPU that four pods take turns on. For trying things out.",
            shared,
            "nvidia.com/gpu.shared",
            250,
            32,
        ),
        offering(
            "lab-h200",
            "lab-h200",
            "H200 lab",
            "Whole GPUs of a cluster that is written through git and not observed.",
            Kind::Whole,
            "nvidia.com/gpu",
            1000,
            16,
        ),
    ]
}

fn offering_of(name: &str) -> Offering {
    offerings().into_iter().find(|o| o.name.as_str() == name).unwrap()
}

fn pool_of(offering: &Offering) -> Pool {
    pools().into_iter().find(|p| p.name == offering.pool).unwrap()
}

fn is_observed(offering: &Offering) -> bool {
    pool_of(offering).cluster.as_str() != "lab"
}

fn line(offering: &str) -> Line {
    let hold = |granted, held, running, pending| Holding {
        granted,
        held,
        running,
        pending,
        charged: running + pending,
    };
    let (declared, observed, unmanaged, holdings) = match offering {
        "h100" => (
            32,
            Some(32),
            1,
            vec![
                ("vision", hold(12, 12, 6, 2)),
                ("language", hold(8, 8, 8, 0)),
                ("robotics", hold(4, 4, 0, 0)),
            ],
        ),
        "a100-1g" => (56, Some(42), 0, vec![("vision", hold(7, 7, 9, 0)), ("language", hold(38, 38, 20, 4))]),
        "lab-h200" => (16, None, 0, vec![("robotics", hold(4, 4, 0, 0))]),
        _ => (32, None, 0, vec![("vision", hold(4, 4, 0, 0))]),
    };
    Line {
        capacity: Capacity { declared, observed, overcommit_percent: 100 },
        unmanaged,
        holdings: holdings.into_iter().map(|(team, h)| (team.parse().unwrap(), h)).collect(),
    }
}

fn blocks(offering: &str) -> Blocks {
    match offering {
        "h100" => Blocks { sizes: vec![8; 4], free: vec![6, 5, 4, 2] },
        "a100-1g" => Blocks { sizes: vec![14; 3], free: vec![5, 3, 1] },
        _ => Blocks::default(),
    }
}

fn grants() -> Vec<Grant> {
    let grant = |n, of_team: &str, offering: &str, shape: (u32, u32), partition, state, days: u64| {
        let offering = offering_of(offering);
        let pool = pool_of(&offering);
        Grant {
            id: id(n),
            team: of_team.parse().unwrap(),
            namespace: NamespaceName::of_team(&of_team.parse().unwrap()),
            offering: offering.name,
            pool: pool.name,
            cluster: pool.cluster,
            shape: Shape { nodes: shape.0, per_node: shape.1 },
            partition,
            state,
            blocked: (n == 203).then(|| {
                "The API server of south does not answer (connection refused). The next try is in 40 seconds."
                    .to_owned()
            }),
            starts_at: now() - Duration::days(16),
            ends_at: lease_end(now().date_naive() + Days::new(days)),
            request: id(103),
            version: 3,
        }
    };
    vec![
        grant(201, "vision", "h100", (1, 8), true, GrantState::Enforced, 14),
        grant(202, "vision", "h100", (1, 4), false, GrantState::Enforced, 45),
        grant(204, "vision", "a100-1g", (7, 1), false, GrantState::Applying, 9),
        grant(203, "vision", "l40s-shared", (4, 1), false, GrantState::Applying, 20),
        grant(205, "language", "h100", (1, 8), true, GrantState::Enforced, 60),
        grant(206, "language", "a100-1g", (38, 1), false, GrantState::Enforced, 12),
        grant(208, "robotics", "lab-h200", (1, 4), false, GrantState::Published, 40),
        grant(207, "robotics", "h100", (2, 2), false, GrantState::Enforced, 30),
    ]
}

fn requests() -> Vec<Request> {
    let request = |n, of_team: &str, offering: &str, shape: (u32, u32), by: (u64, &str), why: &str, state| {
        let shape = Shape { nodes: shape.0, per_node: shape.1 };
        let asked = now() - Duration::hours(i64::try_from(n).unwrap() * 7 - 690);
        let decided = state != RequestState::Submitted;
        Request {
            id: id(n),
            team: of_team.parse().unwrap(),
            ask: Ask::New {
                offering: offering.parse().unwrap(),
                shape,
                partition: offering == "h100",
                until: now().date_naive() + Days::new(30),
            },
            offering: offering.parse().unwrap(),
            more: shape.amount(),
            purpose: why.to_owned(),
            state,
            approvals: vec![],
            denial: (state == RequestState::Denied).then(|| {
                "The pool is full until 14 December. Ask again for at most 7, or take slices.".to_owned()
            }),
            grant: (state == RequestState::Approved).then(|| id(201)),
            created_by: id(by.0),
            created_by_display: by.1.to_owned(),
            created_at: asked,
            decided_at: decided.then(|| asked + Duration::hours(3)),
            version: 1,
        }
    };
    let approved = |mut request: Request| {
        let at = request.created_at + Duration::hours(3);
        request.approvals.push(Approval { by: Some(id(1)), display: "Platform admin".to_owned(), at });
        request
    };
    let (lead, member) = ((2, "Vision lead"), (5, "Language member"));
    let (open, denied) = (RequestState::Submitted, RequestState::Denied);
    vec![
        request(
            101,
            "vision",
            "h100",
            (1, 4),
            lead,
            "Second stage of the detector: four more GPUs until the data of December are through. Without them the \
             run takes eleven days in place of four.",
            open,
        ),
        approved(request(
            102,
            "language",
            "h100",
            (2, 8),
            member,
            "Long-context pre-training, two full nodes.",
            open,
        )),
        request(
            105,
            "robotics",
            "a100-1g",
            (2, 1),
            (1, "Platform admin"),
            "Notebooks for the newcomers.",
            open,
        ),
        approved(request(
            103,
            "vision",
            "h100",
            (1, 8),
            lead,
            "Detector, first stage.",
            RequestState::Approved,
        )),
        request(104, "vision", "h100", (3, 8), lead, "All nodes at once.", denied),
    ]
}

fn fit(request: &Request, viewer_free: &Line) -> FitAnswer {
    let Ask::New { shape, .. } = request.ask else { unreachable!("the sample asks only for new grants") };
    let decision =
        decide(viewer_free, &blocks(request.offering.as_str()), &request.team, shape, request.more);
    let with_fabric = request.offering.as_str() == "h100";
    FitAnswer {
        frees_up: (!decision.fits()).then(|| FreesUp { at: now() + Duration::days(15), amount: 8 }),
        decision,
        approvals_needed: if request.more > 8 { 2 } else { 1 },
        ends_at: Some(lease_end(now().date_naive() + Days::new(30))),
        partition: with_fabric.then(|| partition(&request.team)),
        new_partition: request.team.as_str() == "robotics",
    }
}

/// The answer that the sample gives to a question about four H100.
#[must_use]
pub fn fit_answer() -> FitAnswer {
    fit(&requests()[0], &line("h100"))
}

fn partition(team: &TeamName) -> Partition {
    let slot = u16::try_from(TEAMS.iter().position(|t| *t == team.as_str()).unwrap_or(0) + 1).unwrap();
    Partition::in_slot("north".parse().unwrap(), team.clone(), slot).unwrap()
}

fn request_view(actor: &Actor, request: Request, with_comments: bool) -> RequestView {
    let offering = offering_of(request.offering.as_str());
    let line = line(offering.name.as_str());
    let open = request.state == RequestState::Submitted;
    let may = |action| authorize(actor, action, Some(&request.team)) == Verdict::Allow;
    let Ask::New { shape, until, partition, .. } = &request.ask else {
        unreachable!("the sample asks only for new grants")
    };
    let with = if *partition { " with a partition" } else { "" };
    let comment = Comment {
        id: id::<CommentId>(301),
        by: id(1),
        by_display: "Platform admin".to_owned(),
        at: request.created_at + Duration::hours(1),
        text: "Would 4 for two weeks do? Then both teams get what they need.".to_owned(),
    };
    RequestView {
        summary: format!(
            "{shape} × {}{with} until {}",
            offering.display,
            crate::text::date(*until).trim_end_matches(" 2026")
        ),
        fit: open.then(|| fit(&request, &line)),
        limit: line.capacity.limit(),
        free: line.free(),
        approvals_needed: if request.more > 8 { 2 } else { 1 },
        may: May {
            decide: open && may(Action::DecideRequest) && request.created_by != actor.user,
            withdraw: open && may(Action::AskForTeam),
            comment: may(Action::AskForTeam) || may(Action::DecideRequest),
        },
        comments: if with_comments { vec![comment] } else { vec![] },
        offering,
        request,
    }
}

fn namespace(team: &TeamName, cluster: &ClusterName, enforcement: Enforcement) -> NamespaceView {
    let probe = |layer: &str, asked: &str, text: &str| ProbeAnswer {
        layer: layer.to_owned(),
        asked: asked.to_owned(),
        refused: true,
        text: text.to_owned(),
        at: now() - Duration::minutes(3),
    };
    let probes = match enforcement {
        Enforcement::Enforced => vec![
            probe(
                "policy",
                "1 × nvidia.com/mig-2g.20gb (not granted)",
                "ValidatingAdmissionPolicy 'tenant.gpuaas.io' denied request: nvidia.com/mig-2g.20gb is not granted to this namespace",
            ),
            probe(
                "quota",
                "13 × nvidia.com/gpu (12 granted)",
                "exceeded quota: gpuaas, requested: requests.nvidia.com/gpu=13, used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=12",
            ),
        ],
        Enforcement::Applying | Enforcement::Published | Enforcement::Blocked { .. } => vec![],
    };
    NamespaceView {
        name: NamespaceName::of_team(team),
        cluster: cluster.clone(),
        team: team.clone(),
        confirmed_at: (enforcement == Enforcement::Enforced).then(|| now() - Duration::minutes(3)),
        enforcement,
        probes,
    }
}

fn guard(actor: &Actor, action: Action, team: Option<&TeamName>) -> Read<()> {
    match authorize(actor, action, team) {
        Verdict::Allow => Ok(()),
        Verdict::Hide => Err(not_found()),
        Verdict::Forbid => Err(Problem {
            kind: "/problems/forbidden".to_owned(),
            title: "Not allowed".to_owned(),
            status: 403,
            detail: "Your role does not allow this.".to_owned(),
            ..not_found()
        }),
    }
}

fn read_team(actor: &Actor, name: &TeamName) -> Read<()> {
    guard(actor, Action::ReadTeam, Some(name))?;
    if TEAMS.contains(&name.as_str()) { Ok(()) } else { Err(not_found()) }
}

fn all<T>(items: Vec<T>) -> Page<T> {
    Page { items, next: None }
}

const DESIRED_QUOTA: &str = "apiVersion: v1
kind: ResourceQuota
metadata:
  labels:
    gpuaas.io/tenant: vision
  name: gpuaas
  namespace: vision
spec:
  hard:
    requests.nvidia.com/gpu: \"12\"
    requests.nvidia.com/mig-1g.10gb: \"7\"
    requests.nvidia.com/sriov8001: \"8\"
";

fn objects(team: &TeamName) -> Vec<EmittedObject> {
    let object = |api_version: &str, kind: &str, name: &str, desired: String, differs: bool| EmittedObject {
        cluster: "north".parse().unwrap(),
        namespace: (kind != "Namespace").then(|| team.to_string()),
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        live: Some(if differs { desired.replace("gpu: \"12\"", "gpu: \"16\"") } else { desired.clone() }),
        diff: Some(if differs {
            "--- live\n+++ desired\n@@ -8,5 +8,5 @@\n spec:\n   hard:\n-    requests.nvidia.com/gpu: \"16\"\n+    requests.nvidia.com/gpu: \"12\"\n     requests.nvidia.com/mig-1g.10gb: \"7\"\n".to_owned()
        } else {
            String::new()
        }),
        desired,
    };
    let plain = |api: &str, kind: &str, name: &str| {
        let space = if kind == "Namespace" { String::new() } else { format!("  namespace: {team}\n") };
        let yaml = format!(
            "apiVersion: {api}\nkind: {kind}\nmetadata:\n  labels:\n    gpuaas.io/tenant: {team}\n  name: {name}\n{space}"
        );
        object(api, kind, name, yaml, false)
    };
    let mut missing = plain("v1", "PodTemplate", "h100");
    missing.live = None;
    missing.diff = Some("--- live\n+++ desired\n".to_owned());
    vec![
        plain("v1", "Namespace", team.as_str()),
        plain("gpuaas.io/v1alpha1", "TenantPolicy", "tenant"),
        object("v1", "ResourceQuota", "gpuaas", DESIRED_QUOTA.to_owned(), true),
        plain("v1", "LimitRange", "gpuaas"),
        plain("networking.k8s.io/v1", "NetworkPolicy", "gpuaas-default"),
        plain("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", "ib-p0001"),
        missing,
        plain("rbac.authorization.k8s.io/v1", "RoleBinding", "gpuaas-member"),
    ]
}

#[async_trait]
impl Backend for Sample {
    async fn my_teams(&self, actor: &Actor) -> Read<Vec<Team>> {
        Ok(actor.teams.keys().map(|name| team(name.as_str())).collect())
    }

    async fn team(&self, actor: &Actor, name: &TeamName) -> Read<Team> {
        read_team(actor, name)?;
        Ok(team(name.as_str()))
    }

    async fn team_names(&self, actor: &Actor) -> Read<BTreeMap<TeamName, DisplayName>> {
        let seen = TEAMS.into_iter().map(team).filter(|team| read_team(actor, &team.name).is_ok());
        Ok(seen.map(|team| (team.name, team.display)).collect())
    }

    async fn inbox_count(&self, actor: &Actor) -> Read<u32> {
        let decides = authorize(actor, Action::DecideRequest, None) == Verdict::Allow;
        Ok(if decides { 3 } else { 0 })
    }

    async fn catalogue(&self, _actor: &Actor) -> Read<Vec<CatalogueEntry>> {
        Ok(offerings()
            .into_iter()
            .map(|offering| {
                let (line, blocks) = (line(offering.name.as_str()), blocks(offering.name.as_str()));
                CatalogueEntry {
                    pool: pool_of(&offering),
                    limit: line.capacity.limit(),
                    free: line.free(),
                    largest_free_block: (!blocks.sizes.is_empty()).then(|| blocks.largest_free()),
                    observed: is_observed(&offering),
                    offering,
                }
            })
            .collect())
    }

    async fn team_quota(&self, actor: &Actor, name: &TeamName) -> Read<TeamQuota> {
        read_team(actor, name)?;
        let lines = offerings()
            .into_iter()
            .filter_map(|offering| {
                let holding = *line(offering.name.as_str()).holdings.get(name)?;
                let grants = grants().into_iter().filter(|g| g.team == *name && g.offering == offering.name);
                let observed = is_observed(&offering);
                Some(QuotaLine { holding, grants: grants.collect(), offering, observed })
            })
            .collect();
        Ok(TeamQuota {
            team: team(name.as_str()),
            role: actor.teams.get(name).copied(),
            lines,
            partitions: if name.as_str() == "robotics" { vec![] } else { vec![partition(name)] },
            waiting: requests()
                .into_iter()
                .filter(|r| r.team == *name && r.state == RequestState::Submitted)
                .collect(),
        })
    }

    async fn requests(
        &self,
        actor: &Actor,
        name: &TeamName,
        state: Option<RequestState>,
        _part: &Part,
    ) -> Read<Page<RequestView>> {
        read_team(actor, name)?;
        let items = requests()
            .into_iter()
            .filter(|r| r.team == *name && state.is_none_or(|state| r.state == state))
            .map(|r| request_view(actor, r, false))
            .collect();
        Ok(Page { items, next: Some("next-part".to_owned()) })
    }

    async fn request(&self, actor: &Actor, name: &TeamName, id: RequestId) -> Read<RequestView> {
        read_team(actor, name)?;
        let request = requests().into_iter().find(|r| r.id == id && r.team == *name);
        request.map(|r| request_view(actor, r, true)).ok_or_else(not_found)
    }

    async fn grant(&self, actor: &Actor, name: &TeamName, id: GrantId) -> Read<GrantView> {
        read_team(actor, name)?;
        let grant = grants().into_iter().find(|g| g.id == id && g.team == *name).ok_or_else(not_found)?;
        let offering = offering_of(grant.offering.as_str());
        let enforcement = match (&grant.blocked, grant.state) {
            (Some(reason), _) => Enforcement::Blocked { reason: reason.clone() },
            (None, GrantState::Enforced) => Enforcement::Enforced,
            (None, GrantState::Published) => Enforcement::Published,
            (None, _) => Enforcement::Applying,
        };
        Ok(GrantView {
            holding: line(offering.name.as_str()).holdings.get(name).copied().unwrap_or_default(),
            namespace: Some(namespace(name, &grant.cluster, enforcement)),
            partition: grant.partition.then(|| partition(name)),
            observed: is_observed(&offering),
            grant,
            offering,
        })
    }

    async fn manifests(&self, actor: &Actor, name: &TeamName) -> Read<Vec<EmittedObject>> {
        read_team(actor, name)?;
        Ok(objects(name))
    }

    async fn members(&self, actor: &Actor, name: &TeamName) -> Read<Vec<Member>> {
        read_team(actor, name)?;
        let member = |n, login: &str, text: &str, role| Member {
            user: id::<UserId>(n),
            login: login.to_owned(),
            display: display(text),
            role,
        };
        Ok(vec![
            member(2, "lead", "Vision lead", TeamRole::Lead),
            member(6, "member-1", "First member", TeamRole::Member),
            member(
                7,
                "member-2",
                "Second member, with a name that is a good deal longer than usual",
                TeamRole::Member,
            ),
            member(3, "viewer", "Vision viewer", TeamRole::Viewer),
        ])
    }

    async fn inbox(&self, actor: &Actor, _part: &Part) -> Read<Page<RequestView>> {
        guard(actor, Action::DecideRequest, None)?;
        let open = requests().into_iter().filter(|r| r.state == RequestState::Submitted);
        Ok(all(open.map(|r| request_view(actor, r, false)).collect()))
    }

    async fn dashboard(&self, actor: &Actor) -> Read<Dashboard> {
        guard(actor, Action::ReadPlatform, None)?;
        let reason = "The API server of south does not answer (connection refused).".to_owned();
        let vision: TeamName = "vision".parse().unwrap();
        Ok(Dashboard {
            lines: offerings()
                .into_iter()
                .map(|offering| DashboardLine {
                    pool: pool_of(&offering),
                    line: line(offering.name.as_str()),
                    blocks: blocks(offering.name.as_str()),
                    observed: is_observed(&offering),
                    offering,
                })
                .collect(),
            waiting: 3,
            enforced: 3,
            not_enforced: vec![namespace(
                &vision,
                &"south".parse().unwrap(),
                Enforcement::Blocked { reason },
            )],
            ending: grants().into_iter().filter(|g| g.ends_at < now() + Duration::days(16)).collect(),
            balances_agree: true,
        })
    }

    async fn clusters(&self, actor: &Actor) -> Read<Vec<Cluster>> {
        guard(actor, Action::ReadPlatform, None)?;
        let cluster = |name: &str, text: &str, writer, registration, observed| Cluster {
            name: name.parse().unwrap(),
            display: display(text),
            writer,
            registration,
            fabric_slots: if name == "north" { 6 } else { 0 },
            known_resources: vec![],
            known_device_classes: vec![],
            observed_at: observed,
            version: 1,
        };
        let waiting_for = "the answer of the tenant policy to our probe".to_owned();
        Ok(vec![
            cluster(
                "north",
                "North hall",
                Writer::Kubernetes,
                Registration::Ready,
                Some(now() - Duration::seconds(8)),
            ),
            cluster(
                "south",
                "South hall",
                Writer::Kubernetes,
                Registration::Registering { waiting_for },
                None,
            ),
            cluster("lab", "Laboratory", Writer::Git, Registration::Ready, None),
        ])
    }

    async fn pools(&self, actor: &Actor) -> Read<Vec<Pool>> {
        guard(actor, Action::ReadPlatform, None)?;
        Ok(pools())
    }

    async fn offerings(&self, actor: &Actor) -> Read<Vec<Offering>> {
        guard(actor, Action::ReadPlatform, None)?;
        Ok(offerings())
    }

    async fn nodes(&self, actor: &Actor, cluster: &ClusterName, _part: &Part) -> Read<Page<Node>> {
        guard(actor, Action::ReadPlatform, None)?;
        if cluster.as_str() == "south" {
            return Ok(all(vec![]));
        }
        let node = |n: u32, used: u32, ready: bool| Node {
            cluster: cluster.clone(),
            name: format!("gpu-{n:02}.{cluster}"),
            labels: BTreeMap::from([(
                "nvidia.com/gpu.product".to_owned(),
                "NVIDIA-H100-80GB-HBM3".to_owned(),
            )]),
            allocatable: BTreeMap::from([
                ("nvidia.com/gpu".to_owned().try_into().unwrap(), 8),
                ("nvidia.com/sriov8001".to_owned().try_into().unwrap(), 8),
                ("nvidia.com/sriov8002".to_owned().try_into().unwrap(), 8),
            ]),
            used: BTreeMap::from([("nvidia.com/gpu".to_owned().try_into().unwrap(), used)]),
            ready,
        };
        if cluster.as_str() == "lab" {
            return Ok(all(vec![node(1, 0, true)]));
        }
        let items = vec![node(1, 8, true), node(2, 6, true), node(3, 0, false), node(4, 2, true)];
        Ok(Page { items, next: Some("gpu-04.north".to_owned()) })
    }

    async fn audit(&self, actor: &Actor, filter: &AuditFilter, _part: &Part) -> Read<Page<AuditEntry>> {
        guard(actor, Action::ReadPlatform, None)?;
        let entry =
            |n: u64, who: Option<u64>, name: &str, action: &str, subject: &str, detail: &str| AuditEntry {
                id: id::<AuditId>(n),
                at: now() - Duration::minutes(i64::try_from(n).unwrap() * 17),
                actor: who.map(id),
                actor_display: name.to_owned(),
                action: action.to_owned(),
                subject: format!("{subject}/{}", id::<RequestId>(n)),
                team: Some("vision".parse().unwrap()),
                detail: detail.to_owned(),
            };
        let entries = vec![
            entry(1, None, "enforce", "grant.enforced", "grant", r#"{"probes":2}"#),
            entry(2, Some(1), "Platform admin", "request.approve", "request", r#"{"amount":4}"#),
            entry(
                3,
                Some(2),
                "Vision lead",
                "request.create",
                "request",
                r#"{"offering":"h100","amount":4}"#,
            ),
            entry(4, Some(2), "Vision lead", "member.set", "member", r#"{"role":"member"}"#),
        ];
        let keep = |e: &AuditEntry| {
            filter.team.as_ref().is_none_or(|t| e.team.as_ref().is_some_and(|team| team.as_str() == t))
                && filter.action.as_ref().is_none_or(|a| e.action.starts_with(a.as_str()))
        };
        Ok(all(entries.into_iter().filter(keep).collect()))
    }
}
