//! Contenders of the apply runs.

use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use futures::{StreamExt as _, stream};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use plan::{Desired, manifest::Manifest};

/// Server-side apply of each object and nothing else: what the API server can take. Namespaces first, because
/// nothing can lie in one that is not there.
pub(crate) async fn bare_loop(client: &Client, tenants: &[Desired], concurrency: usize) -> Duration {
    let start = Instant::now();
    let is_namespace = |m: &&Manifest| m.kind == "Namespace";
    let all: Vec<&Manifest> = tenants.iter().flat_map(Desired::all).collect();
    let (first, rest): (Vec<&Manifest>, Vec<&Manifest>) = all.into_iter().partition(is_namespace);
    for wave in [first, rest] {
        stream::iter(wave).for_each_concurrent(concurrency, |m| apply(client, m)).await;
    }
    start.elapsed()
}

async fn apply(client: &Client, manifest: &Manifest) {
    let known = manifest.known_kind().unwrap();
    let gvk = GroupVersionKind::gvk(known.group, known.version, known.kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, known.plural);
    let api: Api<DynamicObject> = match &manifest.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    api.patch(&manifest.name, &PatchParams::apply("bare-loop").force(), &Patch::Apply(&manifest.body))
        .await
        .unwrap();
}

/// `kubectl apply --server-side` over one file.
pub(crate) async fn kubectl(binary: &Path, kubeconfig: &Path, dir: &Path, tenants: &[Desired]) -> Duration {
    let file = dir.join("all.yaml");
    let text: Vec<String> =
        tenants.iter().flat_map(Desired::all).map(|m| format!("---\n{}", m.to_yaml())).collect();
    std::fs::write(&file, text.concat()).unwrap();
    let start = Instant::now();
    let status = tokio::process::Command::new(binary)
        .args(["apply", "--server-side", "--force-conflicts", "-f"])
        .arg(&file)
        .env("KUBECONFIG", kubeconfig)
        .stdout(Stdio::null())
        .status()
        .await
        .unwrap();
    assert!(status.success(), "kubectl failed");
    start.elapsed()
}
