use serde_json::{Value, json};

use super::*;

fn meta(value: Value) -> ObjectMeta {
    serde_json::from_value(value).unwrap()
}

fn writer(manager: &str, second: u32) -> Value {
    json!({"manager": manager, "operation": "Apply", "time": format!("2026-03-01T12:00:{second:02}Z")})
}

fn binding(version: &str, writers: &[Value]) -> ObjectMeta {
    meta(json!({
        "name": "gpuaas-lead", "namespace": "vision", "resourceVersion": version, "uid": "u",
        "labels": {"app.kubernetes.io/managed-by": "gpuaas", "gpuaas.io/tenant": "vision"},
        "annotations": {"gpuaas.io/fingerprint": "f1"}, "managedFields": writers,
    }))
}

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// What the answer to our apply says.
fn written(version: &str) -> Seen {
    Seen::of(&binding(version, &[writer("gpuaas", 9), writer("kubectl-edit", 9)]))
}

fn key() -> Key {
    Key {
        api_version: RBAC.to_owned(),
        kind: "RoleBinding".to_owned(),
        namespace: Some("vision".to_owned()),
        name: "gpuaas-lead".to_owned(),
    }
}

fn see(index: &mut Index, event: Event<ObjectMeta>) -> Vec<Drift> {
    index.object(RBAC, "RoleBinding", event).drift
}

#[test]
fn an_object_is_as_planned_until_somebody_else_writes() {
    let mut index = Index::default();
    assert_eq!(index.standing(&key(), "f1", None), Standing::Unknown);
    assert!(see(&mut index, Event::Apply(binding("5", &[writer("gpuaas", 3)]))).is_empty());
    assert_eq!(index.standing(&key(), "f1", None), Standing::Same);
    assert_eq!(index.standing(&key(), "f2", None), Standing::Different);

    let edited = binding("6", &[writer("gpuaas", 3), writer("kubectl-edit", 9)]);
    let drift = see(&mut index, Event::Apply(edited.clone()));
    assert_eq!(drift, [Drift { object: key(), by: Some("kubectl-edit".to_owned()) }]);
    assert_eq!(index.standing(&key(), "f1", None), Standing::Different);
    // Our apply settles it, whatever entries the other leaves.
    index.applied(&key(), written("7"));
    let after = binding("7", &[writer("gpuaas", 9), writer("kubectl-edit", 9)]);
    assert!(see(&mut index, Event::Apply(after)).is_empty());
    assert_eq!(index.standing(&key(), "f1", None), Standing::Same);
    // What was on its way from before changes nothing.
    assert!(see(&mut index, Event::Apply(edited)).is_empty());
    assert_eq!(index.standing(&key(), "f1", None), Standing::Same);
}

#[test]
fn an_edit_while_nobody_watched_is_found_at_the_first_list() {
    let mut index = Index::default();
    see(&mut index, Event::Init);
    see(&mut index, Event::InitApply(binding("6", &[writer("gpuaas", 3), writer("kubectl-edit", 3)])));
    see(&mut index, Event::InitDone);
    assert_eq!(index.standing(&key(), "f1", None), Standing::Different);
}

#[test]
fn argo_cd_is_recognised_also_where_it_wrote_first() {
    let mut index = Index::default();
    see(&mut index, Event::Apply(binding("6", &[writer(ARGO, 1), writer("gpuaas", 3)])));
    for fingerprint in ["f1", "f2"] {
        assert_eq!(index.standing(&key(), fingerprint, None), Standing::Argo);
    }
}

#[test]
fn deletions_by_others_are_drift_and_ours_are_not() {
    let mut index = Index::default();
    let one = || binding("5", &[writer("gpuaas", 3)]);
    see(&mut index, Event::Apply(one()));
    assert_eq!(see(&mut index, Event::Delete(one())), [Drift { object: key(), by: None }]);
    see(&mut index, Event::Apply(one()));
    index.will_delete(&key());
    assert!(see(&mut index, Event::Delete(one())).is_empty());
    // One that was deleted while the watch was broken is missing in the next list.
    see(&mut index, Event::Apply(one()));
    see(&mut index, Event::Init);
    assert_eq!(see(&mut index, Event::InitDone), [Drift { object: key(), by: None }]);
}

