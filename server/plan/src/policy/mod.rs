//! The admission policies of every tenant namespace, and the kind that they read their parameters from.
//!
//! All expressions are written here, once; [`chart_files`] renders them into `charts/gpuaas/files`, from which both
//! Helm and [`crate::registration`] take them. The rules and the traps behind the odd-looking parts were proved on a
//! real API server; the corpus in `tests/it/tenant_policy` holds an example of each.

mod baseline;
mod claims;
mod crd;
mod guards;
mod pods;
pub mod probe;
mod services;
mod side_doors;
mod templates;
pub mod tenant;

use serde_json::{Value, json};

use crate::labels;
use crate::yaml;

/// Annotation keys of device injection, for a key `k`: CDI, NRI and the readers derived from them take the part
/// before the slash for the domain, with or without something in front, and a key without slash for all containers.
const OPENS_DEVICES: &str = "['cdi.k8s.io', 'nri.io', 'noderesource.dev'].exists(d, \
                             k.split('/')[0] == d || k.split('/')[0].endsWith('.' + d))";

/// Whether the toleration `t` is one of the granted ones.
const TOLERATION_GRANTED: &str = "params.spec.tolerations.exists(a, a.key == t.?key.orValue('')
  && (!has(a.effect) || a.effect == t.?effect.orValue(''))
  && (!has(a.value) || (t.?operator.orValue('Equal') == 'Equal' && t.?value.orValue('') == a.value)))";

/// One named expression; later ones may use it.
struct Variable {
    name: &'static str,
    expression: String,
}

fn variable(name: &'static str, expression: impl Into<String>) -> Variable {
    Variable { name, expression: expression.into() }
}

/// One rule of a policy: what must hold, and what a person reads if it does not.
struct Validation {
    expression: String,
    /// Shown where there is no message expression, or where its text is too long for the API server.
    message: &'static str,
    /// The text with the numbers and names of the case.
    says: Option<String>,
}

fn validation(expression: impl Into<String>, message: &'static str) -> Validation {
    Validation { expression: expression.into(), message, says: None }
}

impl Validation {
    /// Adds the message with the names of the case. The API server evaluates it on every request, also when the rule
    /// holds, and a failure there is a refusal; hence the guard.
    fn says(mut self, guard: &str, text: &str) -> Self {
        self.says = Some(format!("{guard} ? '' : {text}"));
        self
    }
}

/// What happens to a request in a namespace without `TenantPolicy`.
enum MissingParam {
    Deny,
    Allow,
}

/// How a policy takes part in admission.
enum Mode {
    /// Refuses and writes the refusal into the audit log; an expression that fails refuses too.
    Enforce,
    /// Only warns the author; whatever goes wrong with the policy itself lets the request pass.
    Warn,
}

/// Which requests a policy sees: group, version, operations, resources.
struct Match(&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const CREATE: &[&str] = &["CREATE"];
const UPDATE: &[&str] = &["UPDATE"];
const CREATE_UPDATE: &[&str] = &["CREATE", "UPDATE"];

/// One admission policy with its binding.
struct Policy {
    name: &'static str,
    mode: Mode,
    /// Whether the policy reads the `TenantPolicy` of the namespace.
    param: Option<MissingParam>,
    /// Requirements on the labels of the namespace; none for policies that do not look at tenants only.
    namespaces: Vec<Value>,
    matches: Vec<Match>,
    conditions: Vec<Variable>,
    variables: Vec<Variable>,
    validations: Vec<Validation>,
}

fn tenant_namespaces() -> Vec<Value> {
    vec![json!({"key": labels::TENANT, "operator": "Exists"})]
}

impl Policy {
    fn body(&self) -> Value {
        let rules: Vec<_> = self.matches.iter().map(Match::body).collect();
        let mut constraints = json!({"matchPolicy": "Equivalent", "resourceRules": rules});
        if !self.namespaces.is_empty() {
            constraints["namespaceSelector"] = json!({"matchExpressions": self.namespaces});
        }
        let mut spec = json!({
            "failurePolicy": match self.mode { Mode::Enforce => "Fail", Mode::Warn => "Ignore" },
            "matchConstraints": constraints,
            "validations": self.validations.iter().map(Validation::body).collect::<Vec<_>>(),
        });
        if self.param.is_some() {
            spec["paramKind"] = json!({"apiVersion": tenant::API_VERSION, "kind": tenant::KIND});
        }
        for (field, list) in [("matchConditions", &self.conditions), ("variables", &self.variables)] {
            if !list.is_empty() {
                spec[field] = list.iter().map(Variable::body).collect();
            }
        }
        self.object("ValidatingAdmissionPolicy", &spec)
    }

    fn binding(&self) -> Value {
        let actions = match self.mode {
            Mode::Enforce => json!(["Deny", "Audit"]),
            Mode::Warn => json!(["Warn"]),
        };
        let mut spec = json!({"policyName": self.name, "validationActions": actions});
        if let Some(missing) = &self.param {
            let action = match missing {
                MissingParam::Deny => "Deny",
                MissingParam::Allow => "Allow",
            };
            // No namespace: the one of the object that is judged.
            spec["paramRef"] = json!({"name": labels::TENANT_POLICY_NAME, "parameterNotFoundAction": action});
        }
        self.object("ValidatingAdmissionPolicyBinding", &spec)
    }

    fn object(&self, kind: &str, spec: &Value) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": static_metadata(self.name), "spec": spec,
        })
    }
}

impl Match {
    fn body(&self) -> Value {
        let Self(group, version, operations, resources) = self;
        json!({
            "apiGroups": [group], "apiVersions": [version], "operations": operations, "resources": resources,
            "scope": "*",
        })
    }
}

impl Variable {
    fn body(&self) -> Value {
        json!({"name": self.name, "expression": self.expression})
    }
}

impl Validation {
    fn body(&self) -> Value {
        // Without a reason a refusal reads `The pods "x" is invalid: : Validating…`, and is a 422.
        let mut body = json!({"expression": self.expression, "message": self.message, "reason": "Forbidden"});
        if let Some(says) = &self.says {
            body["messageExpression"] = json!(says);
        }
        body
    }
}

/// Metadata of an object that all tenants depend on: removing the chart leaves it in place, because without it their
/// namespaces stand open, or, if only the kind goes, stand still.
fn static_metadata(name: &str) -> Value {
    json!({
        "name": name,
        "labels": {labels::MANAGED_BY: labels::MANAGER},
        "annotations": {"helm.sh/resource-policy": "keep"},
    })
}

fn policies() -> Vec<Policy> {
    let mut policies = vec![
        pods::policy(),
        side_doors::policy(),
        claims::policy(),
        baseline::policy(),
        services::policy(),
        templates::policy(),
    ];
    policies.extend(guards::policies());
    policies
}

/// The generated files of `charts/gpuaas/files`: name and text. The same source gives the same bytes.
#[must_use]
pub fn chart_files() -> Vec<(&'static str, String)> {
    let policies = policies();
    let all = |objects: Vec<Value>| {
        let documents: Vec<_> = objects.iter().map(yaml::document).collect();
        format!(
            "# Generated from server/plan/src/policy; UPDATE_CHART=1 cargo test -p gpuaas-plan writes it.\n---\n{}",
            documents.join("---\n")
        )
    };
    vec![
        ("kind.yaml", all(vec![crd::body()])),
        ("policies.yaml", all(policies.iter().map(Policy::body).collect())),
        ("policy-bindings.yaml", all(policies.iter().map(Policy::binding).collect())),
    ]
}

#[cfg(test)]
mod tests;
