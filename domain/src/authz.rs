//! Who may do what: one table, read by every use-case and printed by a test.
//!
//! What an actor may not see does not exist for them ([`Verdict::Hide`], 404); what they see but may not touch
//! is [`Verdict::Forbid`] (403).

use crate::{
    name::TeamName,
    people::{Actor, PlatformRole, TeamRole},
};

/// Something that can be done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// See pools, offerings and what is free; needs an account.
    ReadCatalogue,
    /// See nodes, clusters, all teams' ledgers, people, jobs, audit.
    ReadPlatform,
    /// Create and change clusters, pools, offerings.
    ManageFleet,
    /// Create and retire teams; create and disable people and their roles.
    ManagePeople,
    /// See a team: quota, requests, grants, namespaces, manifests.
    ReadTeam,
    /// Ask, comment, withdraw.
    AskForTeam,
    /// Change members; give back.
    LeadTeam,
    /// Approve or deny a team's request.
    DecideRequest,
}

/// All actions, for tables and tests.
pub const ACTIONS: [Action; 8] = [
    Action::ReadCatalogue,
    Action::ReadPlatform,
    Action::ManageFleet,
    Action::ManagePeople,
    Action::ReadTeam,
    Action::AskForTeam,
    Action::LeadTeam,
    Action::DecideRequest,
];

/// The answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// Seen, but not allowed.
    Forbid,
    /// Not even seen.
    Hide,
}

/// May `actor` do `action` (to `team`, where the action is about a team)?
#[must_use]
pub fn authorize(actor: &Actor, action: Action, team: Option<&TeamName>) -> Verdict {
    let has = |role| actor.platform.contains(&role);
    let role = team.and_then(|t| actor.teams.get(t)).copied();
    let reads_all = has(PlatformRole::Admin) || has(PlatformRole::Approver) || has(PlatformRole::Auditor);
    let allowed = match action {
        Action::ReadCatalogue => true,
        Action::ReadPlatform => reads_all,
        Action::ManageFleet | Action::ManagePeople => has(PlatformRole::Admin),
        Action::ReadTeam => reads_all || role.is_some(),
        Action::AskForTeam => role >= Some(TeamRole::Member),
        Action::LeadTeam => has(PlatformRole::Admin) || role == Some(TeamRole::Lead),
        Action::DecideRequest => has(PlatformRole::Admin) || has(PlatformRole::Approver),
    };
    let visible = match action {
        Action::ReadCatalogue => true,
        Action::ReadPlatform | Action::ManageFleet | Action::ManagePeople => reads_all,
        Action::ReadTeam | Action::AskForTeam | Action::LeadTeam | Action::DecideRequest => {
            reads_all || role.is_some()
        }
    };
    match (allowed, visible) {
        (true, _) => Verdict::Allow,
        (false, true) => Verdict::Forbid,
        (false, false) => Verdict::Hide,
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use ulid::Ulid;

    use super::*;
    use crate::{id::UserId, name::DisplayName};

    fn actor(platform: &[PlatformRole], role: Option<TeamRole>) -> Actor {
        Actor {
            user: UserId(Ulid::from_parts(1, 1)),
            display: DisplayName::new("x").unwrap(),
            platform: platform.iter().copied().collect(),
            teams: role.map(|r| (TeamName::new("vision").unwrap(), r)).into_iter().collect(),
        }
    }

    /// The whole table, reviewed as text.
    #[test]
    fn the_table() {
        let actors = [
            ("stranger", actor(&[], None)),
            ("viewer", actor(&[], Some(TeamRole::Viewer))),
            ("member", actor(&[], Some(TeamRole::Member))),
            ("lead", actor(&[], Some(TeamRole::Lead))),
            ("auditor", actor(&[PlatformRole::Auditor], None)),
            ("approver", actor(&[PlatformRole::Approver], None)),
            ("admin", actor(&[PlatformRole::Admin], None)),
        ];
        let team = TeamName::new("vision").unwrap();
        let mut table = format!("{:<14}", "");
        for (name, _) in &actors {
            write!(table, "{name:<9}").unwrap();
        }
        for action in ACTIONS {
            write!(table, "\n{:<14}", format!("{action:?}")).unwrap();
            for (_, actor) in &actors {
                let verdict = match authorize(actor, action, Some(&team)) {
                    Verdict::Allow => "yes",
                    Verdict::Forbid => "403",
                    Verdict::Hide => "404",
                };
                write!(table, "{verdict:<9}").unwrap();
            }
        }
        let tidy: Vec<_> = table.lines().map(str::trim_end).collect();
        assert_eq!(
            tidy.join("\n"),
            "              stranger viewer   member   lead     auditor  approver admin
ReadCatalogue yes      yes      yes      yes      yes      yes      yes
ReadPlatform  404      404      404      404      yes      yes      yes
ManageFleet   404      404      404      404      403      403      yes
ManagePeople  404      404      404      404      403      403      yes
ReadTeam      404      yes      yes      yes      yes      yes      yes
AskForTeam    404      403      yes      yes      403      403      403
LeadTeam      404      403      403      yes      403      403      yes
DecideRequest 404      403      403      403      403      yes      yes"
        );
    }
}
