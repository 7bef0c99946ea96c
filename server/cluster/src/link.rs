//! One identity at one API server: requests with bounded concurrency, retries and a deadline.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, header};
use http_body_util::BodyExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::client::Body;
use kube::core::Status;
use plan::labels;
use plan::manifest::{Key, Manifest};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::error::{ClusterError, FieldConflict, lacks_rights};
use crate::index::{ARGO, Seen};
use crate::{kubeconfig, path, retry};

/// Bounds of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkOptions {
    /// Longest time for one request with all its retries.
    pub deadline: Duration,
    /// Longest time for one try of it.
    pub attempt: Duration,
    /// Most requests at a time; watches are not counted. kube has no limit of its own.
    pub concurrency: usize,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(30), attempt: Duration::from_secs(15), concurrency: 32 }
    }
}

/// What an apply gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Version of the object as it is now; the same as before when nothing changed.
    pub resource_version: String,
    /// Identity of the object.
    pub uid: String,
    /// Whether it was not there before.
    pub created: bool,
    /// Keys of `spec.hard` as it is now; empty for all but quotas.
    pub(crate) limits: BTreeSet<String>,
    /// What the answer says about the object.
    pub(crate) seen: Seen,
}

/// Version of an API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// As `v1.36.3`.
    pub git: String,
    /// Minor number, 36 in that case.
    pub minor: u32,
}

/// One identity at one API server. Clones share connections and limits.
#[derive(Clone)]
pub struct Link {
    client: kube::Client,
    options: LinkOptions,
    permits: Arc<Semaphore>,
}

struct Call {
    method: Method,
    /// Path and query.
    target: String,
    content_type: &'static str,
    body: Vec<u8>,
}

struct Reply {
    status: u16,
    retry_after: Option<Duration>,
    body: Vec<u8>,
}

#[derive(Deserialize)]
struct Named {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Value,
}

impl Named {
    fn applied(self, created: bool) -> Applied {
        let seen = Seen::of(&self.metadata);
        let limits = self.spec.get("hard").and_then(Value::as_object);
        Applied {
            resource_version: seen.version.clone(),
            uid: seen.uid.clone(),
            created,
            limits: limits.into_iter().flat_map(|hard| hard.keys().cloned()).collect(),
            seen,
        }
    }
}

impl Link {
    /// Makes a client; the first request makes the connection.
    ///
    /// # Errors
    /// If the kubeconfig cannot be used; see [`ClusterError::BadKubeconfig`].
    pub async fn connect(kubeconfig: &str, options: LinkOptions) -> Result<Self, ClusterError> {
        let mut config = kubeconfig::read(kubeconfig).await?;
        // Retries are ours: kube's own go on for up to 1000 s and do not cover lost connections.
        config.default_retry = false;
        config.connect_timeout = Some(options.attempt.min(Duration::from_secs(5)));
        // The API server sends a bookmark about once a minute into each watch; a watch that is silent for longer has
        // lost its other end.
        config.read_timeout = Some(Duration::from_secs(150));
        let client = kube::Client::try_from(config)
            .map_err(|error| ClusterError::BadKubeconfig { why: error.to_string() })?;
        Ok(Self::over(client, options))
    }

    pub(crate) fn over(client: kube::Client, options: LinkOptions) -> Self {
        Self { client, options, permits: Arc::new(Semaphore::new(options.concurrency)) }
    }

    pub(crate) fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// Creates or changes an object by server-side apply, in one request. Fields of others stop it.
    ///
    /// # Errors
    /// [`ClusterError::Conflict`] names the fields that others own; else as the API server answers.
    pub async fn apply(&self, manifest: &Manifest) -> Result<Applied, ClusterError> {
        self.patch(manifest, false).await
    }

    /// As [`Link::apply`]; fields that others own are taken over. Only for objects that gpuaas owns: all their fields
    /// that it sends are its own by contract.
    ///
    /// # Errors
    /// As the API server answers.
    pub async fn apply_forced(&self, manifest: &Manifest) -> Result<Applied, ClusterError> {
        self.patch(manifest, true).await
    }

