//! What is in the cluster, as the watches saw it. A plain data structure without a client: events go in, answers come
//! out.
//!
//! Of the objects that gpuaas writes only a few words are kept: the fingerprint of the plan that they were written
//! from, and who wrote them last. That is enough to know without a request whether an object is as planned: whoever
//! changes a field leaves an entry in `managedFields` that is not older than ours.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use domain::quantity::Quantity;
use domain::resource::ResourceName;
use k8s_openapi::api::core::v1::ResourceQuota;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::watcher::Event;
use plan::labels;
use plan::manifest::Key;

use crate::facts::{NodeState, PodState};

/// Field manager of Argo CD: what it owns is written through git only.
pub(crate) const ARGO: &str = "argocd-controller";

/// An object of ours that somebody else changed or deleted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Drift {
    /// The object.
    pub object: Key,
    /// Field manager of whoever changed it; none where it was deleted.
    pub by: Option<String>,
}

/// What is known of one object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    fingerprint: Option<String>,
    pub(crate) version: String,
    pub(crate) uid: String,
    /// Who wrote after us, or in the same second, beside the status.
    touched_by: Option<String>,
    /// Argo CD writes it.
    pub(crate) argo: bool,
    ours: bool,
    tenant: Option<String>,
    pub(crate) terminating: bool,
    /// Version that our last apply gave: what others wrote before it is settled.
    settled: Option<String>,
}

/// How an object stands to its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Not there, or nothing says that it is ours.
    Unknown,
    /// Ours, and as planned.
    Same,
    /// Ours, and different.
    Different,
    /// Argo CD writes it.
    Argo,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Quota {
    seen: Seen,
    spec: BTreeMap<String, String>,
    hard: BTreeMap<String, String>,
    used: BTreeMap<String, String>,
}

/// What changed by one event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) drift: Vec<Drift>,
}

/// The whole picture.
#[derive(Debug, Default)]
pub(crate) struct Index {
    namespaces: HashMap<String, Seen>,
    objects: HashMap<Key, Seen>,
    quotas: HashMap<Key, Quota>,
    pub(crate) nodes: HashMap<String, NodeState>,
    pub(crate) pods: HashMap<(String, String), PodState>,
    /// Names only.
    pub(crate) device_classes: HashMap<String, ()>,
    /// Names of the current list of each source, until it is complete.
    listing: HashMap<String, BTreeSet<Key>>,
    /// Objects that we delete ourselves.
    deleting: BTreeSet<Key>,
}

impl Seen {
    pub(crate) fn of(meta: &ObjectMeta) -> Self {
        let label = |key: &str| meta.labels.as_ref().and_then(|labels| labels.get(key)).cloned();
        let writers = meta
            .managed_fields
            .iter()
            .flatten()
            .filter(|entry| entry.subresource.as_deref().unwrap_or_default().is_empty());
        let mut ours = None;
        let mut last_other = None;
        let mut argo = false;
        for entry in writers {
            let manager = entry.manager.as_deref().unwrap_or_default();
            let time = entry.time.as_ref().map(|time| time.0);
            if manager == labels::MANAGER {
                ours = ours.max(time);
            } else {
                argo |= manager == ARGO;
                if last_other.as_ref().is_none_or(|(other, _)| *other <= time) {
                    last_other = Some((time, manager.to_owned()));
                }
            }
        }
        Self {
            fingerprint: meta
                .annotations
                .as_ref()
                .and_then(|annotations| annotations.get(labels::FINGERPRINT))
                .cloned(),
            version: meta.resource_version.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
            // Times are whole seconds, so an equal one may be later.
            touched_by: last_other.filter(|(time, _)| *time >= ours).map(|(_, manager)| manager),
            argo,
            ours: label(labels::MANAGED_BY).as_deref() == Some(labels::MANAGER),
            tenant: label(labels::TENANT),
            terminating: meta.deletion_timestamp.is_some(),
            settled: None,
        }
    }

    fn suspect(&self) -> bool {
        self.touched_by.is_some() && self.settled.as_ref() != Some(&self.version)
    }

    fn standing(&self, fingerprint: &str) -> Standing {
        if !self.ours {
            return Standing::Unknown;
        }
        if self.argo {
            return Standing::Argo;
        }
        let same = self.fingerprint.as_deref() == Some(fingerprint) && !self.suspect();
        if same { Standing::Same } else { Standing::Different }
    }
}

