//! Rules for pods: devices, pools, networks, tolerations and all that opens a node. The template policy takes the
//! rules for devices and networks from here.
//!
//! On CREATE everything is judged, on UPDATE only what changed: otherwise a narrowed `TenantPolicy` would keep
//! finished pods from losing their finalizers.

use super::{
    CREATE_UPDATE, Match, MissingParam, Mode, OPENS_DEVICES, Policy, TOLERATION_GRANTED, UPDATE, Validation,
    Variable, tenant_namespaces, validation, variable,
};
use crate::labels;

const NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";

/// The rules for pods and their subresources.
pub(super) fn policy() -> Policy {
    // `request.subResource` does not exist on the main resource, so it is read as optional everywhere.
    let always = "request.operation == 'CREATE' || request.?subResource.orValue('') in ['ephemeralcontainers', 'resize']";
    let changed = "object.metadata.?annotations != oldObject.metadata.?annotations \
                   || object.spec.?tolerations != oldObject.spec.?tolerations";
    let mut variables = request_variables();
    variables.extend(container_variables());
    variables.push(asked_before());
    variables.extend(device_variables());
    variables.extend(node_variables());
    let mut validations = device_validations();
    validations.extend(annotation_and_container_validations());
    validations.extend(spec_validations());
    Policy {
        name: "gpuaas-tenant-pods",
        mode: Mode::Enforce,
        param: Some(MissingParam::Deny),
        namespaces: tenant_namespaces(),
        matches: vec![
            Match("", "v1", CREATE_UPDATE, &["pods"]),
            Match("", "v1", UPDATE, &["pods/ephemeralcontainers", "pods/resize"]),
        ],
        conditions: vec![
            variable("not-going-away", format!("{always} || !has(object.metadata.deletionTimestamp)")),
            variable("of-our-concern", format!("{always} || {changed}")),
        ],
        variables,
        validations,
    }
}

/// The names with a slash that the containers of a list ask for, as a flat list. It is flattened by join and split,
/// which every version has; a name cannot hold a comma.
fn names_asked(containers: &str) -> String {
    format!(
        "{containers}.map(c,
  (c.?resources.?limits.orValue({{}}).map(k, k) + c.?resources.?requests.orValue({{}}).map(k, k))
    .filter(k, k.contains('/')).join(',')
).join(',').split(',').filter(k, k != '')"
    )
}

/// The amount of a resource that the container `c` asks for.
fn amount(resource: &str) -> String {
    format!("quantity(c.?resources.?limits[?{resource}].orValue('0')).asInteger()")
}

fn request_variables() -> Vec<Variable> {
    vec![
        variable("creating", "request.operation == 'CREATE'"),
        variable(
            "probe",
            format!(
                "request.?dryRun.orValue(false) && '{}' in object.metadata.?labels.orValue({{}})",
                labels::PROBE
            ),
        ),
        variable("spec", "dyn(object.spec)"),
        variable("annotations", "object.metadata.?annotations.orValue({})"),
        variable("oldAnnotations", "variables.creating ? {} : oldObject.metadata.?annotations.orValue({})"),
    ]
}

/// What the containers are and ask for. Needs `spec`.
pub(super) fn container_variables() -> Vec<Variable> {
    vec![
        inits(),
        variable("sidecars", "variables.inits.filter(c, c.?restartPolicy.orValue('') == 'Always')"),
        variable("running", "variables.spec.containers + variables.sidecars"),
        variable("first", "variables.inits.filter(c, c.?restartPolicy.orValue('') != 'Always')"),
        variable("asked", names_asked("(variables.spec.containers + variables.inits + [variables.spec])")),
    ]
}

/// The init containers, sidecars among them. Needs `spec`.
pub(super) fn inits() -> Variable {
    variable("inits", "variables.spec.?initContainers.orValue([])")
}

/// Containers that a request brings: all of a new pod, on an update the new ephemeral ones. Needs `creating`, `spec`
/// and `inits`.
pub(super) fn judged() -> Variable {
    variable(
        "judged",
        "variables.creating ? variables.spec.containers + variables.inits
  : variables.spec.?ephemeralContainers.orValue([]).filter(c,
      !dyn(oldObject.spec).?ephemeralContainers.orValue([]).exists(o, o.name == c.name))",
    )
}

