//! Makes one namespace as planned, and proves it.
//!
//! # The order, and why
//!
//! A pod comes in only if both the tenant policy and the quota let it in. The two are written one after the other, and
//! at every moment between them nobody may get more than the old or the new grant gives:
//!
//! 1. **Namespace**, with its labels in the same request. A tenant namespace without `TenantPolicy` refuses every pod,
//!    so a new one is closed from its first moment.
//! 2. **`ResourceQuota`**, and then the wait until its *status* has the limits: the API server compares with the
//!    status, and a quota without one limits nothing. The quota goes before the policy in all cases:
//!    - *birth*: the policy is what opens the namespace. Were it there first, pods would be admitted without a limit
//!      until the controller filled the status;
//!    - *a resource is added*: the policy's new list would meet a quota that does not know the resource, and what a
//!      quota does not list is not limited. The other way round the old list refuses it until the policy comes;
//!    - *a resource is taken away*: its limit is zero at once; the old list, which still names it, gives nothing;
//!    - *one is lowered and another raised*: a quota is one object, so both happen at one moment, and the lowering is
//!      confirmed before anything else is widened.
//!
//!    Then a dry run shows that *admission* acts on these very limits: it has a cache of its own ([`plan::Gate`]).
//! 3. **`TenantPolicy`**. By now each limit that the new list opens is in force.
//! 4. When access ends: the **role bindings** go now, with the quota confirmed at zero.
//! 5. The rest, in any order. Pods do not come in by it.
//! 6. **Probes** by an identity that can only ask. Both walls must refuse with their own words.
//! 7. **Role bindings**, and only now what the plan no longer has is removed.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::PoisonError;
use std::time::Duration;

use domain::resource::ResourceName;
use futures::future::join_all;
use plan::manifest::{Key, Manifest};
use plan::{Desired, Gate, Layer, Probe, labels};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::error::ClusterError;
use crate::index::{ARGO, Standing};
use crate::link::Applied;
use crate::member::Member;

/// A namespace that is as planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enforced {
    /// The refusals that prove it.
    pub answers: Vec<Answer>,
    /// Requests that wrote something; probes are not counted.
    pub sent: u32,
    /// Devices in use by the status of the quota at the end of this pass, by resource, in whole units rounded up; also
    /// where nothing was sent. Whoever lowers what is booked for the namespace to its new limits takes these as its
    /// use first: figures that come by [`Member::changed`] may be a moment older than the limits that were just
    /// confirmed, and devices that pods still hold would be given away again.
    pub used: BTreeMap<ResourceName, u32>,
}

/// What the cluster said to one probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// `quota` or `policy`.
    pub layer: String,
    /// What was asked, as `5 × nvidia.com/gpu (4 granted)`.
    pub asked: String,
    /// Was it refused by the layer that it was meant for?
    pub refused: bool,
    /// The API server's text.
    pub text: String,
}

/// Why a namespace is not as planned.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EnforceError {
    /// Somebody has to do something first.
    #[error("{reason}")]
    Blocked {
        /// What, in words.
        reason: String,
    },
    /// The cluster did not do it.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

fn blocked(reason: impl Into<String>) -> EnforceError {
    EnforceError::Blocked { reason: reason.into() }
}

/// The parts of a plan.
struct Parts<'a> {
    name: &'a str,
    tenant: &'a str,
    namespace: &'a Manifest,
    policy: &'a Manifest,
    quota: &'a Manifest,
    gate: &'a Gate,
    hard: BTreeMap<String, String>,
}

