//! From a request to what a real API server admits, and back: the use-cases with their jobs over a real cluster.

mod world;

use std::{sync::Arc, time::Duration};

use app::{AppError, Once};
use domain::{
    api::{Enforcement, GiveBack},
    fleet::Mode,
    grant::GrantState,
    request::Ask,
    shape::Shape,
};
use k8s_openapi::api::{
    core::v1::{Namespace, Pod, ResourceQuota},
    rbac::v1::RoleBinding,
};
use kit::{
    cluster::{Cluster, Options},
    wait_for,
};
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::json;
use world::{World, create, gpu_pod, limits, shared};

const SOON: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_request_becomes_a_namespace_that_refuses_quota_plus_one_and_everything_that_is_not_granted() {
    let cluster = shared().await;
    let client = cluster.client().await.unwrap();
    let world = World::new("fa", Some(&cluster.kubeconfig().text)).await;
    let offering = world.offering("h100", "nvidia.com/gpu", Mode::Whole, 16).await;
    let _kubelet = world.nodes(client.clone(), "h100", 2, "nvidia.com/gpu").await;
    let (team, other) = (world.team("vision").await, world.team("speech").await);
    let grant = world.grant(&team, &offering, 4, true).await;
    let neighbour = world.grant(&other, &offering, 2, true).await;
    let foreign = world.look(&other, neighbour).await.partition.unwrap().resource();
    let own = world.look(&team, grant).await.partition.unwrap().resource();
    assert_ne!(foreign, own);

    let member = format!("gpuaas:{team}:member");
    let person = cluster.kubeconfig_for_user("fa-person", &[&member]).unwrap().client().await.unwrap();
    let (namespace, pool) = (team.as_str(), world.name("h100"));
    let ask = |n: u32| json!({"nvidia.com/gpu": n.to_string()});
    create(&person, namespace, &gpu_pod("four", Some(&pool), &ask(4))).await.unwrap();
    let refused = |pod: Pod| {
        let person = person.clone();
        async move { create(&person, namespace, &pod).await.unwrap_err() }
    };
    let text = refused(gpu_pod("five", Some(&pool), &ask(1))).await;
    assert!(
        text.contains(
            "exceeded quota: gpuaas, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=4"
        ),
        "{text}"
    );
    let text = refused(gpu_pod("foreign", Some(&pool), &json!({foreign.as_str(): "1"}))).await;
    assert!(text.contains(&format!("{foreign} is not granted to this namespace")), "{text}");
    let text = refused(gpu_pod("unlisted", Some(&pool), &json!({"nvidia.com/mig-1g.10gb": "1"}))).await;
    assert!(text.contains("nvidia.com/mig-1g.10gb is not granted to this namespace"), "{text}");
    let text = refused(gpu_pod("anywhere", None, &ask(1))).await;
    assert!(text.contains(&format!("nvidia.com/gpu belongs to pool {pool}, the pod selects none")), "{text}");
    let text = create(&person, other.as_str(), &gpu_pod("guest", Some(&pool), &ask(1))).await.unwrap_err();
    assert!(text.contains("forbidden"), "{text}");

    let view = world.look(&team, grant).await;
    let answers = view.namespace.unwrap().probes;
    assert!(
        answers.iter().any(|p| p.layer == "policy") && answers.iter().any(|p| p.layer == "quota"),
        "{answers:?}"
    );
    assert!(answers.iter().all(|p| p.refused), "{answers:?}");
    wait_for("the running pod in the ledger", SOON, || async {
        (world.look(&team, grant).await.holding.running == 4).then_some(())
    })
    .await
    .unwrap();
    world.stop().await;
}

