//! Other writers of a pod's annotations: `pods/status` and bindings change them without an update of the pod. This
//! policy has no parameter, so that it works from the first moment and never keeps a kubelet from reporting.

use super::{CREATE, Match, Mode, OPENS_DEVICES, Policy, UPDATE, tenant_namespaces, validation, variable};

/// The rules for status and bindings.
pub(super) fn policy() -> Policy {
    Policy {
        name: "gpuaas-tenant-side-doors",
        mode: Mode::Enforce,
        param: None,
        namespaces: tenant_namespaces(),
        matches: vec![
            Match("", "v1", UPDATE, &["pods/status"]),
            Match("", "v1", CREATE, &["pods/binding", "bindings"]),
        ],
        conditions: vec![variable(
            "of-our-concern",
            "request.operation == 'CREATE' || object.metadata.?annotations != oldObject.metadata.?annotations",
        )],
        variables: vec![
            variable("now", "object.metadata.?annotations.orValue({})"),
            variable(
                "was",
                "request.operation == 'CREATE' ? {} : oldObject.metadata.?annotations.orValue({})",
            ),
        ],
        validations: vec![
            validation(
                format!(
                    "!variables.now.exists(k,
  (k == 'k8s.v1.cni.cncf.io/networks' || k == 'v1.multus-cni.io/default-network' || {OPENS_DEVICES})
  && !(k in variables.was && variables.was[k] == variables.now[k]))"
                ),
                "annotations that attach networks or open devices may not be set by pods/status or a binding; set them on the pod itself",
            ),
            // A tenant has this right at most in one namespace; a scheduler of the cluster has it in all.
            validation(
                "request.operation == 'UPDATE' || authorizer.group('').resource('pods').subresource('binding').check('create').allowed()",
                "only a scheduler of the cluster may bind pods; set nodeSelector or affinity and leave the choice to it",
            ),
        ],
    }
}