impl<'a> Parts<'a> {
    fn of(desired: &'a Desired) -> Result<Self, EnforceError> {
        let find = |kind: &str| {
            let found = desired.guard.iter().find(|manifest| manifest.kind == kind);
            found.ok_or_else(|| {
                blocked(format!("the plan has no {kind}; a namespace is not written without it"))
            })
        };
        let (namespace, policy, quota) = (find("Namespace")?, find("TenantPolicy")?, find("ResourceQuota")?);
        let tenant = namespace
            .body
            .pointer("/metadata/labels")
            .and_then(|all| all.get(labels::TENANT)?.as_str())
            .ok_or_else(|| blocked(format!("the planned namespace has no label {}", labels::TENANT)))?;
        let hard = quota.body.pointer("/spec/hard").and_then(Value::as_object).into_iter().flatten();
        Ok(Self {
            name: &namespace.name,
            tenant,
            namespace,
            policy,
            quota,
            gate: &desired.gate,
            hard: hard
                .map(|(name, amount)| (name.clone(), amount.as_str().unwrap_or_default().to_owned()))
                .collect(),
        })
    }
}

impl Member {
    /// Makes one namespace as planned and proves it. What is as planned already is not sent; with nothing to send and
    /// a proof of the same plan there is no request at all.
    ///
    /// # Errors
    /// [`EnforceError::Blocked`] when somebody has to act: the name belongs to others, the namespace is being
    /// deleted, Argo CD writes it, or the cluster does not refuse a probe. In every case access is not given.
    pub async fn enforce(&self, desired: &Desired) -> Result<Enforced, EnforceError> {
        let parts = Parts::of(desired)?;
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            turns.entry(parts.name.to_owned()).or_default().clone()
        };
        let _turn = turn.lock().await;
        self.admissible(&parts).await?;

