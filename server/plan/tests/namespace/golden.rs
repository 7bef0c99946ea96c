//! Whole namespaces as files: what a person would read in the portal or in git.

use domain::name::NamespaceName;
use plan::{Tenancy, desired, manifest::Manifest};

use crate::fixture::{a100, ended, h100, partition, share, slice, tenancy, whole_with_partition, with};

/// All objects in the order in which they are written, then the probes of an unused namespace.
fn text(t: &Tenancy) -> String {
    let desired = desired(t);
    let objects = desired.all().map(Manifest::to_yaml);
    let probes = desired.probes.iter().map(|probe| {
        let hard =
            t.limits().iter().find(|(name, _)| name.as_str() == probe.asked).map_or(0, |(_, hard)| *hard);
        format!("# probe, refused with: {}\n{}", probe.expect, probe.pod(hard, 0).to_yaml())
    });
    objects.chain(probes).collect::<Vec<_>>().join("---\n")
}

#[test]
fn whole_gpus_with_a_partition() {
    insta::assert_snapshot!(text(&whole_with_partition()));
}

#[test]
fn slices() {
    insta::assert_snapshot!(text(&tenancy(vec![with(slice(), 7, 1)], None)));
}

#[test]
fn shares() {
    insta::assert_snapshot!(text(&tenancy(vec![with(share(), 5, 1)], None)));
}

#[test]
fn an_ended_grant() {
    insta::assert_snapshot!(text(&ended()));
}

#[test]
fn two_pools_with_one_resource_name_are_two_namespaces() {
    let first = tenancy(vec![with(h100(), 8, 8)], Some(partition("vision", 1, 8)));
    let second = a100();
    let namespace = NamespaceName::of_team_and_pool(&first.team, &second.pool.name);
    let second = Tenancy { namespace, ..tenancy(vec![with(second, 4, 2)], None) };
    insta::assert_snapshot!(format!("{}---\n{}", text(&first), text(&second)));
}

#[test]
fn files_for_git() {
    let t = whole_with_partition();
    let files = plan::git::files(&desired(&t), true);
    let waves: Vec<_> = files
        .iter()
        .map(|(path, yaml)| {
            let manifest = Manifest::from_yaml_documents(yaml).unwrap().remove(0);
            let annotations = &manifest.body["metadata"]["annotations"];
            let annotation = |name: &str| annotations[name].as_str().unwrap_or("-").to_owned();
            format!(
                "{path} {} {}",
                annotation("argocd.argoproj.io/sync-wave"),
                annotation("argocd.argoproj.io/sync-options")
            )
        })
        .collect();
    let keep = "Prune=false,Delete=false";
    assert_eq!(
        waves,
        [
            "limitrange-gpuaas.yaml 3 -".to_owned(),
            format!("namespace-vision.yaml 0 {keep}"),
            "networkattachmentdefinition-ib-p0001.yaml 3 -".to_owned(),
            "networkpolicy-gpuaas-egress.yaml 3 -".to_owned(),
            "networkpolicy-gpuaas-ingress.yaml 3 -".to_owned(),
            "podtemplate-h100-whole.yaml 3 -".to_owned(),
            format!("resourcequota-gpuaas.yaml 1 {keep}"),
            "rolebinding-gpuaas-lead.yaml 4 -".to_owned(),
            "rolebinding-gpuaas-member.yaml 4 -".to_owned(),
            "rolebinding-gpuaas-viewer.yaml 4 -".to_owned(),
            format!("tenantpolicy-tenant.yaml 2 {keep}"),
        ]
    );
}

#[test]
fn without_access_no_binding_is_committed_and_nothing_else_changes() {
    let t = whole_with_partition();
    let (with, without) = (plan::git::files(&desired(&t), true), plan::git::files(&desired(&t), false));
    let (bindings, rest): (Vec<_>, Vec<_>) =
        with.iter().partition(|(path, _)| path.starts_with("rolebinding-"));
    assert_eq!(bindings.len(), 3);
    assert_eq!(rest, without.iter().collect::<Vec<_>>());
}
