//! Rules for services. With `externalIPs` a service takes the traffic of the whole cluster to an address that is not
//! its own (CVE-2020-8554), so the owner of one namespace could read what others send. The policy has no parameter: no
//! grant opens this.

use super::{CREATE_UPDATE, Match, Mode, Policy, tenant_namespaces, validation, variable};

/// The rules for services. One that was there before its namespace became a tenant's may keep its addresses.
pub(super) fn policy() -> Policy {
    Policy {
        name: "gpuaas-tenant-services",
        mode: Mode::Enforce,
        param: None,
        namespaces: tenant_namespaces(),
        matches: vec![Match("", "v1", CREATE_UPDATE, &["services"])],
        conditions: vec![],
        variables: vec![
            variable("now", "object.spec.?externalIPs.orValue([])"),
            variable("was", "request.operation == 'CREATE' ? [] : oldObject.spec.?externalIPs.orValue([])"),
        ],
        validations: vec![validation(
            "variables.now == [] || variables.now == variables.was",
            "externalIPs draw the traffic of others to this service and are refused; remove them, and use type LoadBalancer to be reached from outside, or ClusterIP within the cluster",
        )],
    }
}