        let mut sent = self.guard(&parts).await?;
        if desired.access.is_empty() {
            sent += self.remove(desired, |key| key.kind == "RoleBinding").await?;
        }
        sent += self.send_all(&desired.rest).await?;
        let plan = hash(desired);
        let known = {
            let proved = self.proved.lock().unwrap_or_else(PoisonError::into_inner);
            proved
                .get(parts.name)
                .filter(|(of, _)| *of == plan && sent == 0)
                .map(|(_, answers)| answers.clone())
        };
        let answers = match known {
            Some(answers) => answers,
            None => self.prove(desired).await?,
        };
        sent += self.send_all(&desired.access).await?;
        sent += self.remove(desired, |_| true).await?;
        let mut proved = self.proved.lock().unwrap_or_else(PoisonError::into_inner);
        proved.insert(parts.name.to_owned(), (plan, answers.clone()));
        let used = self.shared.read(|index| index.used(&parts.quota.key()));
        Ok(Enforced { answers, sent, used })
    }

    /// Asks all probes, whatever was proved before: the watchman's round.
    ///
    /// # Errors
    /// [`EnforceError::Blocked`] when one is not refused.
    pub async fn prove(&self, desired: &Desired) -> Result<Vec<Answer>, EnforceError> {
        let parts = Parts::of(desired)?;
        let quota = parts.quota.key();
        let end = Instant::now() + self.options.probe;
        let answers = join_all(desired.probes.iter().map(|probe| self.ask(probe, &quota, end))).await;
        let answers: Vec<_> = answers.into_iter().collect::<Result<_, ClusterError>>()?;
        match answers.iter().find(|answer| !answer.refused) {
            None => Ok(answers),
            Some(answer) => {
                self.proved.lock().unwrap_or_else(PoisonError::into_inner).remove(parts.name);
                Err(blocked(format!(
                    "the cluster does not enforce the {} in namespace {}: asked for {}, it should have refused, and said: {}",
                    answer.layer, parts.name, answer.asked, answer.text
                )))
            }
        }
    }

    /// One probe, until it is refused as it should be or the time is over. The API server reads quotas and policies
    /// through caches, so the first answers after a change may be of before.
    async fn ask(&self, probe: &Probe, quota: &Key, end: Instant) -> Result<Answer, ClusterError> {
        let layer = match probe.layer {
            Layer::Quota => "quota",
            Layer::Policy => "policy",
        };
        let mut pause = Duration::from_millis(5);
        for attempt in 1.. {
            let (hard, used) = match &probe.key {
                Some(key) => self.shared.read(|index| index.level(quota, key)),
                None => (0, 0),
            };
            // Pods end while we ask; then more than is free is less than the limit still allows. The limit and one
            // is too much in every case.
            let used = if attempt > 3 { 0 } else { used };
            let text = self.probe.would_refuse(&probe.pod(hard, used)).await?;
            let refused = text.as_ref().is_some_and(|text| text.contains(&probe.expect));
            if refused || Instant::now() + pause >= end {
                let asked = match probe.layer {
                    Layer::Quota => {
                        let amount = hard.saturating_sub(used).saturating_add(1);
                        format!("{amount} × {} ({hard} granted)", probe.asked)
                    }
                    Layer::Policy => format!("1 × {} (not granted)", probe.asked),
                };
                let text = text.unwrap_or_else(|| "admitted".to_owned());
                return Ok(Answer { layer: layer.to_owned(), asked, refused, text });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(Duration::from_millis(100));
        }
        Err(ClusterError::Deadline { what: "a probe".to_owned(), limit: self.options.probe })
    }

    /// May we write into this namespace at all?
    async fn admissible(&self, parts: &Parts<'_>) -> Result<(), EnforceError> {
        let name = parts.name;
        let (there, terminating, tenant) = self.shared.read(|index| {
            let seen = index.of_namespace(name);
            let terminating = seen.is_some_and(|seen| seen.terminating);
            (seen.is_some(), terminating, index.tenant(name).map(str::to_owned))
        });
        if !there {
            return Ok(());
        }
        if terminating {
            let why = self.emitter.get(&parts.namespace.key()).await?.map(|live| conditions(&live));
            return Err(blocked(format!(
                "namespace {name} is in state Terminating, so its name is in use until it is gone{}",
                why.unwrap_or_default()
            )));
        }
        match tenant {
            Some(tenant) if tenant == parts.tenant => Ok(()),
            Some(tenant) => Err(blocked(format!(
                "namespace {name} belongs to tenant `{tenant}`, not `{}`; choose another name for the team's namespace",
                parts.tenant
            ))),
            None => Err(foreign(name, parts.tenant)),
        }
    }

    /// Namespace, quota with its status, policy. See the order above.
    async fn guard(&self, parts: &Parts<'_>) -> Result<u32, EnforceError> {
        let namespace = self.send(parts.namespace, None).await?;
        let quota = self.send(parts.quota, Some(&parts.hard)).await?;
        let dropped = self.drop_foreign_limits(parts, quota.as_ref()).await?;
        let new = namespace.as_ref().is_some_and(|applied| applied.created);
        let filler = quota.as_ref().filter(|applied| applied.created && new);
        let filled = self.covered(parts, filler).await?;
        if quota.is_some() || !self.is_same(parts.policy) {
            self.acted_on(parts).await?;
        }
        let policy = self.send(parts.policy, None).await?;
        let sent = [&namespace, &quota, &policy].into_iter().flatten().count();
        Ok(u32::try_from(sent).unwrap_or(u32::MAX).saturating_add(dropped).saturating_add(filled))
    }

    /// Takes out of the quota what others wrote beside our limits. While it is there the quota is not as planned, so a
    /// quota that was not sent has none.
    async fn drop_foreign_limits(
        &self,
        parts: &Parts<'_>,
        quota: Option<&Applied>,
    ) -> Result<u32, EnforceError> {
        let foreign: BTreeSet<_> = quota
            .into_iter()
            .flat_map(|applied| &applied.limits)
            .filter(|name| !parts.hard.contains_key(*name))
            .cloned()
            .collect();
        if foreign.is_empty() {
            return Ok(0);
        }
        let key = parts.quota.key();
        tracing::warn!(%key, ?foreign, "limits of others are taken out of the quota");
        let applied = self.emitter.drop_limits(&key, &foreign).await?;
        self.shared.update(|index| index.applied(&key, applied.seen));
        Ok(1)
    }

    fn is_same(&self, manifest: &Manifest) -> bool {
        let standing =
            self.shared.read(|index| index.standing(&manifest.key(), &manifest.fingerprint(), None));
        matches!(standing, Standing::Same)
    }

    /// Waits until the API server's quota admission acts on these very limits. It reads quotas through a cache of its
    /// own, which under load was seen to be behind our watch; a policy that is widened in that moment lets a pod in.
    async fn acted_on(&self, parts: &Parts<'_>) -> Result<(), EnforceError> {
        let end = Instant::now() + self.options.quota;
        let mut pause = Duration::from_millis(2);
        loop {
            let text = self.probe.would_refuse(&parts.gate.claim).await?;
            if text.as_ref().is_some_and(|text| text.contains(&parts.gate.expect)) {
                return Ok(());
            }
            if Instant::now() + pause >= end {
                return Err(blocked(format!(
                    "quota admission does not act on the new limits of namespace {}: asked for a claim that they refuse, the cluster said: {}",
                    parts.name,
                    text.as_deref().unwrap_or("admitted")
                )));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(500));
        }
    }

    /// Waits until the quota has its limits. `new` is the quota of a namespace that this pass made: after a while its status
    /// is filled by us.
    ///
    /// Filling is right there and only there. Nothing can be in use yet, because the namespace has no `TenantPolicy`
    /// and refuses every pod; so limits from the spec and zeros are what the controller would write. It is done
    /// under the version that the quota was created with, so whatever the controller wrote first stays. A controller
    /// with its usual 20 requests a second needs a minute for 1,000 new quotas.
    async fn covered(&self, parts: &Parts<'_>, new: Option<&Applied>) -> Result<u32, EnforceError> {
        let key = parts.quota.key();
        if let Some(applied) = new {
            if self.wait_for_limits(&key, &parts.hard, self.options.fill_after).await.is_ok() {
                return Ok(0);
            }
            let zeros: Map<_, _> = parts.hard.keys().map(|name| (name.clone(), json!("0"))).collect();
            let status = json!({"hard": parts.hard, "used": zeros});
            self.emitter.fill_status(&key, &applied.resource_version, &status).await?;
            self.wait_for_limits(&key, &parts.hard, self.options.quota).await?;
            return Ok(1);
        }
        self.wait_for_limits(&key, &parts.hard, self.options.quota).await?;
        Ok(0)
    }

    async fn wait_for_limits(
        &self,
        key: &Key,
        hard: &BTreeMap<String, String>,
        limit: Duration,
    ) -> Result<(), ClusterError> {
        let mut bell = self.shared.quota_bell();
        let mut missing = String::new();
        let wait = async {
            loop {
                bell.mark_unchanged();
                match self.shared.read(|index| index.covers(key, hard)) {
                    Ok(()) => return,
                    Err(why) => missing = why,
                }
                if bell.changed().await.is_err() {
                    return std::future::pending().await;
                }
            }
        };
        if tokio::time::timeout(limit, wait).await.is_ok() {
            return Ok(());
        }
        Err(ClusterError::Deadline {
            what: format!(
                "the status of {key} to have its limits ({missing}); kube-controller-manager fills it, look there"
            ),
            limit,
        })
    }

    /// All of them side by side; the first failure, after the others are done.
    async fn send_all(&self, manifests: &[Manifest]) -> Result<u32, EnforceError> {
        let results = join_all(manifests.iter().map(|manifest| self.send(manifest, None))).await;
        let mut sent = 0;
        for result in results {
            sent += u32::from(result?.is_some());
        }
        Ok(sent)
    }

    /// Sends one object unless it is as planned.
    async fn send(
        &self,
        manifest: &Manifest,
        hard: Option<&BTreeMap<String, String>>,
    ) -> Result<Option<Applied>, EnforceError> {
        let key = manifest.key();
        let fingerprint = manifest.fingerprint();
        let standing = self.shared.read(|index| index.standing(&key, &fingerprint, hard));
        let marked = || manifest.clone().with_fingerprint();
        let result = match standing {
            Standing::Same => return Ok(None),
            Standing::Argo => return Err(git_mode(&key)),
            // It says itself that it is ours, so all fields that we send are ours by contract.
            Standing::Different => self.emitter.apply_forced(&marked()).await,
            Standing::Unknown => self.emitter.apply_owned(&marked()).await,
        };
        let applied = result.map_err(|error| explain(error, manifest))?;
        let argo = applied.seen.argo;
        self.shared.update(|index| index.applied(&key, applied.seen.clone()));
        // It came in between; the namespace is the first object, so nothing else was written.
        if argo { Err(git_mode(&key)) } else { Ok(Some(applied)) }
    }

    /// Deletes objects of ours that are not in the plan and that `which` picks.
    async fn remove(&self, desired: &Desired, which: impl Fn(&Key) -> bool) -> Result<u32, EnforceError> {
        let Some(namespace) = desired.guard.first().map(|namespace| namespace.name.as_str()) else {
            return Ok(0);
        };
        let planned = |key: &Key| desired.all().any(|manifest| manifest.key() == *key);
        let surplus: Vec<_> = self
            .shared
            .read(|index| index.removable(namespace))
            .into_iter()
            .filter(|(key, _)| which(key) && !planned(key))
            .collect();
        let mut sent = 0;
        for (key, uid) in surplus {
            self.shared.update(|index| index.will_delete(&key));
            self.emitter.delete(&key, &uid).await?;
            self.shared.update(|index| index.deleted(&key));
            sent += 1;
        }
        Ok(sent)
    }
}