/// Names that the pod asked for already; only a resize can add some.
fn asked_before() -> Variable {
    let before = names_asked(
        "(dyn(oldObject.spec).containers + dyn(oldObject.spec).?initContainers.orValue([]) + [dyn(oldObject.spec)])",
    );
    variable(
        "askedBefore",
        format!(
            "variables.creating ? [] : request.?subResource.orValue('') != 'resize' ? variables.asked : {before}"
        ),
    )
}

/// Devices and networks. Needs `creating`, `probe`, `annotations`, `oldAnnotations`, `askedBefore` and
/// [`container_variables`].
pub(super) fn device_variables() -> Vec<Variable> {
    let mut variables = resource_variables();
    variables.extend(network_variables());
    variables
}

fn resource_variables() -> Vec<Variable> {
    let each = amount("r.name");
    vec![
        variable("granted", "params.spec.resources.map(r, r.name)"),
        variable(
            "foreign",
            "variables.asked.filter(k, !(k in variables.granted) && !(k in variables.askedBefore))",
        ),
        // `together` is what runs at the same time, `first` the largest init container beside all sidecars: an upper
        // bound, because sidecars that start later are counted too.
        variable(
            "amounts",
            format!(
                "!variables.creating || variables.asked == [] ? []
  : params.spec.resources.filter(r, r.name in variables.asked).map(r, {{
      'name': dyn(r.name),
      'pool': dyn(r.?pool.orValue('')),
      'max': dyn(r.?perPodMax.orValue(0)),
      'together': dyn(variables.running.map(c, {each}).sum()),
      'first': dyn((variables.first.map(c, {each}) + [0]).max() + variables.sidecars.map(c, {each}).sum())
    }})"
            ),
        ),
        variable("selected", "variables.spec.?nodeSelector[?params.spec.poolLabel].orValue('')"),
        variable("misplaced", "variables.amounts.filter(a, a.pool != '' && a.pool != variables.selected)"),
        variable(
            "tooMany",
            "variables.probe ? [] : variables.amounts.filter(a, a.max > 0 && (a.together > a.max || a.first > a.max))",
        ),
        variable("none", "variables.amounts.filter(a, a.together == 0 && a.first == 0)"),
    ]
}

/// The two forms of the networks annotation that are understood without a JSON reader, which CEL does not have.
/// Multus reads keys in any case and takes the last of two, so the whole text has to follow one grammar.
fn readable() -> String {
    const ELEMENT: &str = r#"\{[ \n]*"name"[ \n]*:[ \n]*"[-a-z0-9]+"[ \n]*(,[ \n]*"interface"[ \n]*:[ \n]*"[a-z0-9]{1,15}"[ \n]*)?(,[ \n]*"ips"[ \n]*:[ \n]*\[[ \n]*"[0-9a-f.:/]+"([ \n]*,[ \n]*"[0-9a-f.:/]+")*[ \n]*\][ \n]*)?\}"#;
    const NAME: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(@[a-z0-9]{1,15})?";
    format!(
        r"size(variables.networks) <= 8192 && (variables.json
  ? variables.networks.matches(r'^[ \n]*\[[ \n]*{ELEMENT}([ \n]*,[ \n]*{ELEMENT})*[ \n]*\][ \n]*$')
  : variables.networks.matches(r'^[ \n]*{NAME}[ \n]*(,[ \n]*{NAME}[ \n]*)*$'))"
    )
}

