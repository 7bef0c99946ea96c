//! Nodes as files tell them: labels and resources as GPU Feature Discovery and the device plugins report them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Doing, Error, Result};

/// The files that come with the kit, by name.
const BUILT_IN: [(&str, &str); 5] = [
    ("h100", include_str!("../nodes/h100.yaml")),
    ("a100-mig", include_str!("../nodes/a100-mig.yaml")),
    ("l40s-shared", include_str!("../nodes/l40s-shared.yaml")),
    ("b300-roce", include_str!("../nodes/b300-roce.yaml")),
    ("cpu", include_str!("../nodes/cpu.yaml")),
];

/// Some nodes that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeGroup {
    /// First part of the nodes' names: `h100` makes `h100-01`, `h100-02` …
    pub name: String,
    /// How many.
    pub count: u32,
    /// Labels of each node, beside `kubernetes.io/hostname`.
    pub labels: BTreeMap<String, String>,
    /// Taints of each node.
    #[serde(default)]
    pub taints: Vec<Taint>,
    /// What each node can give to pods, by resource name. Capacity is the same.
    pub allocatable: BTreeMap<String, String>,
}

/// A taint that stays on the node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taint {
    /// By convention the name of the resource: then the toleration comes with asking for it.
    pub key: String,
    /// Often empty.
    #[serde(default)]
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

impl NodeGroup {
    /// One of the files that come with the kit: `h100`, `a100-mig`, `l40s-shared`, `b300-roce`, `cpu`.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn built_in(name: &str) -> Result<Self> {
        let known = || BUILT_IN.map(|(name, _)| name).join(", ");
        let (_, text) = BUILT_IN
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| Error::Setup(format!("no nodes named {name}; there are {}", known())))?;
        Ok(serde_yaml_ng::from_str(text)?)
    }

    /// A small fleet of every kind.
    ///
    /// # Errors
    /// When a file that comes with the kit is wrong.
    pub fn demo() -> Result<Vec<Self>> {
        BUILT_IN.iter().map(|(name, _)| Self::built_in(name)).collect()
    }

    /// `demo`, a built-in name, or the path of a file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn named(name: &str) -> Result<Vec<Self>> {
        if name == "demo" {
            return Self::demo();
        }
        if BUILT_IN.iter().any(|(known, _)| *known == name) {
            return Ok(vec![Self::built_in(name)?]);
        }
        let path = Path::new(name);
        Ok(vec![serde_yaml_ng::from_str(&fs::read_to_string(path).doing("read", path)?)?])
    }

    /// The same nodes, `count` of them.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self { count, ..self }
    }

    /// The nodes' names.
    pub fn names(&self) -> impl Iterator<Item = String> {
        (1..=self.count).map(|number| format!("{}-{number:02}", self.name))
    }

    /// What a server-side apply of the node itself sends.
    pub(super) fn node(&self, name: &str) -> Value {
        let mut labels = self.labels.clone();
        labels.insert("kubernetes.io/hostname".to_owned(), name.to_owned());
        let taint = |taint: &Taint| match taint.value.as_str() {
            "" => json!({ "key": taint.key, "effect": taint.effect }),
            value => json!({ "key": taint.key, "value": value, "effect": taint.effect }),
        };
        let taints: Vec<Value> = self.taints.iter().map(taint).collect();
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": { "name": name, "labels": labels },
            "spec": { "taints": taints },
        })
    }

    /// What a server-side apply of the node's status sends. `number` tells nodes' addresses apart, `now` is RFC 3339.
    pub(super) fn status(&self, name: &str, number: usize, ready: bool, now: &str) -> Value {
        let condition = |kind: &str, status: bool, reason: &str| {
            json!({
                "type": kind,
                "status": if status { "True" } else { "False" },
                "reason": reason,
                "message": "told by the test kit",
                "lastHeartbeatTime": now,
                "lastTransitionTime": now,
            })
        };
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": { "name": name },
            "status": {
                "capacity": self.allocatable,
                "allocatable": self.allocatable,
                "addresses": [
                    { "type": "InternalIP", "address": address(10, number) },
                    { "type": "Hostname", "address": name },
                ],
                "conditions": [
                    condition("MemoryPressure", false, "KubeletHasSufficientMemory"),
                    condition("DiskPressure", false, "KubeletHasNoDiskPressure"),
                    condition("PIDPressure", false, "KubeletHasSufficientPID"),
                    condition("Ready", ready, if ready { "KubeletReady" } else { "KubeletNotReady" }),
                ],
            },
        })
    }
}

/// An address that nobody answers at: documentation would want 192.0.2.0, but that has room for 254 only.
pub(super) fn address(first: u8, number: usize) -> String {
    let part = |shift: u32| (number >> shift) & 0xff;
    format!("{first}.{}.{}.{}", part(16), part(8), part(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_can_be_read_and_its_counts_agree_with_its_labels() {
        for group in NodeGroup::demo().unwrap() {
            let Some(cards) = group.labels.get("nvidia.com/gpu.count") else { continue };
            let cards: u32 = cards.parse().unwrap();
            let replicas: u32 = group.labels["nvidia.com/gpu.replicas"].parse().unwrap();
            let amount = |name: &str| group.allocatable.get(name).map_or(0, |n| n.parse::<u32>().unwrap());
            let mig = group.allocatable.keys().any(|name| name.starts_with("nvidia.com/mig-"));
            let whole = amount("nvidia.com/gpu") + amount("nvidia.com/gpu.shared");
            assert!(mig || whole == cards * replicas, "{}", group.name);
            for (name, count) in
                group.allocatable.iter().filter(|(name, _)| name.starts_with("nvidia.com/mig-"))
            {
                assert_eq!(group.labels[&format!("{name}.count")], *count, "{name}");
            }
            for taint in &group.taints {
                assert!(group.allocatable.contains_key(&taint.key), "{}: taint {}", group.name, taint.key);
            }
        }
    }

    #[test]
    fn names_are_numbered_and_an_unknown_file_is_told() {
        let group = NodeGroup::built_in("cpu").unwrap().times(2);
        assert_eq!(group.names().collect::<Vec<_>>(), ["cpu-01", "cpu-02"]);
        assert!(NodeGroup::built_in("h200").unwrap_err().to_string().contains("l40s-shared"));
        assert!(
            serde_yaml_ng::from_str::<NodeGroup>("{name: a, count: 1, labels: {}, allocatable: {}, x: 1}")
                .is_err()
        );
    }

    #[test]
    fn addresses_do_not_repeat() {
        assert_eq!(address(10, 1), "10.0.0.1");
        assert_eq!(address(10, 256 * 3 + 7), "10.0.3.7");
    }
}