/// Compares versions as numbers, as the API server promises since 1.35 and did before.
fn older(version: &str, than: &str) -> bool {
    matches!((version.parse::<u64>(), than.parse::<u64>()), (Ok(version), Ok(than)) if version < than)
}

/// Takes what was known over into what was seen; false when it was seen earlier than our own last write.
fn succeed(old: Option<&Seen>, new: &mut Seen) -> bool {
    let settled = old.and_then(|old| old.settled.clone());
    if settled.as_ref().is_some_and(|settled| older(&new.version, settled)) {
        return false;
    }
    new.settled = settled;
    true
}

impl Index {
    /// An event of a watch on namespaces, whole list.
    pub(crate) fn namespace(&mut self, event: Event<ObjectMeta>) -> Change {
        let key = |meta: &ObjectMeta| namespace_key(meta.name.as_deref().unwrap_or_default());
        let list = self.track("namespaces", &event, key);
        let mut change = Change::default();
        match event {
            Event::Apply(meta) | Event::InitApply(meta) => {
                let name = meta.name.clone().unwrap_or_default();
                let mut seen = Seen::of(&meta);
                let old = self.namespaces.get(&name);
                if succeed(old, &mut seen) {
                    change.report(old, &seen, || namespace_key(&name));
                    self.namespaces.insert(name, seen);
                }
            }
            Event::Delete(meta) => {
                let name = meta.name.unwrap_or_default();
                if self.namespaces.remove(&name).is_some_and(|seen| seen.ours) {
                    change.drift.push(Drift { object: namespace_key(&name), by: None });
                }
            }
            Event::Init => {}
            Event::InitDone => self.namespaces.retain(|name, _| list.contains(&namespace_key(name))),
        }
        change
    }

    /// An event of a watch on one kind of ours, by our label.
    pub(crate) fn object(&mut self, api_version: &str, kind: &str, event: Event<ObjectMeta>) -> Change {
        let key = |meta: &ObjectMeta| key_of(api_version, kind, meta);
        let list = self.track(kind, &event, key);
        let mut change = Change::default();
        match event {
            Event::Apply(meta) | Event::InitApply(meta) => {
                let key = key(&meta);
                let mut seen = Seen::of(&meta);
                let old = self.objects.get(&key);
                if succeed(old, &mut seen) {
                    change.report(old, &seen, || key.clone());
                    self.objects.insert(key, seen);
                }
            }
            Event::Delete(meta) => {
                let key = key(&meta);
                self.objects.remove(&key);
                self.gone(key, &mut change);
            }
            Event::Init => {}
            Event::InitDone => {
                let missing: Vec<_> = self
                    .objects
                    .keys()
                    .filter(|key| key.kind == kind && key.api_version == api_version && !list.contains(key))
                    .cloned()
                    .collect();
                for key in missing {
                    self.objects.remove(&key);
                    self.gone(key, &mut change);
                }
            }
        }
        change
    }

    /// An event of a watch on quotas, by our label.
    pub(crate) fn quota(&mut self, event: Event<ResourceQuota>) -> Change {
        let key = |quota: &ResourceQuota| key_of("v1", "ResourceQuota", &quota.metadata);
        let list = self.track("quotas", &event, key);
        let mut change = Change::default();
        match event {
            Event::Apply(quota) | Event::InitApply(quota) => {
                let key = key(&quota);
                let mut new = Quota::of(quota);
                let old = self.quotas.get(&key);
                if succeed(old.map(|old| &old.seen), &mut new.seen) {
                    // The status is written all the time, so only another spec counts.
                    if let (Some(old), Some(by)) = (old, &new.seen.touched_by)
                        && !old.spec.is_empty()
                        && old.spec != new.spec
                    {
                        change.drift.push(Drift { object: key.clone(), by: Some(by.clone()) });
                    }
                    self.quotas.insert(key, new);
                }
            }
            Event::Delete(quota) => {
                let key = key(&quota);
                self.quotas.remove(&key);
                self.gone(key, &mut change);
            }
            Event::Init => {}
            Event::InitDone => {
                let missing: Vec<_> =
                    self.quotas.keys().filter(|key| !list.contains(*key)).cloned().collect();
                for key in missing {
                    self.quotas.remove(&key);
                    self.gone(key, &mut change);
                }
            }
        }
        change
    }

