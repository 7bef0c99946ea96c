//! Teams and their members.

use domain::{
    api::{ChangeTeam, NamespaceView, NewTeam, Page},
    authz::{Action, Verdict, authorize},
    name::TeamName,
    people::{Member, Team, TeamRole},
    placement,
};
use futures::FutureExt as _;
use store::{Conn, Paging};

use crate::{App, AppError, Ctx, Once, Result, access::Deed};

impl App {
    /// Makes a team.
    ///
    /// # Errors
    /// When the actor is no admin, or the name exists.
    pub async fn create_team(&self, ctx: &Ctx, new: NewTeam, once: Once) -> Result<Team> {
        ctx.allow(Action::ManagePeople, "teams")?;
        let (app, by, now) = (self.clone(), ctx.clone(), self.now());
        self.once(&ctx.actor, &once, move |tx| {
            async move {
                let team = Team {
                    name: new.name,
                    display: new.display,
                    retired: false,
                    created_at: now,
                    version: 1,
                };
                for (other, pool) in placement::readings(&team.name) {
                    if store::teams::find(tx, &other).await?.is_some()
                        && store::pools::find(tx, &pool).await?.is_some()
                    {
                        let why = format!(
                            "`{}` can be the namespace of team {other} in pool {pool}; choose another name",
                            team.name
                        );
                        return Err(AppError::invalid("name", why));
                    }
                }
                store::teams::insert(tx, &team).await?;
                app.audit_by(
                    tx,
                    &by,
                    deed("team.create", &team.name, serde_json::json!({"display": team.display})),
                )
                .await?;
                Ok(team)
            }
            .boxed()
        })
        .await
    }

    /// Teams that the actor may see, by name.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn list_teams(&self, ctx: &Ctx, filter: Option<&str>, paging: &Paging) -> Result<Page<Team>> {
        let mut conn = self.store().read().await?;
        if authorize(&ctx.actor, Action::ReadPlatform, None) == Verdict::Allow {
            return Ok(store::teams::list(&mut conn, filter, paging).await?);
        }
        let own = store::teams::of_user(&mut conn, ctx.actor.user).await?;
        let matches = |t: &Team| {
            filter.is_none_or(|f| {
                t.name.as_str().contains(f) || t.display.as_str().to_lowercase().contains(&f.to_lowercase())
            })
        };
        Ok(Page { items: own.into_iter().map(|(team, _)| team).filter(matches).collect(), next: None })
    }

    /// One team.
    ///
    /// # Errors
    /// When it is not there or not to be seen.
    pub async fn find_team(&self, ctx: &Ctx, team: &TeamName) -> Result<Team> {
        ctx.allow_for(Action::ReadTeam, team)?;
        find(&mut *self.store().read().await?, team).await
    }

    /// Changes a team's display name, or retires it.
    ///
    /// # Errors
    /// When the actor is no admin, or the version is stale.
    pub async fn change_team(
        &self,
        ctx: &Ctx,
        team: &TeamName,
        change: ChangeTeam,
        expected: Option<i64>,
    ) -> Result<Team> {
        // Members see the team, so they are told that they may not; for strangers it is not there.
        ctx.allow_for(Action::ReadTeam, team)?;
        if authorize(&ctx.actor, Action::ManagePeople, None) != Verdict::Allow {
            return Err(AppError::Forbidden { detail: "only platform admins may do this".to_owned() });
        }
        let mut tx = self.store().begin().await?;
        let found = find(&mut tx, team).await?;
        let wanted = Team {
            display: change.display.clone().unwrap_or(found.display),
            retired: change.retired.unwrap_or(found.retired),
            version: expected.unwrap_or(found.version),
            ..found
        };
        let saved = store::teams::update(&mut tx, &wanted).await?;
        self.audit_by(&mut tx, ctx, deed("team.change", team, serde_json::json!(change))).await?;
        tx.commit().await?;
        Ok(saved)
    }

    /// Members of a team.
    ///
    /// # Errors
    /// When the team is not to be seen.
    pub async fn members(&self, ctx: &Ctx, team: &TeamName) -> Result<Vec<Member>> {
        ctx.allow_for(Action::ReadTeam, team)?;
        let mut conn = self.store().read().await?;
        find(&mut conn, team).await?;
        Ok(store::teams::members(&mut conn, team).await?)
    }

    /// Makes a person a member, or changes their role.
    ///
    /// # Errors
    /// When the actor is neither lead nor admin, the person is unknown.
    pub async fn set_member(
        &self,
        ctx: &Ctx,
        team: &TeamName,
        login: &str,
        role: TeamRole,
    ) -> Result<Vec<Member>> {
        ctx.allow_for(Action::LeadTeam, team)?;
        let mut tx = self.store().begin().await?;
        lock(&mut tx, team).await?;
        let login = login.trim().to_lowercase();
        let Some((user, _)) = store::users::by_login(&mut tx, &login).await? else {
            return Err(AppError::invalid(
                "login",
                format!("nobody has the login `{login}`; an admin can create the account"),
            ));
        };
        store::teams::set_member(&mut tx, team, user.id, role).await?;
        let members = store::teams::members(&mut tx, team).await?;
        self.audit_by(
            &mut tx,
            ctx,
            deed("team.member", team, serde_json::json!({"login": login, "role": role})),
        )
        .await?;
        tx.commit().await?;
        Ok(members)
    }

    /// Takes a person out of a team.
    ///
    /// # Errors
    /// When the actor is neither lead nor admin, or the person is no member.
    pub async fn remove_member(&self, ctx: &Ctx, team: &TeamName, login: &str) -> Result<Vec<Member>> {
        ctx.allow_for(Action::LeadTeam, team)?;
        let mut tx = self.store().begin().await?;
        lock(&mut tx, team).await?;
        let login = login.trim().to_lowercase();
        let members = store::teams::members(&mut tx, team).await?;
        let Some(member) = members.iter().find(|m| m.login == login) else {
            return Err(AppError::not_found(format!("member {login} of team {team}")));
        };
        store::teams::remove_member(&mut tx, team, member.user).await?;
        self.audit_by(&mut tx, ctx, deed("team.member.remove", team, serde_json::json!({"login": login})))
            .await?;
        tx.commit().await?;
        Ok(members.into_iter().filter(|m| m.login != login).collect())
    }

    /// Namespaces of a team, with the probes' last answers.
    ///
    /// # Errors
    /// When the team is not to be seen.
    pub async fn namespaces(&self, ctx: &Ctx, team: &TeamName) -> Result<Vec<NamespaceView>> {
        ctx.allow_for(Action::ReadTeam, team)?;
        let mut conn = self.store().read().await?;
        find(&mut conn, team).await?;
        Ok(store::namespaces::of_team(&mut conn, team).await?)
    }
}

pub(crate) async fn find(conn: &mut Conn, team: &TeamName) -> Result<Team> {
    store::teams::find(conn, team).await?.ok_or_else(|| AppError::not_found(format!("team {team}")))
}

/// Locks the team's row until the transaction ends. Always before the offering's row.
pub(crate) async fn lock(conn: &mut Conn, team: &TeamName) -> Result<Team> {
    store::teams::lock(conn, team).await?.ok_or_else(|| AppError::not_found(format!("team {team}")))
}

fn deed<'a>(action: &'static str, team: &'a TeamName, detail: serde_json::Value) -> Deed<'a> {
    Deed { action, subject: format!("team/{team}"), team: Some(team), detail }
}