    /// Applies without force first. If others own fields, the object is taken over when it says that gpuaas manages
    /// it, and left alone when it does not: somebody who wants to hand it over sets that label once. What Argo CD
    /// writes is left alone in any case, its objects come from our own repository.
    ///
    /// # Errors
    /// As [`Link::apply`].
    pub async fn apply_owned(&self, manifest: &Manifest) -> Result<Applied, ClusterError> {
        let refused = match self.apply(manifest).await {
            Err(error @ ClusterError::Conflict { .. }) => error,
            other => return other,
        };
        if matches!(&refused, ClusterError::Conflict { fields, .. } if fields.iter().any(|field| field.manager == ARGO))
        {
            return Err(refused);
        }
        let live = self.get(&manifest.key()).await?;
        let label = live
            .as_ref()
            .and_then(|live| live.get("metadata")?.get("labels")?.get(labels::MANAGED_BY)?.as_str());
        if label != Some(labels::MANAGER) {
            return Err(refused);
        }
        tracing::warn!(%refused, "own fields are taken over");
        self.apply_forced(manifest).await
    }

    async fn patch(&self, manifest: &Manifest, force: bool) -> Result<Applied, ClusterError> {
        let key = manifest.key();
        let force = if force { "&force=true" } else { "" };
        let call = Call {
            method: Method::PATCH,
            target: format!(
                "{}?fieldManager={}&fieldValidation=Strict{force}",
                path::of(&key)?,
                labels::MANAGER
            ),
            content_type: "application/apply-patch+yaml",
            body: manifest.body.to_string().into_bytes(),
        };
        let reply = self.call(&call).await?;
        // An object that is missing would be made, so only the kind itself can be what is not found.
        if reply.status == 404 && reply.status_object().reason.is_empty() {
            return Err(ClusterError::Refused {
                status: 404,
                reason: "NotServed".to_owned(),
                message: format!(
                    "the cluster has no kind {} ({}); install what brings it (for a NetworkAttachmentDefinition that is Multus), or do without",
                    manifest.kind, manifest.api_version
                ),
            });
        }
        let named: Named = reply.expect(&call)?.read(&call)?;
        Ok(named.applied(reply.status == 201))
    }

    /// Takes limits out of the spec of a quota. An apply, forced or not, leaves keys of other writers in a map.
    pub(crate) async fn drop_limits(
        &self,
        key: &Key,
        names: &BTreeSet<String>,
    ) -> Result<Applied, ClusterError> {
        let hard: Map<_, _> = names.iter().map(|name| (name.clone(), Value::Null)).collect();
        let call = Call {
            method: Method::PATCH,
            target: format!("{}?fieldManager={}", path::of(key)?, labels::MANAGER),
            content_type: "application/merge-patch+json",
            body: json!({"spec": {"hard": hard}}).to_string().into_bytes(),
        };
        let named: Named = self.call(&call).await?.expect(&call)?.read(&call)?;
        Ok(named.applied(false))
    }

    /// Reads one object; none where it is not there, or its kind is not.
    ///
    /// # Errors
    /// As the API server answers.
    pub async fn get(&self, key: &Key) -> Result<Option<Value>, ClusterError> {
        self.get_at(path::of(key)?).await
    }

    pub(crate) async fn get_at(&self, target: String) -> Result<Option<Value>, ClusterError> {
        let call = Call { method: Method::GET, target, content_type: "application/json", body: Vec::new() };
        let reply = self.call(&call).await?;
        if reply.status == 404 { Ok(None) } else { reply.expect(&call)?.read(&call).map(Some) }
    }