    fn gone(&mut self, key: Key, change: &mut Change) {
        if !self.deleting.remove(&key) {
            change.drift.push(Drift { object: key, by: None });
        }
    }

    /// Collects the names of a list; the complete list at its end.
    fn track<K>(&mut self, source: &str, event: &Event<K>, key: impl Fn(&K) -> Key) -> BTreeSet<Key> {
        match event {
            Event::Init => {
                self.listing.insert(source.to_owned(), BTreeSet::new());
            }
            Event::InitApply(object) => {
                self.listing.entry(source.to_owned()).or_default().insert(key(object));
            }
            Event::InitDone => return self.listing.remove(source).unwrap_or_default(),
            Event::Apply(_) | Event::Delete(_) => {}
        }
        BTreeSet::new()
    }

    /// How an object stands to the plan with this fingerprint; for a quota also what its spec must say.
    pub(crate) fn standing(
        &self,
        key: &Key,
        fingerprint: &str,
        spec: Option<&BTreeMap<String, String>>,
    ) -> Standing {
        if let Some(quota) = self.quotas.get(key) {
            let same = spec.is_none_or(|spec| same_amounts(spec, &quota.spec));
            // Who else wrote does not matter as long as every limit is as planned.
            let seen = Seen { touched_by: None, ..quota.seen.clone() };
            return match seen.standing(fingerprint) {
                Standing::Same if !same => {
                    if seen.argo {
                        Standing::Argo
                    } else {
                        Standing::Different
                    }
                }
                other => other,
            };
        }
        let seen =
            if key.kind == "Namespace" { self.namespaces.get(&key.name) } else { self.objects.get(key) };
        seen.map_or(Standing::Unknown, |seen| seen.standing(fingerprint))
    }

    /// What is known of a namespace.
    pub(crate) fn of_namespace(&self, name: &str) -> Option<&Seen> {
        self.namespaces.get(name)
    }

    /// Tenant that the namespace is labelled with.
    pub(crate) fn tenant(&self, namespace: &str) -> Option<&str> {
        self.namespaces.get(namespace).and_then(|seen| seen.tenant.as_deref())
    }

    /// Our objects in a namespace, without its policy and quota, which live as long as it does.
    pub(crate) fn removable(&self, namespace: &str) -> Vec<(Key, String)> {
        self.objects
            .iter()
            .filter(|(key, seen)| {
                seen.ours && key.namespace.as_deref() == Some(namespace) && key.kind != "TenantPolicy"
            })
            .map(|(key, seen)| (key.clone(), seen.uid.clone()))
            .collect()
    }

    /// Notes what we wrote, before the watch tells it.
    pub(crate) fn applied(&mut self, key: &Key, mut new: Seen) {
        let old = match key.kind.as_str() {
            "Namespace" => self.namespaces.entry(key.name.clone()).or_default(),
            "ResourceQuota" => &mut self.quotas.entry(key.clone()).or_default().seen,
            _ => self.objects.entry(key.clone()).or_default(),
        };
        let version = new.version.clone();
        // What the watch saw of a later version stays.
        if old.version.is_empty() || older(&old.version, &version) {
            if key.kind == "ResourceQuota" {
                // Of a quota the version is that of its limits, which only the watch tells.
                new.version.clone_from(&old.version);
            }
            *old = new;
        }
        old.settled = Some(version);
    }

    /// Notes that we are about to delete an object.
    pub(crate) fn will_delete(&mut self, key: &Key) {
        self.deleting.insert(key.clone());
    }

    /// Notes that an object that we deleted is gone.
    pub(crate) fn deleted(&mut self, key: &Key) {
        self.objects.remove(key);
    }