#[tokio::test]
async fn a_move_from_one_team_to_another_has_two_phases_and_never_passes_the_capacity() {
    let cluster = shared().await;
    let client = cluster.client().await.unwrap();
    let world = World::new("fb", Some(&cluster.kubeconfig().text)).await;
    let offering = world.offering("h100", "nvidia.com/gpu", Mode::Whole, 8).await;
    let _kubelet = world.nodes(client.clone(), "h100", 1, "nvidia.com/gpu").await;
    let (red, blue) = (world.team("red").await, world.team("blue").await);
    let held = world.grant(&red, &offering, 8, false).await;

    let (watching, stop) = (client.clone(), tokio_util::sync::CancellationToken::new());
    let (names, ended) = ([red.to_string(), blue.to_string()], stop.clone());
    let most = tokio::spawn(async move {
        let mut most = 0;
        while !ended.is_cancelled() {
            let mut sum = 0;
            for name in &names {
                let quota =
                    Api::<ResourceQuota>::namespaced(watching.clone(), name).get_opt("gpuaas").await.unwrap();
                let hard = quota
                    .and_then(|q| q.status?.hard)
                    .and_then(|h| h.get("requests.nvidia.com/gpu").map(|q| q.0.clone()));
                sum += hard.map_or(0, |text| text.parse::<u32>().unwrap());
            }
            most = most.max(sum);
        }
        most
    });
    let Err(AppError::Short { shortfalls, .. }) = world.try_grant(&blue, &offering, 8, false).await else {
        panic!("nothing was free")
    };
    assert_eq!(
        (shortfalls[0].limit, shortfalls[0].used, shortfalls[0].requested, shortfalls[0].shortfall),
        (8, 8, 8, 8)
    );
    let lead = world.lead().await;
    world.app.give_back(&lead, &red, held, GiveBack { keep: None }, None, Once::none()).await.unwrap();
    // Approved in the same moment: the promise is made, the quota waits for the lowering.
    let moved = world.try_grant(&blue, &offering, 8, false).await.unwrap();
    world.reaches(&blue, moved, GrantState::Enforced).await;
    world.reaches(&red, held, GrantState::Ended).await;
    stop.cancel();
    assert_eq!(most.await.unwrap(), 8, "the sum of the limits in the cluster");
    assert_eq!(limits(&client, red.as_str()).await["nvidia.com/gpu"], "0");
    assert_eq!(limits(&client, blue.as_str()).await["nvidia.com/gpu"], "8");
    world.stop().await;
}

#[tokio::test]
async fn what_a_lowered_team_began_to_use_a_moment_ago_is_not_promised_away() {
    let cluster = shared().await;
    let client = cluster.client().await.unwrap();
    let world = World::new("fj", Some(&cluster.kubeconfig().text)).await;
    let offering = world.offering("h100", "nvidia.com/gpu", Mode::Whole, 24).await;
    let _kubelet = world.nodes(client.clone(), "h100", 3, "nvidia.com/gpu").await;
    let (red, blue) = (world.team("red").await, world.team("blue").await);
    let held = world.grant(&red, &offering, 16, false).await;
    let more = world.grant(&blue, &offering, 8, false).await;
    let pool = world.name("h100");
    for name in ["a", "b"] {
        create(&client, red.as_str(), &gpu_pod(name, Some(&pool), &json!({"nvidia.com/gpu": "8"})))
            .await
            .unwrap();
    }
    // At once, before any observer can have told of the pods.
    let keep = Some(Shape { nodes: 1, per_node: 1 });
    world
        .app
        .give_back(&world.lead().await, &red, held, GiveBack { keep }, None, Once::none())
        .await
        .unwrap();
    // Approved or refused: either way the quota must not be raised while red's pods run.
    let approved =
        world.decide(&blue, Ask::Change { grant: more, shape: Shape { nodes: 16, per_node: 1 } }).await;
    world.reaches(&red, held, GrantState::Enforced).await;
    let raised = wait_for("a raise", Duration::from_secs(3), || async {
        (limits(&client, blue.as_str()).await["nvidia.com/gpu"] != "8").then_some(())
    });
    assert!(raised.await.is_err(), "16 are used and 8 granted of 24, and the quota was raised");
    if approved.is_ok() {
        for name in ["a", "b"] {
            Api::<Pod>::namespaced(client.clone(), red.as_str())
                .delete(name, &DeleteParams::default())
                .await
                .unwrap();
        }
        world.reaches(&blue, more, GrantState::Enforced).await;
        assert_eq!(limits(&client, blue.as_str()).await["nvidia.com/gpu"], "16");
    }
    world.stop().await;
}

