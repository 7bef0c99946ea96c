//! A fresh database, and things to put into it.

use std::{fmt::Debug, ops::Deref, str::FromStr};

use ::store::{Store, StoreError, clusters, offerings, pools, requests, teams, users};
use chrono::{Duration, NaiveDate};
use domain::{
    Timestamp,
    fleet::{ApprovalRules, Cluster, Kind, Mode, Node, Offering, PerUnit, Pool, Registration, Writer},
    grant::{Grant, GrantState},
    name::{ClusterName, DisplayName, NamespaceName, OfferingName, PoolName, TeamName},
    people::{Team, User},
    request::{Ask, Request, RequestState},
    resource::ResourceName,
    shape::Shape,
};
use kit::postgres::Postgres;
use tempfile::TempDir;

pub(super) const GPU: &str = "nvidia.com/gpu";

/// A store of its own for one test.
pub(super) struct Db {
    store: Store,
    pub(super) url: String,
    pub(super) name: &'static str,
    _folder: Option<TempDir>,
}

impl Db {
    pub(super) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}?mode=rwc", folder.path().join("gpuaas.db").display());
        let store = Store::open(&url).await.unwrap();
        Self { store, url, name: "SQLite", _folder: Some(folder) }
    }

    pub(super) async fn postgres() -> Self {
        let url = Postgres::shared().await.unwrap().database().unwrap();
        let store = Store::open(&url).await.unwrap();
        Self { store, url, name: "Postgres", _folder: None }
    }

    /// People 1 to 3, teams `vision`, `language` and `robotics`, cluster `main` with pools `h100` and `a100`, and an
    /// offering of whole GPUs of each pool, named like it.
    pub(super) async fn with_fleet(self) -> Self {
        let mut tx = self.begin().await.unwrap();
        for n in 1..=3 {
            users::insert(&mut tx, &user(n, &format!("user{n}")), "hash").await.unwrap();
        }
        for name in ["vision", "language", "robotics"] {
            teams::insert(&mut tx, &team(name)).await.unwrap();
        }
        clusters::insert(&mut tx, &cluster("main")).await.unwrap();
        for name in ["h100", "a100"] {
            pools::insert(&mut tx, &pool(name)).await.unwrap();
            offerings::insert(&mut tx, &offering(name, name, GPU, 16)).await.unwrap();
        }
        tx.commit().await.unwrap();
        self
    }

    /// As [`Db::with_fleet`], with a request under this number.
    pub(super) async fn with_request(self, n: u64) -> Self {
        let db = self.with_fleet().await;
        let mut tx = db.begin().await.unwrap();
        requests::insert(&mut tx, &request(n, "vision", "h100")).await.unwrap();
        tx.commit().await.unwrap();
        db
    }
}

impl Deref for Db {
    type Target = Store;
    fn deref(&self) -> &Store {
        &self.store
    }
}

/// An id; greater numbers are later ids.
pub(super) fn id<T: FromStr<Err: Debug>>(n: u64) -> T {
    format!("{n:026}").parse().unwrap()
}

/// Seconds after some noon.
pub(super) fn at(seconds: i64) -> Timestamp {
    "2026-11-30T12:00:00Z".parse::<Timestamp>().unwrap() + Duration::seconds(seconds)
}

pub(super) fn team_name(name: &str) -> TeamName {
    TeamName::new(name).unwrap()
}
pub(super) fn main_cluster() -> ClusterName {
    ClusterName::new("main").unwrap()
}
pub(super) fn offering_name(name: &str) -> OfferingName {
    OfferingName::new(name).unwrap()
}
pub(super) fn resource(name: &str) -> ResourceName {
    ResourceName::new(name).unwrap()
}
pub(super) fn namespace(name: &str) -> NamespaceName {
    NamespaceName::stored(name.to_owned())
}

pub(super) fn user(n: u64, login: &str) -> User {
    User {
        id: id(n),
        login: login.to_owned(),
        display: DisplayName::new(format!("Person {n}")).unwrap(),
        platform: [].into(),
        disabled: false,
        created_at: at(0),
    }
}

pub(super) fn team(name: &str) -> Team {
    Team {
        name: team_name(name),
        display: DisplayName::new(name.to_uppercase()).unwrap(),
        retired: false,
        created_at: at(0),
        version: 1,
    }
}

