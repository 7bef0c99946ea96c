//! What a member of the team may and may not create once the namespace is enforced.

use super::site::{GPU, SLICE, clear, create, desired, pod, site, with_partition};

#[tokio::test]
async fn a_member_gets_what_is_granted_and_nothing_else() {
    let site = site().await;
    let plan = plan::desired(&with_partition("walls-vision", &[(GPU, 4)], 4));
    site.member.enforce(&plan).await.unwrap();
    site.member.enforce(&desired("walls-other", &[(SLICE, 7)])).await.unwrap();
    let member = site.cluster.kubeconfig_for_user("walls-member", &["gpuaas:walls-vision:member"]).unwrap();
    let member = member.client().await.unwrap();

    let refused = |resource: &'static str, amount, pool| {
        let member = member.clone();
        async move { create(&member, "walls-vision", &pod(resource, amount, pool)).await.unwrap_err() }
    };
    let over = refused(GPU, 5, Some("h100")).await;
    assert!(
        over.contains("exceeded quota: gpuaas") && over.contains("limited: requests.nvidia.com/gpu=4"),
        "{over}"
    );
    let unlisted = refused("example.com/unknown", 1, Some("h100")).await;
    assert!(unlisted.contains("example.com/unknown is not granted to this namespace"), "{unlisted}");
    let foreign = refused(SLICE, 1, Some("a100")).await;
    assert!(foreign.contains("is not granted to this namespace"), "{foreign}");
    let fabric = refused("nvidia.com/sriov8002", 1, Some("h100")).await;
    assert!(fabric.contains("is not granted to this namespace"), "{fabric}");
    for pool in [None, Some("a100")] {
        let elsewhere = refused(GPU, 1, pool).await;
        assert!(elsewhere.contains("h100"), "{elsewhere}");
    }
    let other_team = create(&member, "walls-other", &pod(SLICE, 1, Some("a100"))).await.unwrap_err();
    assert!(other_team.contains("walls-member"), "{other_team}");

    create(&member, "walls-vision", &pod(GPU, 3, Some("h100"))).await.unwrap();
    let over = refused(GPU, 2, Some("h100")).await;
    assert!(over.contains("used: requests.nvidia.com/gpu=3"), "{over}");
    create(&member, "walls-vision", &pod(GPU, 1, Some("h100"))).await.unwrap();
    // The proof holds in a full namespace as well.
    let answers = site.member.prove(&plan).await.unwrap();
    assert!(answers.iter().any(|answer| answer.asked == "1 × nvidia.com/gpu (4 granted)"), "{answers:?}");
    clear(&site.admin, "walls-vision").await;
}