#[tokio::test]
async fn case_40_a_lease_that_ends_sets_the_quota_to_zero_and_deletes_nothing() {
    let cluster = shared().await;
    let client = cluster.client().await.unwrap();
    let world = World::new("fc", Some(&cluster.kubeconfig().text)).await;
    let offering = world.offering("h100", "nvidia.com/gpu", Mode::Whole, 8).await;
    let _kubelet = world.nodes(client.clone(), "h100", 1, "nvidia.com/gpu").await;
    let team = world.team("iris").await;
    let grant = world.grant(&team, &offering, 4, false).await;
    let pool = world.name("h100");
    create(&client, team.as_str(), &gpu_pod("stays", Some(&pool), &json!({"nvidia.com/gpu": "2"})))
        .await
        .unwrap();
    wait_for("the pod in the ledger", SOON, || async {
        (world.look(&team, grant).await.holding.running == 2).then_some(())
    })
    .await
    .unwrap();

    world.advance(8);
    world.reaches(&team, grant, GrantState::Ended).await;
    assert!(limits(&client, team.as_str()).await.values().all(|v| v == "0"));
    let bindings: Api<RoleBinding> = Api::namespaced(client.clone(), team.as_str());
    assert_eq!(bindings.list(&ListParams::default()).await.unwrap().items.len(), 0);
    assert!(
        Api::<Namespace>::all(client.clone())
            .get(team.as_str())
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_none()
    );
    let pods: Api<Pod> = Api::namespaced(client.clone(), team.as_str());
    assert!(pods.get("stays").await.unwrap().metadata.deletion_timestamp.is_none());
    // What still runs stays charged: only six of eight are free for others.
    let other = world.team("lily").await;
    assert!(matches!(world.try_grant(&other, &offering, 7, false).await, Err(AppError::Short { .. })));
    pods.delete("stays", &DeleteParams::default()).await.unwrap();
    wait_for("the devices to come free", SOON, || async {
        (world.app.find_offering(&world.admin, &offering).await.unwrap().free == 8).then_some(())
    })
    .await
    .unwrap();
    world.stop().await;
}

#[tokio::test]
async fn case_04_lowering_below_use_stops_nothing_and_lets_nothing_new_in() {
    let cluster = shared().await;
    let client = cluster.client().await.unwrap();
    let world = World::new("fd", Some(&cluster.kubeconfig().text)).await;
    let offering = world.offering("h100", "nvidia.com/gpu", Mode::Whole, 8).await;
    let _kubelet = world.nodes(client.clone(), "h100", 1, "nvidia.com/gpu").await;
    let (blue, cyan) = (world.team("blue").await, world.team("cyan").await);
    let grant = world.grant(&blue, &offering, 6, false).await;
    let pool = world.name("h100");
    for name in ["a", "b", "c"] {
        create(&client, blue.as_str(), &gpu_pod(name, Some(&pool), &json!({"nvidia.com/gpu": "2"})))
            .await
            .unwrap();
    }
    wait_for("six running", SOON, || async {
        (world.look(&blue, grant).await.holding.running == 6).then_some(())
    })
    .await
    .unwrap();
    let keep = Some(Shape { nodes: 4, per_node: 1 });
    world
        .app
        .give_back(&world.lead().await, &blue, grant, GiveBack { keep }, None, Once::none())
        .await
        .unwrap();
    world.reaches(&blue, grant, GrantState::Enforced).await;
    let holding = world.look(&blue, grant).await.holding;
    assert_eq!((holding.granted, holding.used(), holding.over()), (4, 6, 2));
    let refused = create(&client, blue.as_str(), &gpu_pod("d", Some(&pool), &json!({"nvidia.com/gpu": "1"})))
        .await
        .unwrap_err();
    assert!(refused.contains("exceeded quota"), "{refused}");
    let Err(AppError::Short { detail, .. }) = world.try_grant(&cyan, &offering, 3, false).await else {
        panic!("2 are free")
    };
    assert!(detail.contains("2 free of 8"), "{detail}");
    world.grant(&cyan, &offering, 2, false).await;
    for name in ["a", "b"] {
        Api::<Pod>::namespaced(client.clone(), blue.as_str())
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }
    wait_for("the over-use to clear", SOON, || async {
        (world.look(&blue, grant).await.holding.over() == 0).then_some(())
    })
    .await
    .unwrap();
    world.stop().await;
}

