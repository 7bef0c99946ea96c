//! Finds the field that is wrong inside an ask. serde reads a tagged enum in one piece and can name only the whole.

use chrono::NaiveDate;
use domain::{
    api::FieldError,
    id::GrantId,
    name::OfferingName,
    resource::{AMOUNT_MAX, parse_amount},
    shape::Shape,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::body::explain;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "mirrors Ask::New; only whether and where it fails to parse is of interest")]
struct New {
    kind: String,
    offering: OfferingName,
    shape: Shape,
    #[serde(default)]
    partition: bool,
    until: NaiveDate,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "mirrors Ask::Change; only whether and where it fails to parse is of interest")]
struct Change {
    kind: String,
    grant: GrantId,
    shape: Shape,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "mirrors Ask::Extend; only whether and where it fails to parse is of interest")]
struct Extend {
    kind: String,
    grant: GrantId,
    until: NaiveDate,
}

/// What is wrong in an ask; `prefix` is the path to it with a dot at its end.
pub(super) fn locate(ask: &Value, prefix: &str) -> Option<FieldError> {
    if let Some(found) = ask.get("shape").and_then(|shape| locate_shape(shape, &format!("{prefix}shape."))) {
        return Some(found);
    }
    match ask.get("kind").and_then(Value::as_str) {
        Some("new") => fault::<New>(ask, prefix),
        Some("change") => fault::<Change>(ask, prefix),
        Some("extend") => fault::<Extend>(ask, prefix),
        Some(other) => {
            let message = format!("`{other}` is no kind of request; write new, change or extend");
            Some(FieldError::new(format!("{prefix}kind"), message))
        }
        None if ask.is_object() => {
            Some(FieldError::new(format!("{prefix}kind"), "is missing; write new, change or extend"))
        }
        None => None,
    }
}

/// What is wrong in the amounts of a shape.
pub(super) fn locate_shape(shape: &Value, prefix: &str) -> Option<FieldError> {
    ["nodes", "per_node"].into_iter().find_map(|name| {
        let message = wrong_amount(shape.get(name)?)?;
        Some(FieldError::new(format!("{prefix}{name}"), message))
    })
}

fn wrong_amount(value: &Value) -> Option<String> {
    // Zero is a number; whether it makes sense is the rule's business.
    if value.as_u64().is_some_and(|n| n <= u64::from(AMOUNT_MAX)) {
        return None;
    }
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    match parse_amount(&text) {
        // 1e30 is a whole number, but no amount.
        Err(_) if value.as_f64().is_some_and(|n| n > f64::from(AMOUNT_MAX)) => {
            Some(format!("`{text}` is more than {AMOUNT_MAX}"))
        }
        Err(error) => Some(error.to_string()),
        Ok(_) => Some(format!("must be a number, not text: {text}")),
    }
}

fn fault<T: DeserializeOwned>(value: &Value, prefix: &str) -> Option<FieldError> {
    let error = serde_path_to_error::deserialize::<_, T>(value.clone()).err()?;
    let found = explain(&error, "");
    Some(FieldError::new(format!("{prefix}{}", found.field), found.message))
}