fn foreign(name: &str, tenant: &str) -> EnforceError {
    blocked(format!(
        "namespace {name} is there and not a tenant's; to hand it over, run `kubectl label namespace {name} {}={tenant}`, or choose another name",
        labels::TENANT
    ))
}

/// Argo CD's entry stays behind when it lets an object go.
fn git_mode(key: &Key) -> EnforceError {
    blocked(format!(
        "{key} is written by {ARGO}, so this namespace is in git mode and nothing is written to it directly; set the writer of the cluster to git, or, when Argo CD has let the object go, clear its entry: `kubectl patch {} --type=merge -p '{{\"metadata\":{{\"managedFields\":[{{}}]}}}}'`",
        at(key)
    ))
}

/// The object as kubectl takes it.
fn at(key: &Key) -> String {
    let namespace = key.namespace.as_ref().map(|name| format!(" --namespace {name}")).unwrap_or_default();
    format!("{} {}{namespace}", key.kind.to_lowercase(), key.name)
}

fn explain(error: ClusterError, manifest: &Manifest) -> EnforceError {
    let key = manifest.key();
    match error {
        ClusterError::Conflict { fields, .. } if fields.iter().any(|field| field.manager == ARGO) => {
            git_mode(&key)
        }
        ClusterError::Conflict { .. } => blocked(format!(
            "{error}; to hand it over, run `kubectl label {} {}={}`",
            at(&key),
            labels::MANAGED_BY,
            labels::MANAGER
        )),
        // The guard policy of our own: others made the namespace since the index looked.
        ClusterError::Refused { status: 403, message, .. } if message.contains("is not a tenant's") => {
            let tenant =
                manifest.body.pointer("/metadata/labels").and_then(|all| all.get(labels::TENANT)?.as_str());
            foreign(&manifest.name, tenant.unwrap_or_default())
        }
        other => other.into(),
    }
}

/// What the namespace says about its own end.
fn conditions(live: &Value) -> String {
    let all = live.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<_> = all
        .filter(|condition| condition.get("status").and_then(Value::as_str) == Some("True"))
        .filter_map(|condition| {
            let text = |field: &str| condition.get(field).and_then(Value::as_str);
            Some(format!("{}: {}", text("type")?, text("message")?))
        })
        .collect();
    if texts.is_empty() { String::new() } else { format!(" ({})", texts.join("; ")) }
}

fn hash(desired: &Desired) -> u64 {
    let mut hasher = DefaultHasher::new();
    for manifest in desired.all() {
        manifest.fingerprint().hash(&mut hasher);
    }
    for probe in &desired.probes {
        (&probe.asked, &probe.expect).hash(&mut hasher);
    }
    hasher.finish()
}
