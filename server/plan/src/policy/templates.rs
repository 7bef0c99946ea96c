//! The rules for devices and networks once more, as warnings on the workload, so that its author reads them at once
//! and not in the events of a controller. It never refuses: without a parameter and on any error it lets pass.

use super::{
    CREATE_UPDATE, Match, MissingParam, Mode, Policy, pods, tenant_namespaces, validation, variable,
};

/// The warnings for workloads.
pub(super) fn policy() -> Policy {
    let mut variables = vec![
        variable("creating", "true"),
        variable("probe", "false"),
        variable(
            "template",
            "dyn(request.kind.kind == 'CronJob' ? dyn(object.spec).jobTemplate.spec.template : dyn(object.spec).template)",
        ),
        variable("spec", "variables.template.spec"),
        variable("annotations", "variables.template.?metadata.?annotations.orValue({})"),
        variable("oldAnnotations", "{}"),
        variable("askedBefore", "[]"),
    ];
    variables.extend(pods::container_variables());
    variables.extend(pods::device_variables());
    let mut validations = pods::device_validations();
    validations.push(validation(
        "!(request.kind.kind == 'DaemonSet' && variables.asked != []
  && !params.spec.tolerations.exists(t, t.key == 'node.kubernetes.io/unschedulable'))",
        "the pods of a DaemonSet tolerate cordoned nodes, so they may not ask for devices; use a Deployment or a Job",
    ));
    Policy {
        name: "gpuaas-tenant-templates",
        mode: Mode::Warn,
        param: Some(MissingParam::Allow),
        namespaces: tenant_namespaces(),
        matches: vec![
            Match("batch", "v1", CREATE_UPDATE, &["jobs", "cronjobs"]),
            Match("apps", "v1", CREATE_UPDATE, &["deployments", "statefulsets", "daemonsets"]),
        ],
        conditions: vec![variable(
            "of-our-concern",
            "request.operation == 'CREATE' || object.spec != oldObject.spec",
        )],
        variables,
        validations,
    }
}
