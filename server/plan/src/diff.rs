//! What differs between an object as planned and as it is in the cluster, in the fields that are ours.

use serde_json::{Map, Value};
use similar::TextDiff;

use crate::{manifest::Manifest, yaml};

/// An object beside its state in the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectDiff {
    /// The live object, reduced to the fields that are planned; none if it is not there.
    pub live_yaml: Option<String>,
    /// Unified diff from live to planned; empty if they agree.
    pub unified: String,
}

/// Compares a planned object with the live one. Fields that are not planned belong to others and are left out; so are
/// entries that the API server fills in. Entries that somebody added to a list of ours are shown.
#[must_use]
pub fn diff(desired: &Manifest, live: Option<&Value>) -> ObjectDiff {
    let wanted = desired.to_yaml();
    let live_yaml = live.map(|live| yaml::document(&reduced(&desired.body, live)));
    let before = live_yaml.as_deref().unwrap_or_default();
    let unified = if before == wanted {
        String::new()
    } else {
        TextDiff::from_lines(before, &wanted).unified_diff().header("live", "planned").to_string()
    };
    ObjectDiff { live_yaml, unified }
}

fn reduced(wanted: &Value, live: &Value) -> Value {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => Value::Object(
            wanted
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), reduced(value, live.get(key)?))))
                .collect::<Map<_, _>>(),
        ),
        (Value::Array(wanted), Value::Array(live)) => Value::Array(reduced_list(wanted, live)),
        (_, live) => live.clone(),
    }
}

/// Entries with a name are compared by it, in the planned order, all others by their place.
fn reduced_list(wanted: &[Value], live: &[Value]) -> Vec<Value> {
    let name = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
    let mut rest: Vec<&Value> = live.iter().collect();
    let mut list = Vec::new();
    for (place, entry) in wanted.iter().enumerate() {
        let found = match name(entry) {
            Some(wanted) => rest.iter().position(|live| name(live).as_ref() == Some(&wanted)),
            None => live.get(place).and_then(|live| rest.iter().position(|other| std::ptr::eq(*other, live))),
        };
        if let Some(found) = found {
            list.push(reduced(entry, rest.remove(found)));
        }
    }
    list.extend(rest.into_iter().cloned());
    list
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn quota(hard: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpuaas", "namespace": "vision"},
            "spec": {"hard": hard}})
    }

    fn planned() -> Manifest {
        Manifest::from_json(quota(&json!({"requests.nvidia.com/gpu": "8"}))).unwrap()
    }

    #[test]
    fn what_others_and_the_server_wrote_is_no_difference() {
        let mut live = quota(&json!({"requests.nvidia.com/gpu": "8", "count/pods": "10"}));
        live["metadata"]["uid"] = json!("1");
        live["status"] = json!({"used": {"requests.nvidia.com/gpu": "3"}});
        let diff = diff(&planned(), Some(&live));
        assert_eq!(diff.unified, "");
        assert_eq!(diff.live_yaml, Some(planned().to_yaml()));
    }

    #[test]
    fn another_value_is_a_difference() {
        let diff = diff(&planned(), Some(&quota(&json!({"requests.nvidia.com/gpu": "64"}))));
        assert!(
            diff.unified
                .contains("\n-    requests.nvidia.com/gpu: \"64\"\n+    requests.nvidia.com/gpu: \"8\"\n")
        );
    }

    #[test]
    fn an_object_that_is_not_there_is_all_new() {
        let diff = diff(&planned(), None);
        assert_eq!(diff.live_yaml, None);
        assert!(diff.unified.lines().skip(3).all(|line| line.starts_with('+')), "{}", diff.unified);
    }

    #[test]
    fn a_list_is_compared_by_name_and_what_was_added_is_seen() {
        let policy = |resources: Value| {
            json!({"apiVersion": "gpuaas.io/v1alpha1", "kind": "TenantPolicy",
                "metadata": {"name": "tenant", "namespace": "vision"}, "spec": {"resources": resources}})
        };
        let wanted = Manifest::from_json(policy(json!([{"name": "a/a"}, {"name": "b/b"}]))).unwrap();
        let same = policy(json!([{"name": "b/b", "filled": "in"}, {"name": "a/a"}]));
        assert_eq!(diff(&wanted, Some(&same)).unified, "");
        let more = policy(json!([{"name": "c/c"}, {"name": "b/b"}, {"name": "a/a"}]));
        let unified = diff(&wanted, Some(&more)).unified;
        let removed: Vec<_> = unified.lines().skip(2).filter(|line| line.starts_with('-')).collect();
        assert_eq!(removed, ["-  - name: c/c"]);
    }
}
