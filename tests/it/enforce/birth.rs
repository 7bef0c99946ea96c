//! A namespace comes into being.

use std::time::Instant;

use super::site::{EMITTER, GPU, PROBE, SLICE, desired, hard, role_bindings, site, with_partition};

#[tokio::test]
async fn a_namespace_becomes_enforced_in_order_and_a_second_pass_writes_nothing() {
    let site = site().await;
    let plan = plan::desired(&with_partition("birth-vision", &[(GPU, 4), (SLICE, 7)], 4));
    let mark = site.cluster.audit_mark().unwrap();
    let begin = Instant::now();
    let done = site.member.enforce(&plan).await.unwrap();
    eprintln!("approved to enforced: {:?}", begin.elapsed());

    assert_eq!(done.answers.len(), plan.probes.len());
    for answer in &done.answers {
        assert!(answer.refused, "{answer:?}");
    }
    let asked: Vec<_> =
        done.answers.iter().map(|answer| (answer.layer.as_str(), answer.asked.as_str())).collect();
    assert!(asked.contains(&("quota", "5 × nvidia.com/gpu (4 granted)")), "{asked:?}");
    assert_eq!(hard(&site.admin, "birth-vision", GPU).await.as_deref(), Some("4"));
    assert_eq!(role_bindings(&site.admin, "birth-vision").await.len(), 3);
    assert_eq!(site.member.hard("birth-vision")[&GPU.parse_resource()], 4);

    let audit = site.cluster.audit_since(mark).unwrap();
    let steps: Vec<_> = audit
        .0
        .iter()
        .filter(|entry| {
            entry.is_write() && (entry.namespace == "birth-vision" || entry.name == "birth-vision")
        })
        .filter(|entry| entry.user == EMITTER || (entry.user == PROBE && entry.code == 403))
        .map(|entry| if entry.user == PROBE { "probe" } else { entry.resource.as_str() })
        .collect();
    // Quota admission is seen to act before the policy opens anything.
    let opened = steps.iter().position(|step| *step == "tenantpolicies").unwrap();
    assert_eq!(steps[..2], ["namespaces", "resourcequotas"], "{steps:?}");
    assert!(opened > 2 && steps[2..opened].iter().all(|step| *step == "probe"), "{steps:?}");
    let last_rest =
        steps.iter().rposition(|step| *step == "limitranges" || *step == "networkpolicies").unwrap();
    let first_binding = steps.iter().position(|step| *step == "rolebindings").unwrap();
    let last_probe = steps.iter().rposition(|step| *step == "probe").unwrap();
    assert!(last_rest < last_probe && last_probe < first_binding, "{steps:?}");
    assert_eq!(steps[first_binding..], ["rolebindings"; 3]);
    // One request for each object, and none besides.
    let written = audit
        .of(EMITTER)
        .filter(|entry| {
            entry.is_write() && entry.namespace == "birth-vision"
                || entry.name == "birth-vision" && entry.user == EMITTER
        })
        .count();
    assert_eq!(written, plan.all().count(), "{steps:?}");
    assert_eq!(usize::try_from(done.sent).unwrap(), written);

    let mark = site.cluster.audit_mark().unwrap();
    let again = site.member.enforce(&plan).await.unwrap();
    assert_eq!((again.sent, &again.answers), (0, &done.answers));
    let audit = site.cluster.audit_since(mark).unwrap();
    let own = audit.0.iter().filter(|entry| entry.is_write() && entry.namespace == "birth-vision");
    assert_eq!(own.filter(|entry| entry.user == EMITTER || entry.user == PROBE).count(), 0);
}

#[tokio::test]
async fn a_restarted_member_finds_everything_as_planned() {
    let site = site().await;
    let plan = desired("birth-again", &[(GPU, 2)]);
    site.member.enforce(&plan).await.unwrap();
    let other = super::site::site().await;
    let again = other.member.enforce(&plan).await.unwrap();
    assert_eq!(again.sent, 0);
    assert!(again.answers.iter().all(|answer| answer.refused));
    site.member.stop().await;
}

/// A short way to a resource name.
trait ParseResource {
    fn parse_resource(&self) -> domain::resource::ResourceName;
}

impl ParseResource for str {
    fn parse_resource(&self) -> domain::resource::ResourceName {
        domain::resource::ResourceName::new(self).unwrap()
    }
}
