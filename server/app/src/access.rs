//! The proof that somebody may do something, and the trace that they did.

use domain::{
    Timestamp,
    api::AuditEntry,
    authz::{Action, Verdict, authorize},
    name::TeamName,
    people::Actor,
};
use store::Conn;

use crate::{App, AppError, Result};

/// Who acts, as the HTTP layer has proven it.
#[derive(Clone, Debug)]
pub struct Ctx {
    /// Account and roles, read afresh for this request.
    pub actor: Actor,
}

impl Ctx {
    /// Goes on only if the actor may do `action` on the platform.
    pub(crate) fn allow(&self, action: Action, what: &str) -> Result<()> {
        self.verdict(action, None, what)
    }

    /// Goes on only if the actor may do `action` for `team`.
    pub(crate) fn allow_for(&self, action: Action, team: &TeamName) -> Result<()> {
        self.verdict(action, Some(team), &format!("team {team}"))
    }

    fn verdict(&self, action: Action, team: Option<&TeamName>, what: &str) -> Result<()> {
        match authorize(&self.actor, action, team) {
            Verdict::Allow => Ok(()),
            Verdict::Hide => Err(AppError::not_found(what)),
            Verdict::Forbid => Err(AppError::Forbidden { detail: who_may(action).to_owned() }),
        }
    }
}

fn who_may(action: Action) -> &'static str {
    match action {
        Action::ReadCatalogue => "sign in first",
        Action::ReadPlatform => "only admins, approvers and auditors may see this",
        Action::ManageFleet | Action::ManagePeople => "only platform admins may do this",
        Action::ReadTeam => "only members of the team may see this",
        Action::AskForTeam => {
            "only members and leads of the team may do this; ask a lead to make you a member"
        }
        Action::LeadTeam => "only leads of the team and platform admins may do this",
        Action::DecideRequest => "only approvers and platform admins may decide requests",
    }
}

/// What an audit line tells.
pub(crate) struct Deed<'a> {
    pub action: &'static str,
    pub subject: String,
    pub team: Option<&'a TeamName>,
    pub detail: serde_json::Value,
}

impl App {
    /// Writes the audit line of a person's deed; part of the deed's transaction.
    pub(crate) async fn audit_by(&self, conn: &mut Conn, ctx: &Ctx, deed: Deed<'_>) -> Result<()> {
        let entry = self.entry(deed, Some(ctx.actor.user), ctx.actor.display.to_string(), self.now());
        Ok(store::audit::record(conn, &entry).await?)
    }

    /// Writes the audit line of a job's deed.
    pub(crate) async fn audit_job(&self, conn: &mut Conn, job: &str, deed: Deed<'_>) -> Result<()> {
        let entry = self.entry(deed, None, job.to_owned(), self.now());
        Ok(store::audit::record(conn, &entry).await?)
    }

    fn entry(
        &self,
        deed: Deed<'_>,
        actor: Option<domain::id::UserId>,
        actor_display: String,
        at: Timestamp,
    ) -> AuditEntry {
        AuditEntry {
            id: self.id(),
            at,
            actor,
            actor_display,
            action: deed.action.to_owned(),
            subject: deed.subject,
            team: deed.team.cloned(),
            detail: deed.detail.to_string(),
        }
    }
}
