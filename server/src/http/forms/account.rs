//! Sign in, sign out, first start.

use axum::{extract::State, response::Response};

use super::{Outcome, Posted};
use crate::http::{Web, pages, problem::Answer, session};

/// Signs in with a local account.
pub(crate) async fn sign_in(State(web): State<Web>, posted: Posted) -> Response {
    let outcome = try_sign_in(&web, &posted).await;
    match outcome {
        Ok(location) => pages::see_other(&location),
        Err(refusal) => posted.answer(&web, "/sign-in".to_owned(), Err(refusal)).await,
    }
}

async fn try_sign_in(web: &Web, posted: &Posted) -> Answer<String> {
    posted.genuine()?;
    let actor = web.app.sign_in(posted.value("login"), posted.raw("password")).await?;
    session::sign_in(web, &posted.visitor.session, actor.user).await?;
    Ok(pages::local_path(posted.value("next")).to_owned())
}

/// Signs out. Without a session there is nothing to do.
pub(crate) async fn sign_out(State(web): State<Web>, posted: Posted) -> Response {
    if posted.visitor.actor.is_none() {
        return pages::see_other("/sign-in");
    }
    let outcome = async {
        posted.genuine()?;
        session::sign_out(&posted.visitor.session).await
    };
    match outcome.await {
        Ok(()) => pages::see_other("/sign-in"),
        Err(refusal) => posted.answer(&web, "/".to_owned(), Err(refusal)).await,
    }
}

/// Makes the first admin from the link on the console, and signs them in.
pub(crate) async fn setup(State(web): State<Web>, posted: Posted) -> Response {
    let outcome = try_setup(&web, &posted).await;
    posted.answer(&web, "/setup".to_owned(), outcome).await
}

async fn try_setup(web: &Web, posted: &Posted) -> Answer<Outcome> {
    posted.genuine()?;
    let (token, login, display) = (posted.value("token"), posted.value("login"), posted.value("display"));
    let actor = web.app.finish_setup(token, login, display, posted.raw("password")).await?;
    session::sign_in(web, &posted.visitor.session, actor.user).await?;
    Ok(Outcome::Done {
        location: "/".to_owned(),
        said: format!("Welcome, {}. You are the first admin.", actor.display),
    })
}
