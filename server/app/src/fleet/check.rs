//! What may be said of clusters, pools and offerings.

use domain::{
    api::FieldError,
    fleet::{Kind, Mode, Offering, Pool},
    resource::{AMOUNT_MAX, ResourceName},
};

/// VF slots that a physical function can have at most (PCIe SR-IOV on ConnectX: 127).
const SLOTS_MAX: u16 = 127;
/// Lease that a pool may allow at most.
const DAYS_MAX: u32 = 3650;
/// Over-commit that a shared pool may have at most, in percent.
const OVERCOMMIT_MAX: u32 = 1000;

pub(super) fn check_slots(slots: u16) -> Vec<FieldError> {
    (slots > SLOTS_MAX)
        .then(|| {
            FieldError::new(
                "fabric_slots",
                format!("{slots} asked, a physical function has at most {SLOTS_MAX} VFs"),
            )
        })
        .into_iter()
        .collect()
}

pub(super) fn check_pool(pool: &Pool) -> Vec<FieldError> {
    let mut fields = vec![];
    if pool.model.trim().is_empty() || pool.model.chars().count() > 63 {
        fields.push(FieldError::new("model", "must be 1 to 63 characters, as in `NVIDIA-H100-80GB-HBM3`"));
    }
    if !is_label_key(&pool.label_key) {
        fields.push(FieldError::new("label_key", "must be a Kubernetes label key, as in `gpuaas.io/pool`"));
    }
    if pool.label_value.is_empty() || !is_label_value(&pool.label_value) {
        fields.push(FieldError::new(
            "label_value",
            "must be 1 to 63 letters, digits, `-`, `_` or `.`, beginning and ending with a letter or digit",
        ));
    }
    if !(1..=DAYS_MAX).contains(&pool.rules.max_days) {
        fields.push(FieldError::new("rules.max_days", format!("must be 1 to {DAYS_MAX}")));
    }
    if pool.rules.two_above.is_some_and(|above| above < pool.rules.auto_up_to) {
        fields.push(FieldError::new(
            "rules.two_above",
            format!("must not be below auto_up_to ({})", pool.rules.auto_up_to),
        ));
    }
    if !(1..=16).contains(&pool.vfs_per_gpu) {
        fields.push(FieldError::new("vfs_per_gpu", "must be 1 to 16"));
    }
    fields
}

pub(super) fn check_offering(offering: &Offering, pool: &Pool) -> Vec<FieldError> {
    let mut fields = vec![];
    let kind_fits = matches!(
        (&offering.kind, pool.mode),
        (Kind::Whole, Mode::Whole) | (Kind::Mig { .. }, Mode::Mig) | (Kind::Shared { .. }, Mode::Shared)
    );
    if !kind_fits {
        fields.push(FieldError::new(
            "kind",
            format!("does not go with pool {}, whose mode is {:?}", pool.name, pool.mode),
        ));
    }
    if let Kind::Shared { replicas } = offering.kind
        && replicas < 2
    {
        fields.push(FieldError::new(
            "replicas",
            format!("{replicas} given; a shared GPU has at least 2 replicas"),
        ));
    }
    if offering.partition && offering.kind != Kind::Whole {
        fields.push(FieldError::new(
            "partition",
            "only whole GPUs can have a fabric partition; slices and shares cannot use it",
        ));
    }
    if !(1..=100_000).contains(&offering.effective_milli) {
        fields.push(FieldError::new("effective_milli", "must be 1 to 100000 thousandths of a GPU"));
    }
    if offering.declared > AMOUNT_MAX {
        fields.push(FieldError::new(
            "declared",
            format!("{} given, {AMOUNT_MAX} is the most", offering.declared),
        ));
    }
    if offering.per_pod_max == Some(0) {
        fields.push(FieldError::new("per_pod_max", "must be at least 1; leave it out for no limit"));
    }
    match offering.overcommit_percent {
        100 => {}
        101..=OVERCOMMIT_MAX if pool.mode == Mode::Shared => {}
        p => fields.push(FieldError::new(
            "overcommit_percent",
            format!("{p} given; it is 100, and only a shared pool may have up to {OVERCOMMIT_MAX}"),
        )),
    }
    fields
}

fn is_label_value(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && edge(text.chars().next())
        && edge(text.chars().last())
}

fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        None => !text.is_empty() && is_label_value(text),
        Some((prefix, name)) => {
            !name.is_empty() && is_label_value(name) && ResourceName::new(format!("{prefix}/x")).is_ok()
        }
    }
}