    /// Whether the status of the quota has each of these limits, and a count for each: only then the API server
    /// compares. The text says what is missing.
    pub(crate) fn covers(&self, key: &Key, spec: &BTreeMap<String, String>) -> Result<(), String> {
        let quota = self.quotas.get(key).ok_or_else(|| "it is not there".to_owned())?;
        if quota
            .seen
            .settled
            .as_ref()
            .is_some_and(|settled| quota.seen.version.is_empty() || older(&quota.seen.version, settled))
        {
            return Err("the watch is behind".to_owned());
        }
        // Limits of people's resources first: the text is for people.
        let (resources, others): (Vec<_>, Vec<_>) =
            spec.iter().partition(|(name, _)| name.starts_with("requests."));
        for (name, limit) in resources.into_iter().chain(others) {
            match quota.hard.get(name) {
                Some(hard) if !same_amount(hard, limit) => {
                    return Err(format!("{name} is at {hard}, not {limit}"));
                }
                None => return Err(format!("{name} has no limit yet")),
                Some(_) if !quota.used.contains_key(name) => {
                    return Err(format!("{name} is not counted yet"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Limit and use of one key of a quota in whole units, rounded up.
    pub(crate) fn level(&self, key: &Key, name: &str) -> (u32, u32) {
        let Some(quota) = self.quotas.get(key) else { return (0, 0) };
        let read = |map: &BTreeMap<String, String>| map.get(name).map_or(0, |text| whole(text));
        (read(&quota.hard), read(&quota.used))
    }

    /// Use of device resources by the status of one quota, in whole units, rounded up.
    pub(crate) fn used(&self, key: &Key) -> BTreeMap<ResourceName, u32> {
        let used = self.quotas.get(key).into_iter().flat_map(|quota| &quota.used);
        used.filter_map(|(name, amount)| {
            Some((ResourceName::new(name.strip_prefix("requests.")?).ok()?, whole(amount)))
        })
        .collect()
    }

    /// Limits and use of device resources of our quotas: namespace, resource, limit, used.
    pub(crate) fn levels(&self) -> impl Iterator<Item = (&str, ResourceName, u32, u32)> {
        self.quotas.iter().flat_map(|(key, quota)| {
            quota.hard.iter().filter_map(move |(name, hard)| {
                let resource = ResourceName::new(name.strip_prefix("requests.")?).ok()?;
                let used = quota.used.get(name).map_or(0, |text| whole(text));
                Some((key.namespace.as_deref()?, resource, whole(hard), used))
            })
        })
    }

    /// Namespaces with their tenant.
    pub(crate) fn tenants(&self) -> impl Iterator<Item = (&str, &str)> {
        self.namespaces.iter().filter_map(|(name, seen)| Some((name.as_str(), seen.tenant.as_deref()?)))
    }
}

impl Change {
    fn report(&mut self, old: Option<&Seen>, new: &Seen, key: impl FnOnce() -> Key) {
        // Without an earlier sight it is the first list; a full pass follows that anyway.
        if let (Some(_), Some(by), true, true) = (old, &new.touched_by, new.suspect(), new.ours) {
            self.drift.push(Drift { object: key(), by: Some(by.clone()) });
        }
    }
}

impl Quota {
    fn of(quota: ResourceQuota) -> Self {
        let plain = |map: Option<BTreeMap<String, Written>>| {
            map.unwrap_or_default().into_iter().map(|(name, amount)| (name, amount.0)).collect()
        };
        let status = quota.status.unwrap_or_default();
        Self {
            seen: Seen::of(&quota.metadata),
            spec: plain(quota.spec.and_then(|spec| spec.hard)),
            hard: plain(status.hard),
            used: plain(status.used),
        }
    }
}

fn key_of(api_version: &str, kind: &str, meta: &ObjectMeta) -> Key {
    Key {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: meta.namespace.clone(),
        name: meta.name.clone().unwrap_or_default(),
    }
}

fn namespace_key(name: &str) -> Key {
    Key { api_version: "v1".to_owned(), kind: "Namespace".to_owned(), namespace: None, name: name.to_owned() }
}

/// Are two written amounts the same? `1024Mi` is `1Gi`.
fn same_amount(one: &str, other: &str) -> bool {
    one == other
        || matches!((one.parse::<Quantity>(), other.parse::<Quantity>()), (Ok(one), Ok(other)) if one == other)
}

fn same_amounts(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> bool {
    one.len() == other.len()
        && one.iter().all(|(name, amount)| other.get(name).is_some_and(|found| same_amount(amount, found)))
}

/// The amount in whole units, rounded up; an amount that cannot be read is none.
pub(crate) fn whole(text: &str) -> u32 {
    let amount = text.parse::<Quantity>().ok().and_then(Quantity::ceil).unwrap_or_default();
    u32::try_from(amount.max(0)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
