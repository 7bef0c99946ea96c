//! Giving back.

use app::Ctx;
use axum::{extract::State, response::Response};
use domain::{api::GiveBack, id::GrantId, name::TeamName, resource::parse_amount, shape::Shape};

use super::{Outcome, Posted};
use crate::http::{
    Web,
    extract::At,
    problem::{Answer, Refusal},
};

/// Gives back a part of a grant, or all of it.
pub(crate) async fn give_back(
    State(web): State<Web>,
    At((team, id)): At<(TeamName, GrantId)>,
    posted: Posted,
) -> Response {
    let ctx = match posted.signed_in() {
        Ok(ctx) => ctx,
        Err(elsewhere) => return *elsewhere,
    };
    let outcome = try_give_back(&web, &ctx, (&team, id), &posted).await;
    posted.answer(&web, format!("/teams/{team}/grants/{id}"), outcome).await
}

async fn try_give_back(
    web: &Web,
    ctx: &Ctx,
    (team, id): (&TeamName, GrantId),
    posted: &Posted,
) -> Answer<Outcome> {
    posted.genuine()?;
    let keep = keep(posted.value("nodes"), posted.value("per_node"))?;
    web.app.give_back(ctx, team, id, GiveBack { keep }, None, posted.once()).await?;
    let said = keep.map_or("All of it is given back.".to_owned(), |keep| format!("Given back; {keep} stay."));
    Ok(Outcome::Done { location: format!("/teams/{team}/grants/{id}"), said })
}

/// What stays; both zero: nothing.
fn keep(nodes: &str, per_node: &str) -> Answer<Option<Shape>> {
    if (nodes, per_node) == ("0", "0") {
        return Ok(None);
    }
    let amount = |field: &str, text: &str| parse_amount(text).map_err(|error| Refusal::invalid(field, error));
    Ok(Some(Shape { nodes: amount("keep.nodes", nodes)?, per_node: amount("keep.per_node", per_node)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_stays_only_where_both_are_zero() {
        assert!(keep("0", "0").unwrap().is_none());
        assert_eq!(keep("1", "4").unwrap(), Some(Shape { nodes: 1, per_node: 4 }));
        for bad in [("0", "4"), ("1", "0"), ("", ""), ("1", "-1")] {
            assert!(keep(bad.0, bad.1).is_err(), "{bad:?}");
        }
    }
}
