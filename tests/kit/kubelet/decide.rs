//! What a kubelet does next with a pod. Pure.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

/// A running pod ends this long after its start: `2s`, `500ms`, `1m`. Without it a pod runs until it is deleted.
pub const RUN_FOR: &str = "kit.gpuaas.io/run-for";
/// The exit code of a pod that ends; 0 without it. Any other makes the pod `Failed`.
pub const EXIT_CODE: &str = "kit.gpuaas.io/exit-code";

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing to do now.
    Wait,
    /// Start all containers.
    Run,
    /// It runs; end it with this exit code after this time.
    EndAfter(Duration, i32),
    /// Its containers are gone: delete the object.
    Remove,
}

/// What the node is told to do wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fault {
    /// The node is down: it starts, ends and deletes nothing.
    pub down: bool,
    /// Containers do not stop: pods stay in `Terminating`.
    pub deletion_hangs: bool,
}

/// The next step with a pod that is bound to a node in this state.
#[must_use]
pub fn next(pod: &Pod, fault: Fault, now: Timestamp) -> Step {
    let status = pod.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref()).unwrap_or("Pending");
    if fault.down {
        return Step::Wait;
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return if fault.deletion_hangs { Step::Wait } else { Step::Remove };
    }
    match phase {
        "Pending" => Step::Run,
        "Running" => {
            let Some(length) = annotation(pod, RUN_FOR).and_then(duration) else { return Step::Wait };
            let started = status.and_then(|status| status.start_time.as_ref()).map_or(now, |time| time.0);
            let passed = Duration::try_from(now.duration_since(started)).unwrap_or_default();
            let code = annotation(pod, EXIT_CODE).and_then(|code| code.parse().ok()).unwrap_or(0);
            Step::EndAfter(length.saturating_sub(passed), code)
        }
        _ => Step::Wait,
    }
}

/// The status of a pod whose containers all run.
#[must_use]
pub fn running(pod: &Pod, address: &str, host: &str, now: &str) -> Value {
    let states = containers(pod, true, &json!({ "running": { "startedAt": now } }));
    json!({ "status": {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{ "ip": address }],
        "hostIP": host,
        "startTime": now,
        "conditions": conditions(true, now),
        "containerStatuses": states,
    }})
}

/// The status of a pod whose containers have all ended with `code`.
#[must_use]
pub fn ended(pod: &Pod, code: i32, now: &str) -> Value {
    let reason = if code == 0 { "Completed" } else { "Error" };
    let state = json!({ "terminated": { "exitCode": code, "reason": reason, "finishedAt": now } });
    json!({ "status": {
        "phase": if code == 0 { "Succeeded" } else { "Failed" },
        "conditions": conditions(false, now),
        "containerStatuses": containers(pod, false, &state),
    }})
}

fn containers(pod: &Pod, ready: bool, state: &Value) -> Vec<Value> {
    let all = pod.spec.iter().flat_map(|spec| &spec.containers);
    let one = |name: &str, image: &str| {
        json!({
            "name": name, "image": image, "imageID": "", "containerID": format!("kit://{name}"),
            "ready": ready, "started": ready, "restartCount": 0, "state": state,
        })
    };
    all.map(|container| one(&container.name, container.image.as_deref().unwrap_or_default())).collect()
}

fn conditions(ready: bool, now: &str) -> Vec<Value> {
    let one = |kind: &str, status: bool| {
        let status = if status { "True" } else { "False" };
        json!({ "type": kind, "status": status, "lastTransitionTime": now })
    };
    vec![
        one("PodReadyToStartContainers", ready),
        one("Initialized", true),
        one("ContainersReady", ready),
        one("Ready", ready),
    ]
}

fn annotation<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    pod.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

fn duration(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let number: u64 = digits.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn pod(extra: &Value) -> Pod {
        let mut base = json!({
            "metadata": { "name": "p", "annotations": { RUN_FOR: "10s" } },
            "spec": { "containers": [{ "name": "main", "image": "train" }] },
        });
        for (key, value) in extra.as_object().unwrap() {
            for (inner, value) in value.as_object().unwrap() {
                base[key][inner] = value.clone();
            }
        }
        serde_json::from_value(base).unwrap()
    }

    fn healthy(pod: &Pod, second: i64) -> Step {
        next(pod, Fault::default(), at(second))
    }

    #[test]
    fn a_new_pod_runs_then_ends_when_its_time_is_over() {
        let new = pod(&json!({}));
        assert_eq!(healthy(&new, 0), Step::Run);
        let running = pod(&json!({ "status": { "phase": "Running", "startTime": at(0).to_string() } }));
        assert_eq!(healthy(&running, 3), Step::EndAfter(Duration::from_secs(7), 0));
        assert_eq!(healthy(&running, 60), Step::EndAfter(Duration::ZERO, 0));
        let done = pod(&json!({ "status": { "phase": "Succeeded" } }));
        assert_eq!(healthy(&done, 60), Step::Wait);
    }

    #[test]
    fn a_pod_without_the_annotation_runs_for_ever() {
        let annotations = json!({ "metadata": { "annotations": {} }, "status": { "phase": "Running" } });
        assert_eq!(healthy(&pod(&annotations), 1_000_000), Step::Wait);
    }

    #[test]
    fn an_exit_code_fails_the_pod() {
        let failing = json!({
            "metadata": { "annotations": { RUN_FOR: "0s", EXIT_CODE: "3" } },
            "status": { "phase": "Running" },
        });
        assert_eq!(healthy(&pod(&failing), 0), Step::EndAfter(Duration::ZERO, 3));
        assert_eq!(ended(&pod(&failing), 3, "t")["status"]["phase"], "Failed");
        assert_eq!(ended(&pod(&failing), 0, "t")["status"]["phase"], "Succeeded");
    }

    #[test]
    fn deletion_removes_unless_it_hangs_or_the_node_is_down() {
        let dying = pod(&json!({ "metadata": { "deletionTimestamp": at(0).to_string() } }));
        assert_eq!(healthy(&dying, 1), Step::Remove);
        for fault in
            [Fault { down: true, ..Fault::default() }, Fault { deletion_hangs: true, ..Fault::default() }]
        {
            assert_eq!(next(&dying, fault, at(1)), Step::Wait);
        }
        assert_eq!(next(&pod(&json!({})), Fault { down: true, ..Fault::default() }, at(0)), Step::Wait);
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Some(Duration::from_secs(120)));
        for wrong in ["", "2", "s", "2h", "-1s", "1.5s"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }
}
