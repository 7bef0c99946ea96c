//! Clusters, nodes, pools, offerings.

use ::store::{Paging, clusters, nodes, offerings, pools};
use domain::{
    fleet::{Node, Registration},
    name::{ClusterName, DisplayName, PoolName},
};

use super::support::{
    Db, GPU, assert_refused, assert_stale, assert_taken, at, cluster, main_cluster, node, offering,
    offering_name, pool, resource,
};

on_both!(
    cluster_rows,
    what_jobs_find_out_and_what_people_set_do_not_meet,
    secrets_of_clusters,
    nodes_of_a_cluster,
    hundreds_of_nodes,
    pool_rows,
    offering_rows,
);

async fn cluster_rows(db: Db) {
    let mut tx = db.begin().await.unwrap();
    let mut first = cluster("main");
    first.known_resources = vec![resource(GPU)];
    first.observed_at = Some(at(5));
    clusters::insert(&mut tx, &first).await.unwrap();
    clusters::insert(&mut tx, &cluster("edge")).await.unwrap();
    assert_taken(clusters::insert(&mut tx, &cluster("main")).await, "cluster");
    assert_eq!(clusters::find(&mut tx, &first.name).await.unwrap(), Some(first.clone()));
    assert_eq!(clusters::find(&mut tx, &ClusterName::new("none").unwrap()).await.unwrap(), None);
    assert_eq!(clusters::list(&mut tx).await.unwrap(), [cluster("edge"), first.clone()]);
    let second = clusters::update(&mut tx, &first).await.unwrap();
    assert_eq!(second.version, 2);
    assert_stale(clusters::update(&mut tx, &first).await, 1, 2);
}

async fn what_jobs_find_out_and_what_people_set_do_not_meet(db: Db) {
    let mut tx = db.begin().await.unwrap();
    let mut edited = cluster("main");
    clusters::insert(&mut tx, &edited).await.unwrap();
    clusters::set_registration(&mut tx, &edited.name, &Registration::Ready).await.unwrap();
    let (gpu, nic) = (resource(GPU), resource("nvidia.com/sriov8001"));
    let class = || vec!["gpu.nvidia.com".to_owned()];
    clusters::set_observed(&mut tx, &edited.name, std::slice::from_ref(&nic), &class(), at(7)).await.unwrap();
    clusters::set_observed(&mut tx, &edited.name, std::slice::from_ref(&gpu), &[], at(8)).await.unwrap();

    edited.display = DisplayName::new("Hall 2").unwrap();
    clusters::update(&mut tx, &edited).await.unwrap();
    let found = clusters::find(&mut tx, &edited.name).await.unwrap().unwrap();
    assert_eq!((found.display.as_str(), found.version), ("Hall 2", 2), "the jobs made no edit stale");
    assert_eq!(found.registration, Registration::Ready, "and the edit did not undo what jobs found");
    assert_eq!(found.known_resources, [gpu, nic], "what was once seen stays known");
    assert_eq!(found.known_device_classes, class());
    assert_eq!(found.observed_at, Some(at(8)));
}

async fn secrets_of_clusters(db: Db) {
    let db = db.with_fleet().await;
    let main = main_cluster();
    let mut tx = db.begin().await.unwrap();
    let sealed: Vec<u8> = (0..=255).collect();
    assert_eq!(clusters::secret(&mut tx, &main, "emitter").await.unwrap(), None);
    clusters::set_secret(&mut tx, &main, "emitter", &sealed).await.unwrap();
    clusters::set_secret(&mut tx, &main, "probe", &[]).await.unwrap();
    assert_eq!(clusters::secret(&mut tx, &main, "emitter").await.unwrap(), Some(sealed));
    clusters::set_secret(&mut tx, &main, "emitter", &[1, 0, 2]).await.unwrap();
    assert_eq!(clusters::secret(&mut tx, &main, "emitter").await.unwrap(), Some(vec![1, 0, 2]));
    clusters::forget_secret(&mut tx, &main, "emitter").await.unwrap();
    assert_eq!(clusters::secret(&mut tx, &main, "emitter").await.unwrap(), None);
    assert_eq!(
        clusters::secret(&mut tx, &main, "probe").await.unwrap(),
        Some(vec![]),
        "another secret stays"
    );
}