pub(super) fn cluster(name: &str) -> Cluster {
    Cluster {
        name: ClusterName::new(name).unwrap(),
        display: DisplayName::new(name).unwrap(),
        writer: Writer::Git,
        registration: Registration::Registering { waiting_for: "the first try".to_owned() },
        fabric_slots: 4,
        known_resources: vec![],
        known_device_classes: vec![],
        observed_at: None,
        version: 1,
    }
}

pub(super) fn node(name: &str, product: &str) -> Node {
    Node {
        cluster: main_cluster(),
        name: name.to_owned(),
        labels: [("nvidia.com/gpu.product".to_owned(), product.to_owned())].into(),
        allocatable: [(resource(GPU), 8)].into(),
        used: [].into(),
        ready: true,
    }
}

pub(super) fn pool(name: &str) -> Pool {
    Pool {
        name: PoolName::new(name).unwrap(),
        cluster: main_cluster(),
        display: DisplayName::new(name).unwrap(),
        model: "NVIDIA-H100-80GB-HBM3".to_owned(),
        mode: Mode::Whole,
        label_key: "gpuaas.io/pool".to_owned(),
        label_value: name.to_owned(),
        vfs_per_gpu: 1,
        rules: ApprovalRules::default(),
        retired: false,
        version: 1,
    }
}

pub(super) fn offering(name: &str, pool: &str, of: &str, declared: u32) -> Offering {
    Offering {
        name: offering_name(name),
        pool: PoolName::new(pool).unwrap(),
        display: DisplayName::new(name).unwrap(),
        description: String::new(),
        kind: Kind::Whole,
        resource: resource(of),
        effective_milli: 1000,
        per_unit: PerUnit {
            cpu: "8".parse().unwrap(),
            memory: "64Gi".parse().unwrap(),
            ephemeral_storage: "100Gi".parse().unwrap(),
        },
        partition: true,
        per_pod_max: None,
        declared,
        overcommit_percent: 100,
        retired: false,
        version: 1,
    }
}

pub(super) fn request(n: u64, team: &str, offering: &str) -> Request {
    Request {
        id: id(n),
        team: team_name(team),
        ask: Ask::New {
            offering: offering_name(offering),
            shape: Shape { nodes: 1, per_node: 1 },
            partition: false,
            until: NaiveDate::from_ymd_opt(2026, 12, 14).unwrap(),
        },
        offering: offering_name(offering),
        more: 1,
        purpose: "train a model".to_owned(),
        state: RequestState::Submitted,
        approvals: vec![],
        denial: None,
        grant: None,
        created_by: id(1),
        created_by_display: "Person 1".to_owned(),
        created_at: at(0),
        decided_at: None,
        version: 1,
    }
}

/// A grant of the pool that is named like the offering, from the request with the given number.
pub(super) fn grant(n: u64, team: &str, offering: &str, in_namespace: &str, of_request: u64) -> Grant {
    Grant {
        id: id(n),
        team: team_name(team),
        offering: offering_name(offering),
        pool: PoolName::new(offering).unwrap(),
        cluster: main_cluster(),
        namespace: namespace(in_namespace),
        shape: Shape { nodes: 1, per_node: 4 },
        partition: false,
        state: GrantState::Applying,
        blocked: None,
        starts_at: at(0),
        ends_at: at(1000),
        request: id(of_request),
        version: 1,
    }
}

/// The update was refused because the caller had read an older version.
#[track_caller]
pub(super) fn assert_stale<T: Debug>(result: Result<T, StoreError>, read: i64, stored: i64) {
    match result {
        Err(StoreError::Stale { expected, found, .. }) => assert_eq!((expected, found), (read, stored)),
        other => panic!("must be stale: {other:?}"),
    }
}

/// The insert was refused because the key is taken.
#[track_caller]
pub(super) fn assert_taken<T: Debug>(result: Result<T, StoreError>, kind: &str) {
    match result {
        Err(StoreError::Taken { what, .. }) => assert_eq!(what, kind),
        other => panic!("must be taken: {other:?}"),
    }
}

/// The database itself refused.
#[track_caller]
pub(super) fn assert_refused<T: Debug>(result: Result<T, StoreError>) {
    match result {
        Err(StoreError::Database(sqlx::Error::Database(_))) => {}
        other => panic!("must be refused by the database: {other:?}"),
    }
}