fn quota(version: &str, hard: &str, status: Option<&str>, writers: &[Value]) -> ResourceQuota {
    let amounts = |amount: &str| json!({"requests.nvidia.com/gpu": amount, "requests.memory": "1Gi"});
    let zeros = json!({"requests.nvidia.com/gpu": "3", "requests.memory": "0"});
    serde_json::from_value(json!({
        "metadata": {
            "name": "gpuaas", "namespace": "vision", "resourceVersion": version, "uid": "u",
            "labels": {"app.kubernetes.io/managed-by": "gpuaas"},
            "annotations": {"gpuaas.io/fingerprint": "f1"}, "managedFields": writers,
        },
        "spec": {"hard": amounts(hard)},
        "status": status.map(|status| json!({"hard": amounts(status), "used": zeros})),
    }))
    .unwrap()
}

fn quota_key() -> Key {
    Key {
        api_version: "v1".to_owned(),
        kind: "ResourceQuota".to_owned(),
        namespace: Some("vision".to_owned()),
        name: "gpuaas".to_owned(),
    }
}

fn spec(gpu: &str, memory: &str) -> BTreeMap<String, String> {
    [("requests.nvidia.com/gpu", gpu), ("requests.memory", memory)]
        .map(|(name, amount)| (name.to_owned(), amount.to_owned()))
        .into()
}

#[test]
fn a_quota_covers_when_its_status_has_every_limit_of_the_version_that_was_written() {
    let mut index = Index::default();
    let want = spec("8", "1024Mi");
    index.applied(&quota_key(), written("5"));
    assert!(index.covers(&quota_key(), &want).unwrap_err().contains("behind"));
    index.quota(Event::Apply(quota("5", "8", None, &[writer("gpuaas", 1)])));
    assert!(index.covers(&quota_key(), &want).unwrap_err().contains("has no limit yet"));
    index.quota(Event::Apply(quota("6", "8", Some("4"), &[writer("gpuaas", 1)])));
    assert_eq!(index.covers(&quota_key(), &want).unwrap_err(), "requests.nvidia.com/gpu is at 4, not 8");
    index.quota(Event::Apply(quota("7", "8", Some("8"), &[writer("gpuaas", 1)])));
    assert_eq!(index.covers(&quota_key(), &want), Ok(()));
    assert_eq!(index.level(&quota_key(), "requests.nvidia.com/gpu"), (8, 3));
    // Devices only; memory is counted by the same quota.
    let gpu = ResourceName::new("nvidia.com/gpu").unwrap();
    assert_eq!(index.used(&quota_key()), BTreeMap::from([(gpu, 3)]));
    // Written anew: what the watch saw is of before, even if it looks right.
    index.applied(&quota_key(), written("9"));
    assert!(index.covers(&quota_key(), &want).is_err());
}

#[test]
fn case_41_other_spellings_of_an_amount_are_no_difference_and_status_writes_no_drift() {
    let mut index = Index::default();
    let status = json!({"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "time": "2026-03-01T12:00:09Z"});
    index.quota(Event::Apply(quota("5", "8", Some("8"), &[writer("gpuaas", 1), status.clone()])));
    assert_eq!(index.standing(&quota_key(), "f1", Some(&spec("8", "1024Mi"))), Standing::Same);
    assert_eq!(index.standing(&quota_key(), "f1", Some(&spec("8", "2Gi"))), Standing::Different);
    let other = [writer("gpuaas", 1), writer("kubectl-edit", 9), status];
    assert!(index.quota(Event::Apply(quota("6", "8", Some("8"), &other))).drift.is_empty());
    let drift = index.quota(Event::Apply(quota("7", "64", Some("8"), &other))).drift;
    assert_eq!(drift, [Drift { object: quota_key(), by: Some("kubectl-edit".to_owned()) }]);
    assert_eq!(index.standing(&quota_key(), "f1", Some(&spec("8", "1Gi"))), Standing::Different);
}
