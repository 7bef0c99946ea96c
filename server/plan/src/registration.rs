//! What a cluster gets once, when it is registered: the same files that the Helm chart holds.

use crate::manifest::Manifest;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../charts/gpuaas/files/", $name)))),*]
    };
}

/// The files in the order in which they are applied. Policies come before their bindings and after the kind of their
/// parameter; an account gets its rights last of all but the policies, and nobody holds a token of it by then.
const FILES: &[(&str, &str)] = files![
    "namespace.yaml",
    "kind.yaml",
    "roles.yaml",
    "tenant-roles.yaml",
    "identities.yaml",
    "bindings.yaml",
    "flow-schema.yaml",
    "policies.yaml",
    "policy-bindings.yaml",
];

/// All static objects of a cluster, in the order in which they are to be applied. The writer waits for the
/// `CustomResourceDefinition` to be established before it goes on, and after the last object for the refusals of
/// [`crate::policy::probe`].
#[must_use]
#[expect(clippy::expect_used, reason = "the files are part of the program, and a test reads each of them")]
pub fn objects() -> Vec<Manifest> {
    FILES
        .iter()
        .flat_map(|(_, text)| {
            Manifest::from_yaml_documents(text).expect("the files of the chart are objects")
        })
        .collect()
}

#[cfg(test)]
mod tests;