async fn nodes_of_a_cluster(db: Db) {
    let db = db.with_fleet().await;
    let main = main_cluster();
    let mut tx = db.begin().await.unwrap();
    let (one, two) = (node("gpu-1", "NVIDIA-H100-80GB-HBM3"), node("gpu-2", "NVIDIA-A100-SXM4-80GB"));
    nodes::replace_all(&mut tx, &main, &[two.clone(), one.clone()]).await.unwrap();
    assert_eq!(nodes::all(&mut tx, &main).await.unwrap(), [one.clone(), two.clone()]);
    assert_eq!(nodes::find(&mut tx, &main, "gpu-2").await.unwrap(), Some(two));
    assert_eq!(nodes::find(&mut tx, &main, "gpu-3").await.unwrap(), None);
    for (filter, want) in
        [(None, 2), (Some("h100"), 1), (Some("GPU-2"), 1), (Some("nvidia.com/gpu"), 2), (Some("l40s"), 0)]
    {
        let page = nodes::list(&mut tx, &main, filter, &Paging::default()).await.unwrap();
        assert_eq!(page.items.len(), want, "{filter:?}");
    }
    let mut drained = one.clone();
    drained.ready = false;
    let three = node("gpu-3", "NVIDIA-L40S");
    nodes::replace_all(&mut tx, &main, &[drained.clone(), three.clone()]).await.unwrap();
    assert_eq!(nodes::all(&mut tx, &main).await.unwrap(), [drained, three]);
    nodes::replace_all(&mut tx, &main, &[]).await.unwrap();
    assert!(nodes::all(&mut tx, &main).await.unwrap().is_empty());
}

async fn hundreds_of_nodes(db: Db) {
    let db = db.with_fleet().await;
    let main = main_cluster();
    let fleet: Vec<Node> = (0..450).map(|n| node(&format!("gpu-{n:04}"), "NVIDIA-H100-80GB-HBM3")).collect();
    let mut tx = db.begin().await.unwrap();
    nodes::replace_all(&mut tx, &main, &fleet).await.unwrap();
    assert_eq!(nodes::all(&mut tx, &main).await.unwrap(), fleet);
    nodes::replace_all(&mut tx, &main, &fleet[..449]).await.unwrap();
    assert_eq!(nodes::all(&mut tx, &main).await.unwrap(), fleet[..449]);
}

async fn pool_rows(db: Db) {
    let mut tx = db.begin().await.unwrap();
    assert_refused(pools::insert(&mut tx, &pool("h100")).await);
    let twin = domain::fleet::Pool { label_value: "h100".to_owned(), ..pool("twin") };
    assert!(pools::insert(&mut tx, &twin).await.is_err(), "the same nodes would be promised twice");
    drop(tx);
    let mut tx = db.begin().await.unwrap();
    clusters::insert(&mut tx, &cluster("main")).await.unwrap();
    let first = pool("h100");
    pools::insert(&mut tx, &first).await.unwrap();
    pools::insert(&mut tx, &pool("a100")).await.unwrap();
    assert_taken(pools::insert(&mut tx, &first).await, "pool");
    assert_eq!(pools::find(&mut tx, &first.name).await.unwrap(), Some(first.clone()));
    assert_eq!(pools::find(&mut tx, &PoolName::new("none").unwrap()).await.unwrap(), None);
    let mut retired = first.clone();
    retired.retired = true;
    let second = pools::update(&mut tx, &retired).await.unwrap();
    assert_eq!((second.version, second.retired), (2, true));
    assert_stale(pools::update(&mut tx, &first).await, 1, 2);
    assert_eq!(pools::list(&mut tx).await.unwrap(), [pool("a100"), second]);
}

async fn offering_rows(db: Db) {
    let db = db.with_fleet().await;
    let mut tx = db.begin().await.unwrap();
    assert_taken(
        offerings::insert(&mut tx, &offering("h100", "a100", "nvidia.com/other", 1)).await,
        "offering",
    );
    assert_taken(offerings::insert(&mut tx, &offering("h100-b", "h100", GPU, 1)).await, "offering");
    let slice = offering("a100-1g", "a100", "nvidia.com/mig-1g.10gb", 56);
    offerings::insert(&mut tx, &slice).await.unwrap();
    assert_eq!(offerings::find(&mut tx, &slice.name).await.unwrap(), Some(slice.clone()));
    assert_eq!(offerings::find(&mut tx, &offering_name("none")).await.unwrap(), None);
    let mut fewer = slice.clone();
    fewer.declared = 49;
    let second = offerings::update(&mut tx, &fewer).await.unwrap();
    assert_eq!((second.version, second.declared), (2, 49));
    assert_stale(offerings::update(&mut tx, &slice).await, 1, 2);
    assert_eq!(
        offerings::lock(&mut tx, &slice.name).await.unwrap(),
        Some(second.clone()),
        "a lock changes nothing"
    );
    assert_eq!(offerings::lock(&mut tx, &offering_name("none")).await.unwrap(), None);
    let names: Vec<_> = offerings::list(&mut tx).await.unwrap().into_iter().map(|o| o.name).collect();
    assert_eq!(names, ["a100", "a100-1g", "h100"].map(offering_name));
}
