//! Kubeconfigs as they come from people, and those that registration makes.

use kube::Config;
use kube::config::{AuthInfo, Cluster, KubeConfigOptions, Kubeconfig};
use serde_json::json;

use crate::error::ClusterError;

fn bad(why: impl Into<String>) -> ClusterError {
    ClusterError::BadKubeconfig { why: why.into() }
}

/// Reads a kubeconfig for a client.
///
/// # Errors
/// If it is no kubeconfig, or would run a program or read a file of this machine: whoever may register a cluster
/// must not get a shell here, or have a file sent to a server of his choice.
pub(crate) async fn read(text: &str) -> Result<Config, ClusterError> {
    let parsed = Kubeconfig::from_yaml(text).map_err(|error| bad(error.to_string()))?;
    check(&parsed)?;
    Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default())
        .await
        .map_err(|error| bad(error.to_string()))
}

/// Can this kubeconfig be used? Says so before anything is stored.
///
/// # Errors
/// [`ClusterError::BadKubeconfig`], with what would do.
pub fn check_kubeconfig(text: &str) -> Result<(), ClusterError> {
    check(&Kubeconfig::from_yaml(text).map_err(|error| bad(error.to_string()))?)
}

fn check(parsed: &Kubeconfig) -> Result<(), ClusterError> {
    for user in &parsed.auth_infos {
        user.auth_info.as_ref().map_or(Ok(()), |info| check_user(&user.name, info))?;
    }
    for cluster in &parsed.clusters {
        if cluster.cluster.as_ref().is_some_and(|cluster| cluster.certificate_authority.is_some()) {
            return Err(file("cluster", &cluster.name, "certificate-authority"));
        }
    }
    Ok(())
}

fn check_user(name: &str, info: &AuthInfo) -> Result<(), ClusterError> {
    if info.exec.is_some() || info.auth_provider.is_some() {
        return Err(bad(format!(
            "user `{name}` gets its credentials from a program (exec or auth-provider), which the server does not run; use a token or a client certificate"
        )));
    }
    let files = [
        (info.token_file.is_some(), "tokenFile"),
        (info.client_certificate.is_some(), "client-certificate"),
        (info.client_key.is_some(), "client-key"),
    ];
    match files.iter().find(|(there, _)| *there) {
        Some((_, field)) => Err(file("user", name, field)),
        None => Ok(()),
    }
}

fn file(what: &str, name: &str, field: &str) -> ClusterError {
    bad(format!(
        "{what} `{name}` names a file in `{field}`, which the server does not read; put the content in, as `kubectl config view --raw --flatten --minify` does"
    ))
}

/// A kubeconfig for the same API server with a token.
///
/// # Errors
/// If `text` is no kubeconfig with a current context.
pub(crate) fn with_token(text: &str, user: &str, token: &str) -> Result<String, ClusterError> {
    let parsed = Kubeconfig::from_yaml(text).map_err(|error| bad(error.to_string()))?;
    check(&parsed)?;
    let cluster = current(&parsed)?;
    let made = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "gpuaas",
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "gpuaas", "context": {"cluster": "cluster", "user": user}}],
    });
    serde_yaml_ng::to_string(&made).map_err(|error| bad(error.to_string()))
}

/// The token of a kubeconfig that [`with_token`] made.
pub(crate) fn token(text: &str) -> Option<String> {
    let parsed: serde_json::Value = serde_yaml_ng::from_str(text).ok()?;
    parsed.pointer("/users/0/user/token")?.as_str().map(str::to_owned)
}

fn current(parsed: &Kubeconfig) -> Result<Cluster, ClusterError> {
    let context = parsed.current_context.as_ref().ok_or_else(|| bad("it has no current-context"))?;
    let cluster = parsed
        .contexts
        .iter()
        .find(|named| named.name == *context)
        .and_then(|named| named.context.as_ref())
        .map(|context| &context.cluster)
        .ok_or_else(|| bad(format!("the context `{context}` is not in it")))?;
    parsed
        .clusters
        .iter()
        .find(|named| named.name == *cluster)
        .and_then(|named| named.cluster.clone())
        .ok_or_else(|| bad(format!("the cluster `{cluster}` is not in it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r"
apiVersion: v1
kind: Config
current-context: one
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:6443', insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: abc}}]
contexts: [{name: one, context: {cluster: c, user: u}}]
";

    #[tokio::test]
    async fn programs_and_files_are_refused() {
        read(GOOD).await.unwrap();
        for (from, to, text) in [
            ("{token: abc}", "{exec: {command: sh, apiVersion: client.authentication.k8s.io/v1}}", "program"),
            ("{token: abc}", "{tokenFile: /etc/passwd}", "`tokenFile`"),
            ("{token: abc}", "{client-certificate: /x, client-key: /y}", "`client-certificate`"),
            ("insecure-skip-tls-verify: true", "certificate-authority: /x", "`certificate-authority`"),
            ("current-context: one", "current-context: two", "two"),
        ] {
            let refused = read(&GOOD.replace(from, to)).await.unwrap_err();
            assert!(matches!(refused, ClusterError::BadKubeconfig { .. }));
            assert!(refused.to_string().contains(text), "{refused}");
        }
        assert!(read("]").await.is_err());
    }

    #[tokio::test]
    async fn a_token_replaces_the_user_and_keeps_the_server() {
        let made = with_token(GOOD, "gpuaas-emitter", "secret").unwrap();
        assert_eq!(read(&made).await.unwrap().cluster_url.to_string(), "https://127.0.0.1:6443/");
        assert_eq!(token(&made).as_deref(), Some("secret"));
        assert!(!made.contains("abc"));
    }
}