fn network_variables() -> Vec<Variable> {
    vec![
        variable("networks", format!("variables.annotations[?'{NETWORKS}'].orValue('')")),
        variable(
            "fresh",
            format!(
                "variables.networks != '' && variables.networks != variables.oldAnnotations[?'{NETWORKS}'].orValue('')"
            ),
        ),
        // How Multus itself tells the two forms apart.
        variable(
            "json",
            r#"variables.networks.contains('[') || variables.networks.contains('{') || variables.networks.contains('"')"#,
        ),
        variable("readable", readable()),
        variable(
            "attached",
            r#"!variables.fresh || !variables.readable ? []
  : variables.json ? variables.networks.findAll(r'"name"[ \n]*:[ \n]*"[-a-z0-9]+"').map(m, m.split('"')[3])
  : variables.networks.split(',').map(n, n.trim().split('@')[0])"#,
        ),
        variable(
            "strange",
            "variables.attached.filter(n, !params.spec.networks.exists(p,
  p.name == n && (!has(p.resource) || p.resource in variables.granted)))",
        ),
        variable(
            "used",
            "variables.attached == [] ? [] : variables.attached.map(n,
  params.spec.networks.filter(p, p.name == n && has(p.resource)).map(p, p.resource).join('')).filter(r, r != '')",
        ),
        // Devices of init containers are not the pod's any more when Multus asks for them.
        variable(
            "wanting",
            format!(
                "variables.used == [] ? [] : variables.granted.filter(r, r in variables.used
  && variables.used.filter(x, x == r).size() > variables.running.map(c, {}).sum())",
                amount("r")
            ),
        ),
    ]
}

fn node_variables() -> Vec<Variable> {
    vec![
        judged(),
        variable(
            "tolerations",
            "variables.spec.?tolerations.orValue([]).filter(t,
  variables.creating || !(t in dyn(oldObject.spec).?tolerations.orValue([])))",
        ),
        variable(
            "daemon",
            "request.userInfo.username in ['system:serviceaccount:kube-system:daemon-set-controller', 'system:kube-controller-manager']",
        ),
        variable("refused", refused_tolerations()),
        variable(
            "capabilities",
            "variables.judged.map(c, c.?securityContext.?capabilities.?add.orValue([]).filter(x,
  !(x in params.spec.capabilities) && !(x in ['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL',
    'MKNOD', 'NET_BIND_SERVICE', 'SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'])
).join(',')).filter(s, s != '')",
        ),
        // A courtesy, not a wall: an image can carry the same variables, and only the node can refuse those.
        variable(
            "opening",
            "variables.judged.map(c, c.?env.orValue([])
  .filter(e, e.name in ['NVIDIA_VISIBLE_DEVICES', 'NVIDIA_MOFED', 'NVIDIA_NVSWITCH', 'NVIDIA_IMEX_CHANNELS'])
  .map(e, 'container ' + c.name + ' sets ' + e.name).join(', ')
).filter(s, s != '')",
        ),
    ]
}

/// Tolerations that neither Kubernetes itself adds, nor come with asking for the resource, nor are granted.
fn refused_tolerations() -> String {
    format!(
        "variables.tolerations.filter(t, !(
  (t.?key.orValue('') in ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
    && t.?effect.orValue('') == 'NoExecute')
  || (t.?key.orValue('') in variables.asked && t.?effect.orValue('') == 'NoSchedule')
  || (variables.daemon && t.?effect.orValue('') == 'NoSchedule' && (
    t.?key.orValue('') in ['node.kubernetes.io/disk-pressure', 'node.kubernetes.io/memory-pressure', 'node.kubernetes.io/pid-pressure']
    || (t.?key.orValue('') == 'node.kubernetes.io/unschedulable' && variables.asked == [])))
  || {TOLERATION_GRANTED}
))"
    )
}

/// Rules 1 to 7: devices and networks. Needs [`device_variables`].
pub(super) fn device_validations() -> Vec<Validation> {
    let mut validations = resource_validations();
    validations.extend(network_validations());
    validations
}

