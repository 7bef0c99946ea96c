//! Makes a cluster ready for tenants, once, with an admin's rights.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Timestamp;
use plan::labels;
use plan::manifest::{Key, Manifest};
use plan::policy::probe::{Refusal, probe_namespace, refused_claim, refused_pod};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::error::ClusterError;
use crate::kubeconfig;
use crate::link::{Link, LinkOptions};

/// Oldest minor version whose admission policies are stable.
const OLDEST_MINOR: u32 = 30;

/// Since this minor version there is `resource.k8s.io/v1`.
const CLAIMS_MINOR: u32 = 34;

/// Tokens are asked for as long as this; a cluster may give shorter ones.
const TOKEN_SECONDS: u32 = 90 * 24 * 3600;

/// A new kind is found by the API server's admission within 30 s, the policies a second later.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

const ESTABLISHED_LIMIT: Duration = Duration::from_secs(30);

/// Kubeconfigs of our identities in a cluster. Secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Identities {
    /// Writes what is planned.
    pub emitter: String,
    /// May ask, in dry runs, whether pods would be admitted.
    pub probe: String,
}

impl std::fmt::Debug for Identities {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Identities { .. }")
    }
}

impl Identities {
    /// When the first of the tokens ends; none where one has no end. Renew them well before.
    #[must_use]
    pub fn expire_at(&self) -> Option<Timestamp> {
        [&self.emitter, &self.probe].into_iter().filter_map(|text| expiry(&kubeconfig::token(text)?)).min()
    }
}

/// The end in a token's own words; its signature is for the API server to check.
fn expiry(token: &str) -> Option<Timestamp> {
    let claims: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?).ok()?;
    chrono::DateTime::from_timestamp(claims.get("exp")?.as_i64()?, 0)
}

/// Installs the static objects, makes tokens for our identities, and waits until the policies themselves refuse.
/// May be repeated at any time: what is there stays, what differs is put right.
///
/// `kubeconfig` is the admin's, for the address of the API server; `progress` hears in words what is waited for.
///
/// # Errors
/// If the cluster is too old, an object is refused or belongs to others, or the policies do not act within a minute.
pub async fn install(
    admin: &Link,
    kubeconfig: &str,
    progress: impl Fn(String),
) -> Result<Identities, ClusterError> {
    let version = admin.version().await?;
    if version.minor < OLDEST_MINOR {
        return Err(ClusterError::Refused {
            status: 200,
            reason: "TooOld".to_owned(),
            message: format!("the cluster is {}; v1.{OLDEST_MINOR} or later is needed", version.git),
        });
    }
    let objects = plan::registration::objects();
    for (done, manifest) in objects.iter().enumerate() {
        progress(format!("installing {} ({} of {})", manifest.key(), done + 1, objects.len()));
        admin.apply_owned(manifest).await?;
        if manifest.kind == "CustomResourceDefinition" {
            established(admin, &manifest.key()).await?;
        }
    }
    progress("making tokens of the emitter and the probe".to_owned());
    let identities = renew(admin, kubeconfig).await?;
    for manifest in probe_namespace()? {
        progress(format!("installing {}", manifest.key()));
        admin.apply_owned(&manifest).await?;
    }
    let probe = Link::connect(&identities.probe, LinkOptions::default()).await?;
    let mut refusals = vec![refused_pod()?];
    if version.minor >= CLAIMS_MINOR {
        refusals.push(refused_claim()?);
    }
    for refusal in &refusals {
        answers(&probe, refusal, &progress).await?;
    }
    Ok(identities)
}

/// New tokens for both identities: by an admin, or by the emitter itself before its own ends.
///
/// # Errors
/// If the kubeconfig has no current context, or the API server refuses.
pub async fn renew(by: &Link, kubeconfig: &str) -> Result<Identities, ClusterError> {
    Ok(Identities {
        emitter: token(by, kubeconfig, "gpuaas-emitter").await?,
        probe: token(by, kubeconfig, "gpuaas-probe").await?,
    })
}

async fn token(by: &Link, kubeconfig: &str, account: &str) -> Result<String, ClusterError> {
    let target = format!("/api/v1/namespaces/{}/serviceaccounts/{account}/token", labels::SYSTEM_NAMESPACE);
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"expirationSeconds": TOKEN_SECONDS},
    });
    let answer = by.post(target.clone(), &request).await?;
    let token = answer.pointer("/status/token").and_then(Value::as_str).ok_or_else(|| {
        ClusterError::Answer { what: format!("POST {target}"), why: "no token in it".to_owned() }
    })?;
    kubeconfig::with_token(kubeconfig, account, token)
}

async fn established(admin: &Link, key: &Key) -> Result<(), ClusterError> {
    let end = Instant::now() + ESTABLISHED_LIMIT;
    loop {
        let live = admin.get(key).await?;
        let conditions = live.as_ref().and_then(|live| live.pointer("/status/conditions")?.as_array());
        let is = |condition: &Value, field: &str, value: &str| {
            condition.get(field).and_then(Value::as_str) == Some(value)
        };
        if conditions
            .into_iter()
            .flatten()
            .any(|one| is(one, "type", "Established") && is(one, "status", "True"))
        {
            return Ok(());
        }
        if Instant::now() >= end {
            let what = format!("{key} to be established");
            return Err(ClusterError::Deadline { what, limit: ESTABLISHED_LIMIT });
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until the policy itself refuses: any other answer, another refusal too, means that it does not act yet.
async fn answers(probe: &Link, refusal: &Refusal, progress: &impl Fn(String)) -> Result<(), ClusterError> {
    let end = Instant::now() + ANSWER_LIMIT;
    let object: &Manifest = &refusal.object;
    loop {
        let said = probe.would_refuse(object).await?;
        if said.as_ref().is_some_and(|said| said.contains(refusal.text)) {
            return Ok(());
        }
        let said = said.unwrap_or_else(|| "it would admit it".to_owned());
        let what = format!("the admission policy to refuse a {} (the API server says: {said})", object.kind);
        if Instant::now() >= end {
            return Err(ClusterError::Deadline { what, limit: ANSWER_LIMIT });
        }
        progress(format!("waiting for {what}"));
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_token_is_read_from_it() {
        let claims = URL_SAFE_NO_PAD.encode(r#"{"exp":1780000000,"sub":"x"}"#);
        let token = format!("e30.{claims}.c2ln");
        assert_eq!(expiry(&token).unwrap().timestamp(), 1_780_000_000);
        assert_eq!(expiry("opaque"), None);
    }
}