#[tokio::test]
async fn devices_of_pods_outside_team_namespaces_count() {
    let cluster = shared().await;
    let client = cluster.client().await.unwrap();
    let world = World::new("fe", Some(&cluster.kubeconfig().text)).await;
    let offering = world.offering("h100", "nvidia.com/gpu", Mode::Whole, 8).await;
    let _kubelet = world.nodes(client.clone(), "h100", 1, "nvidia.com/gpu").await;
    cluster.namespace("fe-legacy").await.unwrap();
    create(&client, "fe-legacy", &gpu_pod("old", Some(&world.name("h100")), &json!({"nvidia.com/gpu": "5"})))
        .await
        .unwrap();
    wait_for("the unmanaged use", SOON, || async {
        (world.app.find_offering(&world.admin, &offering).await.unwrap().free == 3).then_some(())
    })
    .await
    .unwrap();
    let team = world.team("vision").await;
    let Err(AppError::Short { detail, .. }) = world.try_grant(&team, &offering, 4, false).await else {
        panic!("3 are free")
    };
    assert!(detail.contains("5 used outside team namespaces"), "{detail}");
    world.grant(&team, &offering, 3, false).await;
    world.stop().await;
}

#[tokio::test]
async fn case_07_a_resource_that_a_node_begins_to_advertise_is_zero_for_everybody() {
    let cluster = shared().await;
    let client = cluster.client().await.unwrap();
    let world = World::new("ff", Some(&cluster.kubeconfig().text)).await;
    let offering = world.offering("h100", "nvidia.com/gpu", Mode::Whole, 8).await;
    let kubelet = world.nodes(client.clone(), "h100", 1, "nvidia.com/gpu").await;
    let team = world.team("red").await;
    world.grant(&team, &offering, 2, true).await;
    let before = limits(&client, team.as_str()).await;
    assert_eq!(before["nvidia.com/gpu"], "2");
    assert!(!before.contains_key("example.com/ff-new"));
    kubelet.set_allocatable("ff-h100-01", "example.com/ff-new", Some("7")).await.unwrap();
    wait_for("the explicit zero", SOON, || async {
        (limits(&client, team.as_str()).await.get("example.com/ff-new")? == "0").then_some(())
    })
    .await
    .unwrap();
    world.stop().await;
}

#[tokio::test]
async fn case_38_every_change_reaches_the_cluster_and_foreign_edits_are_put_back() {
    let cluster = shared().await;
    let client = cluster.client().await.unwrap();
    let world = World::new("fg", Some(&cluster.kubeconfig().text)).await;
    let gpu = world.offering("h100", "nvidia.com/gpu", Mode::Whole, 16).await;
    let mig = world.offering("a100", "nvidia.com/mig-1g.10gb", Mode::Mig, 14).await;
    let _gpus = world.nodes(client.clone(), "h100", 2, "nvidia.com/gpu").await;
    let _slices = world.nodes(client.clone(), "a100", 2, "nvidia.com/mig-1g.10gb").await;
    let team = world.team("red").await;
    let whole = world.grant(&team, &gpu, 4, false).await;
    let slices = world.grant(&team, &mig, 7, false).await;
    let live = || async {
        let limits = limits(&client, team.as_str()).await;
        (limits["nvidia.com/gpu"].clone(), limits["nvidia.com/mig-1g.10gb"].clone())
    };
    assert_eq!(live().await, ("4".into(), "7".into()));
    world.decide(&team, Ask::Change { grant: whole, shape: Shape { nodes: 6, per_node: 1 } }).await.unwrap();
    world.reaches(&team, whole, GrantState::Enforced).await;
    assert_eq!(live().await, ("6".into(), "7".into()));
    world
        .app
        .give_back(&world.lead().await, &team, slices, GiveBack { keep: None }, None, Once::none())
        .await
        .unwrap();
    world.reaches(&team, slices, GrantState::Ended).await;
    assert_eq!(live().await, ("6".into(), "0".into()));

    let quotas: Api<ResourceQuota> = Api::namespaced(client.clone(), team.as_str());
    let edit = json!({"spec": {"hard": {"requests.nvidia.com/gpu": "64"}}});
    quotas
        .patch(
            "gpuaas",
            &PatchParams { field_manager: Some("somebody".into()), ..PatchParams::default() },
            &Patch::Merge(&edit),
        )
        .await
        .unwrap();
    wait_for("the ledger's value", SOON, || async { (live().await.0 == "6").then_some(()) }).await.unwrap();
    quotas.delete("gpuaas", &DeleteParams::default()).await.unwrap();
    wait_for("the quota to be there again", SOON, || async {
        quotas.get_opt("gpuaas").await.unwrap().filter(|q| q.metadata.deletion_timestamp.is_none())
    })
    .await
    .unwrap();
    assert_eq!(live().await, ("6".into(), "0".into()));
    let drifts = store::audit::Filter { action: Some("namespace.drift".into()), ..Default::default() };
    let seen =
        world.app.audit(&world.admin, &drifts, &store::Paging { after: None, limit: 50 }).await.unwrap();
    assert!(seen.items.iter().any(|e| e.detail.contains("somebody")), "{:?}", seen.items);
    world
        .app
        .give_back(&world.lead().await, &team, whole, GiveBack { keep: None }, None, Once::none())
        .await
        .unwrap();
    world.reaches(&team, whole, GrantState::Ended).await;
    assert_eq!(live().await, ("0".into(), "0".into()));
    world.stop().await;
}