fn resource_validations() -> Vec<Validation> {
    vec![
        validation(
            "variables.foreign == []",
            "the pod asks for a resource that is not granted to this namespace; use what is granted, or request a grant",
        )
        .says(
            "variables.foreign == []",
            "variables.foreign[0] + ' is not granted to this namespace; it may use '
  + (variables.granted == [] ? 'no device resource' : variables.granted.join(', '))
  + '. Use what is granted, or request a grant of ' + variables.foreign[0]",
        ),
        validation(
            "variables.misplaced == []",
            "the pod asks for a resource of a pool that it does not select; set the pool's label in nodeSelector",
        )
        .says(
            "variables.misplaced == []",
            "variables.misplaced[0].name + ' belongs to pool ' + variables.misplaced[0].pool + ', the pod selects '
  + (variables.selected == '' ? 'none' : variables.selected)
  + '. Set nodeSelector ' + params.spec.poolLabel + ': ' + variables.misplaced[0].pool",
        ),
        validation(
            "variables.tooMany == []",
            "the pod asks for more of a resource than one pod may have; ask for less in each pod and run more pods",
        )
        .says(
            "variables.tooMany == []",
            "'the pod asks for ' + string([variables.tooMany[0].together, variables.tooMany[0].first].max())
  + ' of ' + variables.tooMany[0].name + ', one pod may have ' + string(variables.tooMany[0].max)
  + '. Ask for at most ' + string(variables.tooMany[0].max) + ' in each pod and run more pods'",
        ),
        // The amount 0 would still bring the toleration of the resource's taint.
        validation(
            "variables.none == []",
            "the pod asks for 0 of a resource; leave the line out, or ask for at least 1",
        )
        .says(
            "variables.none == []",
            "'the pod asks for 0 of ' + variables.none[0].name + '. Leave the line out, or ask for at least 1'",
        ),
    ]
}

fn network_validations() -> Vec<Validation> {
    let held = amount("variables.wanting[0]");
    vec![
        validation(
            "!variables.fresh || variables.readable",
            r#"annotation k8s.v1.cni.cncf.io/networks must be the short form (net-a, net-b@net2) or plain JSON ([{"name": "net-a", "interface": "net1", "ips": ["10.0.0.1/24"]}]: these keys in this order, no others), with names of this namespace and at most 8192 characters. Write the short form"#,
        ),
        validation(
            "variables.strange == []",
            "the pod attaches a network that is not granted to this namespace; attach what is granted, or request a grant",
        )
        .says(
            "variables.strange == []",
            "'network ' + variables.strange[0] + ' is not granted to this namespace; it may attach '
  + (params.spec.networks == [] ? 'none' : params.spec.networks.map(n, n.name).join(', '))
  + '. Attach what is granted, or request a grant of ' + variables.strange[0]",
        ),
        validation(
            "variables.wanting == []",
            "the pod attaches more networks than the devices it asks for; ask for one for each network, or attach fewer",
        )
        .says(
            "variables.wanting == []",
            &format!(
                "string(variables.used.filter(x, x == variables.wanting[0]).size()) + ' attachments need '
  + variables.wanting[0] + ', the containers ask for ' + string(variables.running.map(c, {held}).sum())
  + '. Ask for one for each network, or attach fewer'"
            ),
        ),
    ]
}

fn annotation_and_container_validations() -> Vec<Validation> {
    vec![
        validation(
            format!(
                "!variables.annotations.exists(k,
  (k == 'v1.multus-cni.io/default-network' || {OPENS_DEVICES})
  && variables.annotations[k] != variables.oldAnnotations[?k].orValue(''))"
            ),
            "annotation v1.multus-cni.io/default-network replaces the main network, and those of cdi.k8s.io, nri.io and noderesource.dev open devices that were not granted; remove it",
        ),
        validation(
            "variables.refused == []",
            "the pod has a toleration that is not granted to this namespace; remove it",
        )
        .says("variables.refused == []", TOLERATION_REFUSED),
        validation(
            "variables.opening == []",
            "a container sets an environment variable that opens devices that were not granted; remove it: the devices that a container asks for are visible without it",
        )
        .says(
            "variables.opening == []",
            "variables.opening.join(', ') + ', which opens devices that were not granted. Remove it: the devices that a container asks for are visible without it'",
        ),
        validation(
            "variables.judged.all(c, !c.?securityContext.?privileged.orValue(false))",
            "privileged containers see every device of the node; remove securityContext.privileged",
        ),
        validation(
            "variables.capabilities == []",
            "a container adds a capability that is not granted to this namespace; remove it",
        )
        .says(
            "variables.capabilities == []",
            "'capability ' + variables.capabilities[0] + ' is not granted to this namespace; it may add '
  + (params.spec.capabilities == [] ? 'only those of the Pod Security baseline' : params.spec.capabilities.join(', '))
  + '. Remove it'",
        ),
    ]
}

