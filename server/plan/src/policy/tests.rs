use std::path::PathBuf;

use super::*;

fn chart_folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/gpuaas/files"))
}

/// `UPDATE_CHART=1 cargo test -p gpuaas-plan` writes the files instead of comparing them.
#[test]
fn the_committed_chart_is_what_the_source_gives() {
    for (name, text) in chart_files() {
        let path = chart_folder().join(name);
        if std::env::var_os("UPDATE_CHART").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text,
            "charts/gpuaas/files/{name} is not what server/plan/src/policy gives; UPDATE_CHART=1 cargo test -p \
             gpuaas-plan writes it"
        );
    }
}

/// Names behind `variables.` in an expression.
fn used(expression: &str) -> Vec<&str> {
    expression
        .split("variables.")
        .skip(1)
        .filter_map(|rest| rest.split(|char: char| !char.is_ascii_alphanumeric()).next())
        .collect()
}

#[test]
fn every_variable_is_defined_once_and_before_it_is_used() {
    for policy in policies() {
        let mut defined = Vec::new();
        for Variable { name, expression } in &policy.variables {
            for used in used(expression) {
                assert!(defined.contains(&used), "{}: {name} uses {used} before it is defined", policy.name);
            }
            assert!(!defined.contains(name), "{}: {name} is defined twice", policy.name);
            defined.push(name);
        }
        for Validation { expression, says, .. } in &policy.validations {
            for used in used(expression).into_iter().chain(says.as_deref().map(used).unwrap_or_default()) {
                assert!(defined.contains(&used), "{}: a rule uses {used}, which is not defined", policy.name);
            }
        }
        for Variable { expression, .. } in &policy.conditions {
            assert!(
                !expression.contains("variables.") && !expression.contains("namespaceObject"),
                "{}",
                policy.name
            );
        }
    }
}

#[test]
fn every_variable_is_used() {
    for policy in policies() {
        let texts: Vec<&str> = policy
            .variables
            .iter()
            .map(|variable| variable.expression.as_str())
            .chain(
                policy
                    .validations
                    .iter()
                    .flat_map(|rule| [rule.expression.as_str()].into_iter().chain(rule.says.as_deref())),
            )
            .collect();
        for Variable { name, .. } in &policy.variables {
            assert!(
                texts.iter().any(|text| used(text).contains(name)),
                "{}: {name} is not used",
                policy.name
            );
        }
    }
}

#[test]
fn pods_and_templates_share_their_rules_for_devices() {
    let (pods, templates) = (pods::policy(), templates::policy());
    for shared in pods::container_variables().iter().chain(&pods::device_variables()) {
        for policy in [&pods, &templates] {
            let own = policy.variables.iter().find(|own| own.name == shared.name).unwrap();
            assert_eq!(own.expression, shared.expression, "{}", policy.name);
        }
    }
    for (pod, template) in pods.validations.iter().zip(&templates.validations).take(7) {
        assert_eq!(pod.body(), template.body());
    }
}

#[test]
fn a_refusal_says_what_to_do_and_fits_into_one_line() {
    for policy in policies() {
        for Validation { message, .. } in &policy.validations {
            assert!(!message.contains('\n') && !message.is_empty(), "{}: {message:?}", policy.name);
        }
    }
}

#[test]
fn only_the_templates_policy_lets_pass_what_it_cannot_judge() {
    for policy in policies() {
        let (body, binding) = (policy.body(), policy.binding());
        let warns = policy.name == "gpuaas-tenant-templates";
        assert_eq!(body["spec"]["failurePolicy"], if warns { "Ignore" } else { "Fail" });
        assert_eq!(
            binding["spec"]["validationActions"],
            if warns { json!(["Warn"]) } else { json!(["Deny", "Audit"]) }
        );
        let missing = &binding["spec"]["paramRef"]["parameterNotFoundAction"];
        assert_eq!(missing.is_null(), policy.param.is_none());
        if !missing.is_null() {
            assert_eq!(missing, if warns { "Allow" } else { "Deny" });
        }
    }
}
