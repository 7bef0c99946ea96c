//! The same objects as files for a git repository, for Argo CD or anything else that applies a folder.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{manifest::Manifest, tenancy::Desired};

/// Annotation of Argo CD: objects of a lower wave are healthy before those of a higher one are applied.
const SYNC_WAVE: &str = "argocd.argoproj.io/sync-wave";

/// Annotation of Argo CD: what it may do with an object.
const SYNC_OPTIONS: &str = "argocd.argoproj.io/sync-options";

/// The files of one namespace: path below `<cluster>/<team>/<namespace>/`, and YAML. The same plan gives the same bytes.
///
/// Role bindings are left out unless `with_access`: with an observed cluster they come in a second commit, after the
/// probes. Namespace, `TenantPolicy` and `ResourceQuota` are never pruned: without a quota there is no limit.
#[must_use]
pub fn files(d: &Desired, with_access: bool) -> BTreeMap<String, String> {
    let guard = d.guard.iter().enumerate().map(|(wave, manifest)| (wave, true, manifest));
    let rest = d.rest.iter().map(|manifest| (d.guard.len(), false, manifest));
    let access = d.access.iter().filter(|_| with_access).map(|manifest| (d.guard.len() + 1, false, manifest));
    guard
        .chain(rest)
        .chain(access)
        .map(|(wave, keep, manifest)| (path(manifest), annotated(manifest, wave, keep).to_yaml()))
        .collect()
}

/// Kind and name are unique within a namespace.
fn path(manifest: &Manifest) -> String {
    format!("{}-{}.yaml", manifest.kind.to_ascii_lowercase(), manifest.name)
}

fn annotated(manifest: &Manifest, wave: usize, keep: bool) -> Manifest {
    let mut manifest = manifest.clone();
    let metadata = manifest.body.get_mut("metadata").and_then(Value::as_object_mut);
    let annotations = metadata
        .map(|metadata| metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new())))
        .and_then(Value::as_object_mut);
    if let Some(annotations) = annotations {
        annotations.insert(SYNC_WAVE.to_owned(), json!(wave.to_string()));
        if keep {
            annotations.insert(SYNC_OPTIONS.to_owned(), json!("Prune=false,Delete=false"));
        }
    }
    manifest
}
