//! What holds for every namespace.

use std::collections::BTreeMap;

use plan::{Desired, Layer, Tenancy, TenancyLine, desired};
use proptest::prelude::*;
use serde_json::Value;

use crate::fixture::{KNOWN, all, h100, hard, one, partition, resource, share, slice, tenancy, with};

fn line(make: fn() -> TenancyLine) -> impl Strategy<Value = Option<TenancyLine>> {
    let amounts = (0u32..40, 0u32..40, 0u32..12);
    proptest::option::of(
        amounts.prop_map(move |(granted, hard, block)| TenancyLine { hard, ..with(make(), granted, block) }),
    )
}

fn tenancies() -> impl Strategy<Value = Tenancy> {
    let lines = (line(h100), line(slice), line(share));
    let known = proptest::sample::subsequence(KNOWN.to_vec(), 0..=KNOWN.len());
    let fabric = proptest::option::of((1u16..4, 0u32..20));
    (lines, known, fabric, any::<bool>()).prop_map(|((a, b, c), known, fabric, open)| Tenancy {
        known_resources: known.into_iter().map(resource).collect(),
        open,
        ..tenancy(
            [a, b, c].into_iter().flatten().collect(),
            fabric.map(|(slot, vfs)| partition("vision", slot, vfs)),
        )
    })
}

/// Quota of devices: resource and limit.
fn devices(desired: &Desired) -> BTreeMap<String, u32> {
    hard(desired)
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix("requests.")?.to_owned(), value)))
        .filter(|(name, _)| name.contains('/') && !name.starts_with("deviceclass."))
        .map(|(name, value)| (name, value.as_str().unwrap().parse().unwrap()))
        .collect()
}

fn allowed(desired: &Desired) -> BTreeMap<String, Value> {
    let list = one(desired, "TenantPolicy").body["spec"]["resources"].as_array().unwrap().clone();
    let by_name: BTreeMap<_, _> =
        list.iter().map(|entry| (entry["name"].as_str().unwrap().to_owned(), entry.clone())).collect();
    assert_eq!(by_name.len(), list.len(), "each name once");
    by_name
}

/// What the tenant policy would say of a pod, for the rules that concern devices.
fn admitted(desired: &Desired, pod: &Value) {
    let policy = &one(desired, "TenantPolicy").body["spec"];
    let limits = pod["spec"]["containers"][0]["resources"]["limits"].as_object().cloned().unwrap_or_default();
    for (name, amount) in limits.iter().filter(|(name, _)| name.contains('/')) {
        let allowed = allowed(desired);
        let entry = allowed.get(name).unwrap_or_else(|| panic!("{name} is not allowed"));
        if let Some(pool) = entry["pool"].as_str() {
            assert_eq!(pod["spec"]["nodeSelector"][policy["poolLabel"].as_str().unwrap()], pool);
        }
        let probe = pod["metadata"]["labels"]["gpuaas.io/probe"] == "true";
        if let (Some(most), false) = (entry["perPodMax"].as_u64(), probe) {
            assert!(amount.as_str().unwrap().parse::<u64>().unwrap() <= most);
        }
    }
    for toleration in pod["spec"]["tolerations"].as_array().into_iter().flatten() {
        let (key, value) = (&toleration["key"], &toleration["value"]);
        let listed = policy["tolerations"].as_array().unwrap();
        assert!(
            limits.contains_key(key.as_str().unwrap())
                || listed.iter().any(|entry| entry["key"] == *key && entry["value"] == *value),
            "{toleration}"
        );
    }
}

proptest! {
    #[test]
    fn every_known_resource_has_one_limit_and_it_is_the_sum_of_the_lines(t in tenancies()) {
        let desired = desired(&t);
        let devices = devices(&desired);
        for name in &t.known_resources {
            prop_assert!(devices.contains_key(name.as_str()), "{name}");
        }
        for (name, limit) in &devices {
            let lines: u32 = t.lines.iter()
                .filter(|line| t.open && line.offering.resource.as_str() == name)
                .map(|line| line.hard.min(line.granted))
                .sum();
            let vfs = t.partition.iter()
                .filter(|used| t.open && used.partition.resource().as_str() == name)
                .map(|used| used.vfs)
                .sum::<u32>();
            prop_assert_eq!(*limit, lines + vfs, "{}", name);
        }
    }

    #[test]
    fn the_policy_allows_what_is_granted_and_what_it_does_not_allow_is_at_zero(t in tenancies()) {
        let desired = desired(&t);
        let allowed = allowed(&desired);
        for line in t.lines.iter().filter(|line| t.open && line.granted > 0) {
            prop_assert!(allowed.contains_key(line.offering.resource.as_str()));
        }
        for (name, limit) in devices(&desired) {
            prop_assert!(limit == 0 || allowed.contains_key(&name), "{name} has {limit}");
        }
        if !t.open {
            prop_assert!(allowed.is_empty());
            prop_assert!(desired.access.is_empty());
        }
    }

    #[test]
    fn our_own_policy_admits_our_templates_and_all_probes_but_its_own(t in tenancies()) {
        let desired = desired(&t);
        for manifest in all(&desired, "PodTemplate") {
            admitted(&desired, &manifest.body["template"]);
        }
        let quota: Vec<_> = desired.probes.iter().filter(|probe| probe.layer == Layer::Quota).collect();
        prop_assert!(!quota.is_empty());
        let hard = hard(&desired);
        for probe in quota {
            admitted(&desired, &probe.pod(9, 3).body);
            prop_assert!(hard.contains_key(probe.key.as_deref().unwrap()));
        }
        let policy = desired.probes.iter().filter(|probe| probe.layer == Layer::Policy).count();
        prop_assert_eq!(policy, 1);
    }

    #[test]
    fn a_pod_of_a_template_fits_what_is_granted(t in tenancies()) {
        // All that is granted may be used.
        let lines = t.lines.into_iter().map(|line| TenancyLine { hard: line.granted, ..line }).collect();
        let t = Tenancy { lines, ..t };
        let desired = desired(&t);
        let hard = hard(&desired);
        let amount = |value: &Value| value.as_str().unwrap().parse::<domain::quantity::Quantity>().unwrap();
        for manifest in all(&desired, "PodTemplate") {
            let limits = &manifest.body["template"]["spec"]["containers"][0]["resources"]["limits"];
            for (name, value) in limits.as_object().unwrap() {
                let limit = amount(&hard[&format!("requests.{name}")]);
                // A partition whose raise still waits has no VFs yet.
                let waits = name.contains("sriov") && limit.is_zero();
                prop_assert!(waits || amount(value) <= limit, "{name}: {value}");
            }
        }
    }
}
