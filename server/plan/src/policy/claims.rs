//! Rules for resource claims and their templates. Their spec never changes, so CREATE is all there is.

use super::{
    CREATE, Match, MissingParam, Mode, Policy, TOLERATION_GRANTED, tenant_namespaces, validation, variable,
};

/// The rules for claims. The claim that kube-scheduler writes for an extended resource is exempt: the pod's own
/// request was judged. Both its user and its annotation are asked for.
pub(super) fn policy() -> Policy {
    let tolerated = |requests: &str, each: &str| {
        format!("{requests}.all({each}, {each}.?tolerations.orValue([]).all(t, {TOLERATION_GRANTED}))")
    };
    Policy {
        name: "gpuaas-tenant-claims",
        mode: Mode::Enforce,
        param: Some(MissingParam::Deny),
        namespaces: tenant_namespaces(),
        matches: vec![Match("resource.k8s.io", "v1", CREATE, &["resourceclaims", "resourceclaimtemplates"])],
        conditions: vec![variable(
            "not-the-schedulers",
            "!(request.userInfo.username == 'system:kube-scheduler' && object.metadata.?annotations[?'resource.kubernetes.io/extended-resource-claim'].orValue('') == 'true')",
        )],
        variables: vec![
            variable(
                "requests",
                "dyn(request.resource.resource == 'resourceclaims' ? dyn(object.spec) : dyn(object.spec).spec).?devices.?requests.orValue([])",
            ),
            variable("exact", "variables.requests.filter(r, has(r.exactly)).map(r, r.exactly)"),
            variable("ordered", "variables.requests.filter(r, has(r.firstAvailable))"),
            variable(
                "foreign",
                "(variables.exact.map(e, e.deviceClassName)
  + variables.ordered.map(r, r.firstAvailable.map(s, s.deviceClassName).join(',')).join(',').split(',')
).filter(n, n != '' && !(n in params.spec.deviceClasses))",
            ),
        ],
        validations: vec![
            validation(
                "variables.foreign == []",
                "the claim asks for a device class that is not granted to this namespace; use what is granted, or request a grant",
            )
            .says(
                "variables.foreign == []",
                "'device class ' + variables.foreign[0] + ' is not granted to this namespace; it may use '
  + (params.spec.deviceClasses == [] ? 'none' : params.spec.deviceClasses.join(', '))
  + '. Use what is granted, or request a grant of ' + variables.foreign[0]",
            ),
            validation(
                "variables.exact.all(e, !e.?adminAccess.orValue(false))",
                "adminAccess is refused; remove it",
            ),
            validation(
                "variables.exact.all(e, e.?allocationMode.orValue('') != 'All')
  && variables.ordered.all(r, r.firstAvailable.all(s, s.?allocationMode.orValue('') != 'All'))",
                "allocationMode All takes every device of a node; use ExactCount and a count",
            ),
            validation(
                format!(
                    "{}\n&& variables.ordered.all(r, {})",
                    tolerated("variables.exact", "e"),
                    tolerated("r.firstAvailable", "s")
                ),
                "a toleration of a device taint is not granted to this namespace; remove it",
            ),
        ],
    }
}