    /// Deletes one object if it is still the one with this uid; one that is gone is fine.
    ///
    /// # Errors
    /// As the API server answers; 409 when another object has the name now.
    pub async fn delete(&self, key: &Key, uid: &str) -> Result<(), ClusterError> {
        let body = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
            "preconditions": {"uid": uid},
        });
        let call = Call {
            method: Method::DELETE,
            target: path::of(key)?,
            content_type: "application/json",
            body: body.to_string().into_bytes(),
        };
        let reply = self.call(&call).await?;
        if reply.status != 404 {
            reply.expect(&call)?;
        }
        Ok(())
    }

    /// Asks what would happen if the object were created; nothing is stored. The answer is the API server's text, and
    /// none when it would be admitted.
    ///
    /// # Errors
    /// If there is no answer.
    pub async fn would_refuse(&self, manifest: &Manifest) -> Result<Option<String>, ClusterError> {
        let call = Call {
            method: Method::POST,
            target: format!(
                "{}?dryRun=All&fieldManager={}",
                path::collection(&manifest.key())?,
                labels::MANAGER
            ),
            content_type: "application/json",
            body: manifest.body.to_string().into_bytes(),
        };
        let reply = self.call(&call).await?;
        if (200..300).contains(&reply.status) { Ok(None) } else { Ok(Some(reply.status_object().message)) }
    }

    /// Creates an object at a path, for example a token of a service account.
    pub(crate) async fn post(&self, target: String, body: &Value) -> Result<Value, ClusterError> {
        let call = Call {
            method: Method::POST,
            target,
            content_type: "application/json",
            body: body.to_string().into_bytes(),
        };
        self.call(&call).await?.expect(&call)?.read(&call)
    }

    /// Fills the status of a quota; nothing happens when it changed since `resource_version`.
    pub(crate) async fn fill_status(
        &self,
        key: &Key,
        resource_version: &str,
        status: &Value,
    ) -> Result<(), ClusterError> {
        let body = json!({"metadata": {"resourceVersion": resource_version}, "status": status});
        let call = Call {
            method: Method::PATCH,
            target: format!("{}/status?fieldManager={}-status", path::of(key)?, labels::MANAGER),
            content_type: "application/merge-patch+json",
            body: body.to_string().into_bytes(),
        };
        let reply = self.call(&call).await?;
        if reply.status == 409 {
            return Ok(());
        }
        reply.expect(&call).map(|_| ())
    }

    /// Version of the API server; the cheapest question that shows that it is there and lets us in.
    ///
    /// # Errors
    /// As the API server answers.
    pub async fn version(&self) -> Result<Version, ClusterError> {
        let what =
            || ClusterError::Answer { what: "GET /version".to_owned(), why: "no version in it".to_owned() };
        let value = self.get_at("/version".to_owned()).await?.ok_or_else(what)?;
        let text = |field: &str| value.get(field).and_then(Value::as_str).ok_or_else(what);
        let digits: String = text("minor")?.chars().take_while(char::is_ascii_digit).collect();
        Ok(Version { git: text("gitVersion")?.to_owned(), minor: digits.parse().map_err(|_| what())? })
    }

    /// Sends until there is an answer that more tries would not change, or the time is over.
    async fn call(&self, call: &Call) -> Result<Reply, ClusterError> {
        let end = Instant::now() + self.options.deadline;
        let mut attempt = 1;
        loop {
            let (failure, asked) = match self.attempt(call, end).await {
                Ok(reply) if !reply.is_transient(attempt) => return Ok(reply),
                Ok(reply) => (reply.busy(), reply.retry_after),
                Err(error) => (error, None),
            };
            let pause = retry::pause(attempt, &call.target, asked);
            if Instant::now() + pause >= end {
                return Err(failure);
            }
            tracing::debug!(target = call.target, attempt, %failure, "another try follows");
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, call: &Call, end: Instant) -> Result<Reply, ClusterError> {
        let request = Request::builder()
            .method(call.method.clone())
            .uri(&call.target)
            .header(header::CONTENT_TYPE, call.content_type)
            .header(header::ACCEPT, "application/json")
            .body(Body::from(call.body.clone()))
            .map_err(|error| ClusterError::Answer { what: call.target.clone(), why: error.to_string() })?;
        let once = async {
            // Waiting for a place is not a part of the try.
            let response = self.client.send(request).await.map_err(|error| unreachable(&error))?;
            let retry_after = response
                .headers()
                .get(header::RETRY_AFTER)
                .and_then(|value| value.to_str().ok()?.parse().ok())
                .map(Duration::from_secs);
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.map_err(|error| unreachable(&error))?;
            Ok(Reply { status, retry_after, body: body.to_bytes().to_vec() })
        };
        let what = || format!("{} {}", call.method, call.target);
        let late = |limit| ClusterError::Deadline { what: format!("a place for {}", what()), limit };
        let place = tokio::time::timeout_at(end, self.permits.acquire()).await;
        let _permit = place
            .map_err(|_| late(self.options.deadline))?
            .map_err(|_| ClusterError::Unreachable { detail: "the link is closed".to_owned() })?;
        let limit = self.options.attempt.min(end.saturating_duration_since(Instant::now()));
        tokio::time::timeout(limit, once)
            .await
            .map_err(|_| ClusterError::Deadline { what: format!("an answer to {}", what()), limit })?
    }
}

