//! Names: slugs that end up in Kubernetes names and labels, and display names that people write freely.
//!
//! A slug is immutable and never used again (things are retired, not deleted), so it is the key of clusters,
//! pools, offerings and teams.

use serde::{Deserialize, Serialize};

/// Longest slug. Two of them joined by `-` make a namespace name (`<team>-<pool>`), which is a DNS label of at
/// most 63 characters.
pub const SLUG_MAX: usize = 30;
/// Longest display name, in characters.
pub const DISPLAY_MAX: usize = 80;

/// Why a text is not a name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NameError {
    /// Nothing, or only white space.
    #[error("must not be empty")]
    Empty,
    /// Too many characters.
    #[error("has {len} characters, {max} are allowed")]
    TooLong {
        /// Characters given.
        len: usize,
        /// Characters allowed.
        max: usize,
    },
    /// Not a DNS label (RFC 1123).
    #[error(
        "must be lower-case letters, digits and single hyphens, beginning with a letter and ending with a letter or digit, as in `vision` or `h100-ib`"
    )]
    NotASlug,
    /// Kept for the platform.
    #[error("`{0}` is reserved; choose another name")]
    Reserved(String),
    /// Control characters in a display name.
    #[error("must not hold control characters")]
    Control,
}

/// Names that mean something to Kubernetes or to us.
const RESERVED: [&str; 8] = [
    "default",
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "gpuaas-system",
    "gpuaas-probe",
    "new",
    "admin",
];

/// Checks the rule of every slug: `[a-z]([-a-z0-9]*[a-z0-9])?`, no double hyphen, at most [`SLUG_MAX`].
///
/// # Errors
/// Says which part of the rule is broken.
pub fn check_slug(text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    let len = text.chars().count();
    if len > SLUG_MAX {
        return Err(NameError::TooLong { len, max: SLUG_MAX });
    }
    let good = text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && !text.ends_with('-')
        && !text.contains("--");
    if !good {
        return Err(NameError::NotASlug);
    }
    if RESERVED.contains(&text) || text.starts_with("kube-") {
        return Err(NameError::Reserved(text.to_owned()));
    }
    Ok(())
}

macro_rules! slugs {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, max_length = 30, pattern = "^[a-z]([-a-z0-9]*[a-z0-9])?$"))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// # Errors
            /// When the text breaks the rule of [`check_slug`].
            pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
                let text = text.into();
                check_slug(&text)?;
                Ok(Self(text))
            }
            /// The slug as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::new(text)
            }
        }
        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
        impl std::str::FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

slugs! {
    /// A Kubernetes cluster that gpuaas writes to.
    ClusterName;
    /// A set of nodes of one GPU model in one mode.
    PoolName;
    /// What can be asked for.
    OfferingName;
    /// A group of people who hold GPUs together.
    TeamName;
}

/// Name of a namespace that gpuaas made for a team: a DNS label of at most 63 characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, max_length = 63))]
#[serde(transparent)]
pub struct NamespaceName(String);

impl NamespaceName {
    /// The first namespace of a team carries the team's name.
    #[must_use]
    pub fn of_team(team: &TeamName) -> Self {
        Self(team.0.clone())
    }
    /// A further namespace, for a second pool with the same resource name.
    #[must_use]
    pub fn of_team_and_pool(team: &TeamName, pool: &PoolName) -> Self {
        Self(format!("{team}-{pool}"))
    }
    /// Reads a name that was made by one of the two other constructors.
    #[must_use]
    pub fn stored(text: String) -> Self {
        Self(text)
    }
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for NamespaceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name for people: any Unicode but control characters, trimmed, 1 to [`DISPLAY_MAX`] characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, max_length = 80))]
#[serde(try_from = "String", into = "String")]
pub struct DisplayName(String);

impl DisplayName {
    /// # Errors
    /// When the text is empty, too long or has control characters.
    pub fn new(text: impl AsRef<str>) -> Result<Self, NameError> {
        let text = text.as_ref().trim();
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        let len = text.chars().count();
        if len > DISPLAY_MAX {
            return Err(NameError::TooLong { len, max: DISPLAY_MAX });
        }
        if text.chars().any(char::is_control) {
            return Err(NameError::Control);
        }
        Ok(Self(text.to_owned()))
    }
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for DisplayName {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::new(text)
    }
}

impl From<DisplayName> for String {
    fn from(name: DisplayName) -> String {
        name.0
    }
}

impl std::fmt::Display for DisplayName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_dns_labels() {
        for good in ["a", "vision", "h100-ib", "a1"] {
            assert!(TeamName::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "A",
            "1a",
            "-a",
            "a-",
            "a--b",
            "a_b",
            "a.b",
            "ä",
            "kube-x",
            "default",
            "a b",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            assert!(TeamName::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_longest_team_and_pool_make_a_dns_label() {
        let (team, pool) =
            (TeamName::new("a".repeat(SLUG_MAX)).unwrap(), PoolName::new("b".repeat(SLUG_MAX)).unwrap());
        assert!(NamespaceName::of_team_and_pool(&team, &pool).as_str().len() <= 63);
    }

    #[test]
    fn display_names_are_free_but_clean() {
        assert_eq!(DisplayName::new("  Команда зрения ").unwrap().as_str(), "Команда зрения");
        assert_eq!(DisplayName::new("a\nb"), Err(NameError::Control));
        assert_eq!(DisplayName::new(" "), Err(NameError::Empty));
        assert!(DisplayName::new("x".repeat(81)).is_err());
    }

    #[test]
    fn a_bad_slug_does_not_deserialise() {
        assert!(serde_json::from_str::<TeamName>("\"Bad\"").is_err());
    }
}
