//! Extended resources: exact names and whole amounts.

use serde::{Deserialize, Serialize};

/// Largest amount that gpuaas handles: enough for any cluster, small enough that sums never overflow.
pub const AMOUNT_MAX: u32 = 1_000_000;

/// Longest prefix: its quota key, `requests.` and the name, must be a qualified name too (253 characters).
const PREFIX_MAX: usize = 244;

/// Why a text is not the name of an extended resource.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{given}` is not the name of an extended resource: {why}; it looks like `nvidia.com/gpu`")]
pub struct ResourceNameError {
    given: String,
    why: &'static str,
}

/// Name of an extended resource as a node advertises it, for example `nvidia.com/mig-1g.10gb`.
///
/// A qualified name with a prefix: the prefix is a DNS subdomain, the part behind the slash has at most 63
/// characters of `[-._A-Za-z0-9]` and begins and ends with a letter or digit (Kubernetes
/// `IsExtendedResourceName`; native resources have no slash, and `requests.` must not be in front).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, example = "nvidia.com/gpu"))]
#[serde(try_from = "String", into = "String")]
pub struct ResourceName(String);

impl ResourceName {
    /// # Errors
    /// When the text is not a qualified name with a prefix.
    pub fn new(text: impl Into<String>) -> Result<Self, ResourceNameError> {
        let text = text.into();
        match why_not(&text) {
            None => Ok(Self(text)),
            Some(why) => Err(ResourceNameError { given: text, why }),
        }
    }
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// The only key that a `ResourceQuota` counts for an extended resource: `requests.<name>`
    /// (Kubernetes `pkg/quota/v1/evaluator/core/pods.go`).
    #[must_use]
    pub fn quota_key(&self) -> String {
        format!("requests.{}", self.0)
    }
}

fn why_not(text: &str) -> Option<&'static str> {
    let Some((prefix, name)) = text.split_once('/') else { return Some("it has no prefix before a slash") };
    if prefix.starts_with("requests.") {
        return Some("`requests.` belongs to quota keys, not to resource names");
    }
    if prefix == "kubernetes.io" || prefix.ends_with(".kubernetes.io") {
        return Some("prefixes of kubernetes.io are native");
    }
    let label = |l: &str| {
        !l.is_empty()
            && l.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            && !l.starts_with('-')
            && !l.ends_with('-')
    };
    if prefix.len() > PREFIX_MAX || !prefix.split('.').all(label) {
        return Some("the prefix is not a DNS name");
    }
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.len() > 63
        || !edge(name.chars().next())
        || !edge(name.chars().last())
        || !name.chars().all(inside)
    {
        return Some("the part behind the slash must be 1 to 63 letters, digits, `-`, `_` or `.`");
    }
    None
}

impl TryFrom<String> for ResourceName {
    type Error = ResourceNameError;
    fn try_from(text: String) -> Result<Self, ResourceNameError> {
        Self::new(text)
    }
}

impl From<ResourceName> for String {
    fn from(name: ResourceName) -> String {
        name.0
    }
}

impl std::fmt::Display for ResourceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is not an amount of devices.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AmountError {
    /// Nothing given.
    #[error("must not be empty; write a whole number from 1 to {AMOUNT_MAX}")]
    Empty,
    /// A fraction, a suffix, a sign, digits of another script …
    #[error(
        "`{0}` is not a whole number; devices are counted in whole numbers from 1 to {AMOUNT_MAX}, written with the digits 0 to 9"
    )]
    NotWhole(String),
    /// Zero where at least one is needed.
    #[error("must be at least 1")]
    Zero,
    /// Above [`AMOUNT_MAX`].
    #[error("`{0}` is more than {AMOUNT_MAX}")]
    TooLarge(String),
}

/// Reads an amount of devices from a form or a file: ASCII digits only, 1 to [`AMOUNT_MAX`].
///
/// # Errors
/// Names what is wrong; see [`AmountError`].
pub fn parse_amount(text: &str) -> Result<u32, AmountError> {
    if text.is_empty() {
        return Err(AmountError::Empty);
    }
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(AmountError::NotWhole(text.chars().take(40).collect()));
    }
    match text.parse::<u32>() {
        Ok(0) => Err(AmountError::Zero),
        Ok(n) if n <= AMOUNT_MAX => Ok(n),
        _ => Err(AmountError::TooLarge(text.chars().take(40).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_resource_names() {
        for good in [
            "nvidia.com/gpu",
            "nvidia.com/mig-1g.10gb.me",
            "rdma/hca_shared",
            "deviceclass.resource.example/x",
        ] {
            assert!(ResourceName::new(good).is_ok(), "{good}");
        }
        for bad in [
            "cpu",
            "requests.nvidia.com/gpu",
            "kubernetes.io/x",
            "nvidia.com/",
            "/gpu",
            "Nvidia.com/gpu",
            "nvidia.com/1g.5gb+me",
            "a/b/c",
        ] {
            assert!(ResourceName::new(bad).is_err(), "{bad}");
        }
        assert_eq!(ResourceName::new("nvidia.com/gpu").unwrap().quota_key(), "requests.nvidia.com/gpu");
    }

    #[test]
    fn case_07_bad_amounts_are_refused_with_the_reason() {
        for bad in ["-1", "0.5", "500m", "", "0", "99999999999999999999", "２", "1e3", "+4", " 4"] {
            assert!(parse_amount(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_amount("4"), Ok(4));
    }
}
