//! Security contexts of pods that we write.

use k8s_openapi::api::core::v1::{Capabilities, PodSecurityContext, SeccompProfile, SecurityContext};

/// The user that owns nothing.
pub(crate) const NOBODY: i64 = 65534;

/// What the level `restricted` demands of a pod.
pub(crate) fn restricted_pod(user: i64) -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(user),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            ..SeccompProfile::default()
        }),
        ..PodSecurityContext::default()
    }
}

/// What the level `restricted` demands of a container.
pub(crate) fn restricted_container() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
        ..SecurityContext::default()
    }
}

/// A container that may pin memory. It has to run as root: Kubernetes gives no other user a capability in effect.
pub(crate) fn locking_container() -> SecurityContext {
    SecurityContext {
        capabilities: Some(Capabilities { add: Some(vec!["IPC_LOCK".to_owned()]), drop: None }),
        ..SecurityContext::default()
    }
}