#[tokio::test]
async fn an_api_server_that_is_away_blocks_with_the_reason_and_loses_nothing() {
    let mut cluster = Cluster::start(Options { scheduler: false, ..Options::default() }).await.unwrap();
    let world = World::new("fh", Some(&cluster.kubeconfig().text.clone())).await;
    let offering = world.offering("h100", "nvidia.com/gpu", Mode::Whole, 8).await;
    let team = world.team("vision").await;
    world.grant(&team, &offering, 1, false).await;
    cluster.stop_apiserver().unwrap();
    let grant = world.try_grant(&team, &offering, 3, false).await.unwrap();
    wait_for("the reason", Duration::from_secs(60), || async {
        world.look(&team, grant).await.grant.blocked
    })
    .await
    .unwrap();
    let view = world.look(&team, grant).await;
    assert_eq!(view.grant.state, GrantState::Applying);
    assert_eq!(view.holding.granted, 4, "approved, not applied, and counted");
    assert!(matches!(view.namespace.unwrap().enforcement, Enforcement::Blocked { .. }));
    cluster.restart_apiserver().await.unwrap();
    // The controller manager comes back at its own pace, up to half a minute after the API server.
    world.reaches_within(&team, grant, GrantState::Enforced, Duration::from_secs(120)).await;
    let client = cluster.client().await.unwrap();
    assert_eq!(limits(&client, team.as_str()).await["nvidia.com/gpu"], "4");
    world.stop().await;
}

#[tokio::test]
async fn without_a_cluster_every_decision_is_a_commit_and_a_lowering_waits_for_an_admins_word() {
    let world = Arc::new(World::new("fi", None).await);
    let offering = world.offering("h100", "nvidia.com/gpu", Mode::Whole, 8).await;
    let (red, blue) = (world.team("red").await, world.team("blue").await);
    let held = world.try_grant(&red, &offering, 8, true).await.unwrap();
    world.reaches(&red, held, GrantState::Published).await;
    let repo = gitops::Repo::open(world.dir.path().join("repo.git")).await.unwrap();
    let quota = repo.read(&format!("test/{red}/{red}/resourcequota-gpuaas.yaml")).await.unwrap().unwrap();
    assert!(quota.contains("requests.nvidia.com/gpu: \"8\""), "{quota}");

    world
        .app
        .give_back(&world.lead().await, &red, held, GiveBack { keep: None }, None, Once::none())
        .await
        .unwrap();
    let moved = world.try_grant(&blue, &offering, 8, false).await.unwrap();
    wait_for("blue to wait", SOON, || async { world.look(&blue, moved).await.grant.blocked }).await.unwrap();
    wait_for("red's zero", SOON, || async {
        let quota = repo.read(&format!("test/{red}/{red}/resourcequota-gpuaas.yaml")).await.unwrap()?;
        quota.contains("requests.nvidia.com/gpu: \"0\"").then_some(())
    })
    .await
    .unwrap();
    let namespace = world.look(&red, held).await.grant.namespace;
    wait_for("red to be published", SOON, || async {
        let view = world.look(&red, held).await.namespace?;
        (view.enforcement == Enforcement::Published).then_some(())
    })
    .await
    .unwrap();
    assert_eq!(world.look(&red, held).await.grant.state, GrantState::Reducing);
    world.app.confirm_namespace(&world.admin, &world.cluster, &namespace).await.unwrap();
    world.reaches(&blue, moved, GrantState::Published).await;
    assert_eq!(world.look(&red, held).await.grant.state, GrantState::Ended);
    let log = repo.log(&format!("test/{red}"), 10).await.unwrap();
    assert!(log.len() >= 2, "{log:?}");
}
