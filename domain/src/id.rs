//! Ids of things that have no name of their own: ULIDs, so that they sort by time of creation.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, example = "01JD0000000000000000000000"))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(pub Ulid);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = NotAnId;
            fn from_str(text: &str) -> Result<Self, NotAnId> {
                Ulid::from_string(text).map(Self).map_err(|_| NotAnId)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotAnId;
            fn try_from(text: String) -> Result<Self, NotAnId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }

        impl From<Ulid> for $name {
            fn from(id: Ulid) -> Self {
                Self(id)
            }
        }
    )*};
}

/// The text is not a ULID (26 characters of Crockford's base 32).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be an id of 26 letters and digits")]
pub struct NotAnId;

ids! {
    /// A wish of a team, with its decision.
    RequestId;
    /// What a team holds of one offering, with its lease.
    GrantId;
    /// A person with an account.
    UserId;
    /// One remark on a request.
    CommentId;
    /// One line of the audit list.
    AuditId;
    /// One movement in the ledger.
    EventId;
    /// One piece of work in the outbox.
    JobId;
}
