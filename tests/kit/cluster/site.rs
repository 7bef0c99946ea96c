//! What a site's cluster has before gpuaas comes: the kind of Multus, whose objects gpuaas writes.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::{error::Result, wait_for};

const NAME: &str = "network-attachment-definitions.k8s.cni.cncf.io";

/// Installs the kind and waits until it is served. Its schema is open, as Multus leaves the configuration to plugins.
pub(super) async fn install(client: Client) -> Result<()> {
    let kinds: Api<CustomResourceDefinition> = Api::all(client);
    let kind = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": "k8s.cni.cncf.io", "scope": "Namespaced",
            "names": {
                "kind": "NetworkAttachmentDefinition", "listKind": "NetworkAttachmentDefinitionList",
                "plural": "network-attachment-definitions", "singular": "network-attachment-definition",
                "shortNames": ["net-attach-def"],
            },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"config": {"type": "string"}}},
                }}},
            }],
        },
    });
    kinds.patch(NAME, &PatchParams::apply("site"), &Patch::Apply(kind)).await?;
    wait_for("the kind of Multus to be served", Duration::from_secs(30), || async {
        let conditions = kinds.get(NAME).await.ok()?.status?.conditions?;
        conditions.iter().any(|one| one.type_ == "Established" && one.status == "True").then_some(())
    })
    .await
}