const TOLERATION_REFUSED: &str = "variables.daemon && variables.asked != []
  ? 'a DaemonSet may not ask for ' + variables.asked[0] + ', its pods tolerate cordoned nodes. Use a Deployment or a Job'
  : 'the toleration of ' + (variables.refused[0].?key.orValue('') == '' ? 'every taint' : variables.refused[0].key)
    + ' (effect ' + variables.refused[0].?effect.orValue('any') + ') is not granted to this namespace; it may tolerate taints named like a device resource that the pod asks for'
    + params.spec.tolerations.map(t, ', ' + t.key + (has(t.value) ? '=' + t.value : '') + (has(t.effect) ? ':' + t.effect : '')).join('')
    + '. Remove it'";

fn spec_validations() -> Vec<Validation> {
    let mut validations = vec![
        validation(
            "!variables.creating || !(variables.spec.?hostNetwork.orValue(false) || variables.spec.?hostPID.orValue(false) || variables.spec.?hostIPC.orValue(false))",
            "hostNetwork, hostPID and hostIPC are refused; remove them, and attach fast networks with the annotation k8s.v1.cni.cncf.io/networks",
        ),
        validation(
            "!variables.creating || variables.judged.all(c, c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0))",
            "hostPort is refused; use a Service",
        ),
        validation(
            "!variables.creating || variables.spec.?volumes.orValue([]).all(v, !has(v.hostPath))",
            "hostPath volumes are refused; use a PersistentVolumeClaim or an emptyDir",
        ),
        validation(
            "!variables.creating || variables.spec.?nodeName.orValue('') == ''",
            "spec.nodeName passes the scheduler by; remove it and use nodeSelector or affinity",
        ),
    ];
    validations.extend(class_validations());
    validations
}

fn class_validations() -> Vec<Validation> {
    let runtime = "variables.spec.?runtimeClassName.orValue('') in params.spec.runtimeClasses + ['']";
    let priority = "variables.spec.?priorityClassName.orValue('') in params.spec.priorityClasses + ['']";
    let scheduler = "variables.spec.?schedulerName.orValue('') in params.spec.schedulers";
    vec![
        validation(
            format!("!variables.creating || {runtime}"),
            "runtimeClassName is not granted to this namespace; remove it, or use what is granted",
        )
        .says(
            runtime,
            "'runtimeClassName ' + variables.spec.runtimeClassName + ' is not granted to this namespace; it may have '
  + (params.spec.runtimeClasses == [] ? 'none' : params.spec.runtimeClasses.join(', '))
  + '. Remove it, or use what is granted'",
        ),
        validation(
            format!("!variables.creating || {priority}"),
            "priorityClassName is not granted to this namespace; remove it, or use what is granted",
        )
        .says(
            priority,
            "'priorityClassName ' + variables.spec.priorityClassName + ' is not granted to this namespace; it may have '
  + (params.spec.priorityClasses == [] ? 'none' : params.spec.priorityClasses.join(', '))
  + '. Remove it, or use what is granted; if you set none, it is the default class of the cluster and has to be granted to you'",
        ),
        validation(
            format!("!variables.creating || {scheduler}"),
            "schedulerName is not granted to this namespace; use one that is",
        )
        .says(
            scheduler,
            "'schedulerName ' + variables.spec.?schedulerName.orValue('') + ' is not granted to this namespace. Use one of ' + params.spec.schedulers.join(', ')",
        ),
        validation(
            "!variables.creating || variables.spec.?resourceClaims.orValue([]) == [] || params.spec.deviceClasses != []",
            "no device class is granted to this namespace, so a pod may not have resourceClaims; ask for a device resource, or request a grant of a device class",
        ),
    ]
}
