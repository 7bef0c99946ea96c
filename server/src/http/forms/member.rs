//! Members of a team.

use app::Ctx;
use axum::{extract::State, response::Response};
use domain::{name::TeamName, people::TeamRole};

use super::{Outcome, Posted};
use crate::http::{
    Web,
    extract::At,
    problem::{Answer, Refusal},
};

/// Puts a person into the team, changes their role, or takes them out.
pub(crate) async fn change(State(web): State<Web>, At(team): At<TeamName>, posted: Posted) -> Response {
    let ctx = match posted.signed_in() {
        Ok(ctx) => ctx,
        Err(elsewhere) => return *elsewhere,
    };
    let outcome = try_change(&web, &ctx, &team, &posted).await;
    posted.answer(&web, format!("/teams/{team}/members"), outcome).await
}

async fn try_change(web: &Web, ctx: &Ctx, team: &TeamName, posted: &Posted) -> Answer<Outcome> {
    posted.genuine()?;
    let login = posted.value("login");
    let said = match posted.value("do") {
        "set" => {
            let role = role(posted.value("role"))?;
            web.app.set_member(ctx, team, login, role).await?;
            format!("{login} is now {} of this team.", posted.value("role"))
        }
        "remove" => {
            web.app.remove_member(ctx, team, login).await?;
            format!("{login} is no longer in this team.")
        }
        other => return Err(Refusal::invalid("do", format!("`{other}` is not known; send set or remove"))),
    };
    Ok(Outcome::Done { location: format!("/teams/{team}/members"), said })
}

fn role(text: &str) -> Answer<TeamRole> {
    match text {
        "viewer" => Ok(TeamRole::Viewer),
        "member" => Ok(TeamRole::Member),
        "lead" => Ok(TeamRole::Lead),
        other => {
            Err(Refusal::invalid("role", format!("`{other}` is no role; choose viewer, member or lead")))
        }
    }
}
