//! People, teams and roles.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{
    id::UserId,
    name::{DisplayName, TeamName},
};

/// A role over the whole platform.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlatformRole {
    /// Runs the platform: fleet, teams, people; may decide requests.
    Admin,
    /// Decides requests.
    Approver,
    /// Reads all, changes nothing.
    Auditor,
}

/// A role in one team.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TeamRole {
    /// Reads what the team has.
    Viewer,
    /// Asks for GPUs, comments, withdraws.
    Member,
    /// Also keeps the members and gives back.
    Lead,
}

/// Who acts, as proven by a session (or, later, a token).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Actor {
    /// Account.
    pub user: UserId,
    /// For people.
    pub display: DisplayName,
    /// Roles over the platform.
    pub platform: BTreeSet<PlatformRole>,
    /// Roles in teams.
    pub teams: BTreeMap<TeamName, TeamRole>,
}

/// A person with an account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct User {
    /// Id.
    pub id: UserId,
    /// Name to sign in with: 1 to 64 characters, compared in lower case.
    pub login: String,
    /// For people.
    pub display: DisplayName,
    /// Roles over the platform.
    pub platform: BTreeSet<PlatformRole>,
    /// May no longer sign in.
    pub disabled: bool,
    /// Created.
    pub created_at: DateTime<Utc>,
}

/// A group of people who hold GPUs together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Team {
    /// Immutable key.
    pub name: TeamName,
    /// For people.
    pub display: DisplayName,
    /// No new requests; nothing is taken away by itself.
    pub retired: bool,
    /// Created.
    pub created_at: DateTime<Utc>,
    /// Version for `If-Match`.
    pub version: i64,
}

/// A person in a team.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Member {
    /// Account.
    pub user: UserId,
    /// Name to sign in with.
    pub login: String,
    /// For people.
    pub display: DisplayName,
    /// Role in this team.
    pub role: TeamRole,
}