impl Reply {
    /// Is it worth another try? Internal errors are often of a moment (a new leader of etcd), but not always (a broken
    /// webhook), so they get three. An API server that just started knows no roles for a moment and refuses everybody
    /// for lack of rights; so does one that has not heard yet of a role that was just bound.
    fn is_transient(&self, attempt: u32) -> bool {
        match self.status {
            429 | 503 | 504 => true,
            500 | 502 => attempt < 3,
            403 => attempt < 7 && lacks_rights(&self.status_object().message),
            _ => false,
        }
    }

    fn status_object(&self) -> Status {
        let parsed =
            serde_json::from_slice::<Status>(&self.body).ok().filter(|status| !status.message.is_empty());
        parsed.unwrap_or_else(|| {
            let text: String = String::from_utf8_lossy(&self.body).trim().chars().take(400).collect();
            Status { message: if text.is_empty() { "no text".to_owned() } else { text }, ..Status::default() }
        })
    }

    fn busy(&self) -> ClusterError {
        let Status { reason, message, .. } = self.status_object();
        if self.status == 403 {
            return ClusterError::Refused { status: 403, reason, message };
        }
        ClusterError::Busy { message: format!("{} {message}", self.status), retry_after: self.retry_after }
    }

    /// The reply itself if it is a yes.
    fn expect(&self, call: &Call) -> Result<&Self, ClusterError> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        let status = self.status_object();
        let fields = conflicts(&status);
        if self.status == 409 && !fields.is_empty() {
            let object = call.target.split('?').next().unwrap_or_default();
            return Err(ClusterError::Conflict { object: object.to_owned(), fields });
        }
        Err(ClusterError::Refused { status: self.status, reason: status.reason, message: status.message })
    }

    fn read<T: for<'a> Deserialize<'a>>(&self, call: &Call) -> Result<T, ClusterError> {
        serde_json::from_slice(&self.body).map_err(|error| ClusterError::Answer {
            what: format!("{} {}", call.method, call.target),
            why: error.to_string(),
        })
    }
}

/// The causes read `conflict with "kubectl-edit" using v1`.
fn conflicts(status: &Status) -> Vec<FieldConflict> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes
        .filter(|cause| cause.reason == "FieldManagerConflict")
        .map(|cause| FieldConflict {
            field: cause.field.clone(),
            manager: cause.message.split('"').nth(1).unwrap_or(&cause.message).to_owned(),
        })
        .collect()
}

fn unreachable(error: &dyn std::error::Error) -> ClusterError {
    // The outermost text is often only "client error (Connect)".
    let mut detail = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let text = inner.to_string();
        if !detail.contains(&text) {
            detail = format!("{detail}: {text}");
        }
        source = inner.source();
    }
    ClusterError::Unreachable { detail }
}

#[cfg(test)]
mod tests;
