//! What the Pod Security level `baseline` refuses and the pod policy does not: for namespaces that must have level
//! `privileged`, because their nodes cannot raise memlock and pods need IPC_LOCK.

use serde_json::json;

use super::{CREATE, Match, Mode, Policy, UPDATE, Variable, pods, tenant_namespaces, validation, variable};

/// The rules of the baseline, where Pod Security does not enforce it.
pub(super) fn policy() -> Policy {
    let mut namespaces = tenant_namespaces();
    // True also where the label is absent.
    namespaces.push(json!({
        "key": "pod-security.kubernetes.io/enforce", "operator": "NotIn", "values": ["baseline", "restricted"],
    }));
    Policy {
        name: "gpuaas-tenant-baseline",
        mode: Mode::Enforce,
        param: None,
        namespaces,
        matches: vec![
            Match("", "v1", CREATE, &["pods"]),
            Match("", "v1", UPDATE, &["pods/ephemeralcontainers"]),
        ],
        conditions: vec![],
        variables: variables(),
        validations: vec![
            validation(
                "variables.scopes.all(s, s.?seccompProfile.?type.orValue('') != 'Unconfined')",
                "seccompProfile Unconfined is refused; remove it, or use RuntimeDefault",
            ),
            validation(
                "variables.scopes.all(s, s.?appArmorProfile.?type.orValue('') != 'Unconfined')
  && (!variables.creating || object.metadata.?annotations.orValue({}).all(k,
    !k.startsWith('container.apparmor.security.beta.kubernetes.io/')
    || object.metadata.annotations[k] == 'runtime/default' || object.metadata.annotations[k].startsWith('localhost/')))",
                "an AppArmor profile must be RuntimeDefault or Localhost; remove it, or use RuntimeDefault",
            ),
            validation(
                "variables.scopes.all(s,
  s.?seLinuxOptions.?type.orValue('') in ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t']
  && s.?seLinuxOptions.?user.orValue('') == '' && s.?seLinuxOptions.?role.orValue('') == '')",
                "seLinuxOptions may have no user and no role, and of the types only those of containers; remove it",
            ),
            validation(
                "!variables.creating || variables.spec.?securityContext.?sysctls.orValue([]).all(s, s.name in [
  'kernel.shm_rmid_forced', 'net.ipv4.ip_local_port_range', 'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.tcp_syncookies', 'net.ipv4.ping_group_range', 'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time', 'net.ipv4.tcp_fin_timeout', 'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes', 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem'])",
                "a sysctl of securityContext is not one of the safe ones; remove it",
            ),
            validation(
                "variables.hosts.all(h, h == '')",
                "probes and lifecycle hooks may not name a host; remove it, the pod's own address is the default",
            ),
        ],
    }
}

fn variables() -> Vec<Variable> {
    let hosts: Vec<_> =
        ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle.?postStart", "lifecycle.?preStop"]
            .iter()
            .flat_map(|hook| {
                ["httpGet", "tcpSocket"].map(|action| format!("c.?{hook}.?{action}.?host.orValue('')"))
            })
            .collect();
    vec![
        variable("creating", "request.operation == 'CREATE'"),
        variable("spec", "dyn(object.spec)"),
        pods::inits(),
        pods::judged(),
        variable(
            "scopes",
            "variables.judged.map(c, dyn(c.?securityContext.orValue({})))
  + (variables.creating ? [dyn(variables.spec.?securityContext.orValue({}))] : [])",
        ),
        variable("hosts", format!("variables.judged.map(c, [\n  {}].join(''))", hosts.join(",\n  "))),
    ]
}
