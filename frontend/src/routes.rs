//! The pages, in one list that the server registers and that the sweep of roles reads.

use domain::{
    id::{GrantId, RequestId},
    name::TeamName,
};

/// Who gets a page; the use-cases check it again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Audience {
    /// Also people without an account.
    Anyone,
    /// Everyone with an account.
    SignedIn,
    /// Members of the team and platform roles.
    Team,
    /// Members of the team who may ask: everyone else sees a page that says 403.
    TeamAsker,
    /// Admins, approvers and auditors.
    Platform,
}

/// A page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRoute {
    /// Path in the syntax of axum.
    pub path: &'static str,
    /// Who gets it.
    pub audience: Audience,
}

const fn page(path: &'static str, audience: Audience) -> PageRoute {
    PageRoute { path, audience }
}

/// All pages.
pub const PAGES: [PageRoute; 15] = [
    page("/sign-in", Audience::Anyone),
    page("/setup", Audience::Anyone),
    page("/", Audience::SignedIn),
    page("/catalogue", Audience::SignedIn),
    page("/teams/{team}", Audience::Team),
    page("/teams/{team}/requests", Audience::Team),
    page("/teams/{team}/requests/new", Audience::TeamAsker),
    page("/teams/{team}/requests/{id}", Audience::Team),
    page("/teams/{team}/grants/{id}", Audience::Team),
    page("/teams/{team}/manifests", Audience::Team),
    page("/teams/{team}/members", Audience::Team),
    page("/inbox", Audience::Platform),
    page("/admin", Audience::Platform),
    page("/admin/fleet", Audience::Platform),
    page("/admin/audit", Audience::Platform),
];

/// A page with its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Route {
    SignIn,
    Setup,
    Home,
    Catalogue,
    Team(TeamName),
    Requests(TeamName),
    NewRequest(TeamName),
    Request(TeamName, RequestId),
    Grant(TeamName, GrantId),
    Manifests(TeamName),
    Members(TeamName),
    Inbox,
    Dashboard,
    Fleet,
    Audit,
}

impl Route {
    /// The page at a path; none where there is none or a name cannot be one.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        Some(match parts.as_slice() {
            [] => Self::Home,
            ["sign-in"] => Self::SignIn,
            ["setup"] => Self::Setup,
            ["catalogue"] => Self::Catalogue,
            ["inbox"] => Self::Inbox,
            ["admin"] => Self::Dashboard,
            ["admin", "fleet"] => Self::Fleet,
            ["admin", "audit"] => Self::Audit,
            ["teams", team, rest @ ..] => Self::of_team(team.parse().ok()?, rest)?,
            _ => return None,
        })
    }

    fn of_team(team: TeamName, rest: &[&str]) -> Option<Self> {
        Some(match rest {
            [] => Self::Team(team),
            ["requests"] => Self::Requests(team),
            ["requests", "new"] => Self::NewRequest(team),
            ["requests", id] => Self::Request(team, id.parse().ok()?),
            ["grants", id] => Self::Grant(team, id.parse().ok()?),
            ["manifests"] => Self::Manifests(team),
            ["members"] => Self::Members(team),
            _ => return None,
        })
    }

    /// Is it for people without an account too?
    pub(crate) fn for_anyone(&self) -> bool {
        matches!(self, Self::SignIn | Self::Setup)
    }

    /// Team that the page is about.
    pub(crate) fn team(&self) -> Option<&TeamName> {
        match self {
            Self::Team(team)
            | Self::Requests(team)
            | Self::NewRequest(team)
            | Self::Request(team, _)
            | Self::Grant(team, _)
            | Self::Manifests(team)
            | Self::Members(team) => Some(team),
            Self::SignIn
            | Self::Setup
            | Self::Home
            | Self::Catalogue
            | Self::Inbox
            | Self::Dashboard
            | Self::Fleet
            | Self::Audit => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_the_list_is_one() {
        for route in PAGES {
            let path = route.path.replace("{team}", "vision").replace("{id}", "01JD0000000000000000000000");
            let parsed = Route::parse(&path);
            assert!(parsed.is_some(), "{path}");
            assert_eq!(parsed.unwrap().for_anyone(), route.audience == Audience::Anyone, "{path}");
        }
    }

    #[test]
    fn what_is_no_name_is_no_page() {
        for path in ["/teams/Bad!", "/teams/vision/requests/x", "/nothing", "/teams"] {
            assert_eq!(Route::parse(path), None, "{path}");
        }
    }
}
