//! Asking and deciding.

use app::Ctx;
use axum::{extract::State, response::Response};
use chrono::NaiveDate;
use domain::{
    api::{FieldError, NewRequest, Text},
    id::{GrantId, RequestId},
    name::{OfferingName, TeamName},
    request::{Ask, RequestState},
    resource::parse_amount,
    shape::Shape,
};

use super::{Outcome, Posted};
use crate::http::{
    Web,
    extract::At,
    problem::{Answer, Refusal},
};

/// Checks or submits a request.
pub(crate) async fn new(State(web): State<Web>, At(team): At<TeamName>, posted: Posted) -> Response {
    let ctx = match posted.signed_in() {
        Ok(ctx) => ctx,
        Err(elsewhere) => return *elsewhere,
    };
    let outcome = try_new(&web, &ctx, &team, &posted).await;
    posted.answer(&web, format!("/teams/{team}/requests/new"), outcome).await
}

async fn try_new(web: &Web, ctx: &Ctx, team: &TeamName, posted: &Posted) -> Answer<Outcome> {
    posted.genuine()?;
    let ask = ask(|name| posted.value(name)).map_err(|fields| app::AppError::Invalid { fields })?;
    match posted.value("do") {
        "check" => Ok(Outcome::Checked(Box::new(web.app.fit(ctx, team, &ask).await?))),
        "submit" => {
            let new = NewRequest { ask, purpose: posted.value("purpose").to_owned() };
            let view = web.app.submit_request(ctx, team, new, posted.once()).await?;
            let said = match view.request.state {
                RequestState::Approved => format!("{} is granted.", view.summary),
                _ => format!("{} is asked for; it waits for approval.", view.summary),
            };
            Ok(Outcome::Done { location: format!("/teams/{team}/requests/{}", view.request.id), said })
        }
        other => Err(Refusal::invalid("do", format!("`{other}` is not known; send check or submit"))),
    }
}

/// Reads the ask of the form; names every field that is wrong, not only the first.
fn ask<'a>(value: impl Fn(&str) -> &'a str) -> Result<Ask, Vec<FieldError>> {
    let mut wrong = vec![];
    let ask = match value("kind") {
        "" | "new" => {
            let offering = read(&mut wrong, "ask.offering", value("offering").parse::<OfferingName>());
            let (shape, until) = (shape(&mut wrong, &value), until(&mut wrong, value("until")));
            let partition = value("partition") == "yes";
            offering.zip(shape).zip(until).map(|((offering, shape), until)| Ask::New {
                offering,
                shape,
                partition,
                until,
            })
        }
        "change" => {
            let grant = read(&mut wrong, "ask.grant", value("grant").parse::<GrantId>());
            grant.zip(shape(&mut wrong, &value)).map(|(grant, shape)| Ask::Change { grant, shape })
        }
        "extend" => {
            let grant = read(&mut wrong, "ask.grant", value("grant").parse::<GrantId>());
            grant.zip(until(&mut wrong, value("until"))).map(|(grant, until)| Ask::Extend { grant, until })
        }
        other => {
            wrong.push(FieldError::new(
                "ask.kind",
                format!("`{other}` is no kind of request; choose new, change or extend"),
            ));
            None
        }
    };
    ask.ok_or(wrong)
}

fn read<T, E: std::fmt::Display>(
    wrong: &mut Vec<FieldError>,
    field: &str,
    parsed: Result<T, E>,
) -> Option<T> {
    parsed.map_err(|error| wrong.push(FieldError::new(field, error))).ok()
}

fn shape<'a>(wrong: &mut Vec<FieldError>, value: &impl Fn(&str) -> &'a str) -> Option<Shape> {
    let nodes = read(wrong, "ask.shape.nodes", parse_amount(value("nodes")));
    let per_node = read(wrong, "ask.shape.per_node", parse_amount(value("per_node")));
    nodes.zip(per_node).map(|(nodes, per_node)| Shape { nodes, per_node })
}

fn until(wrong: &mut Vec<FieldError>, text: &str) -> Option<NaiveDate> {
    let parsed =
        text.parse::<NaiveDate>().map_err(|_| format!("`{text}` is no date; write it as 2026-12-14"));
    read(wrong, "ask.until", parsed)
}

/// What a form says about one request.
#[derive(Clone, Copy)]
enum Say {
    Approve,
    Deny,
    Withdraw,
    Comment,
}

/// Approves a request.
pub(crate) async fn approve(State(web): State<Web>, At(key): At<Key>, posted: Posted) -> Response {
    let page = back(&posted, &key);
    said(web, posted, key, Say::Approve, page).await
}

/// Denies a request with a reason.
pub(crate) async fn deny(State(web): State<Web>, At(key): At<Key>, posted: Posted) -> Response {
    let page = back(&posted, &key);
    said(web, posted, key, Say::Deny, page).await
}

/// Takes a request back.
pub(crate) async fn withdraw(State(web): State<Web>, At(key): At<Key>, posted: Posted) -> Response {
    let page = page_of(&key);
    said(web, posted, key, Say::Withdraw, page).await
}

/// Remarks on a request.
pub(crate) async fn comment(State(web): State<Web>, At(key): At<Key>, posted: Posted) -> Response {
    let page = page_of(&key);
    said(web, posted, key, Say::Comment, page).await
}

/// Team and request of the path.
type Key = (TeamName, RequestId);

fn page_of((team, id): &Key) -> String {
    format!("/teams/{team}/requests/{id}")
}

/// Where a decision leads: `back`, or the request where the form names no page.
fn back(posted: &Posted, key: &Key) -> String {
    if posted.value("back").is_empty() { page_of(key) } else { posted.back() }
}

async fn said(web: Web, posted: Posted, key: Key, say: Say, page: String) -> Response {
    let ctx = match posted.signed_in() {
        Ok(ctx) => ctx,
        Err(elsewhere) => return *elsewhere,
    };
    let outcome = act(&web, &ctx, &key, say, &posted).await;
    let outcome = outcome.map(|said| Outcome::Done { location: page.clone(), said });
    posted.answer(&web, page, outcome).await
}

/// Does it, and says what was done.
async fn act(web: &Web, ctx: &Ctx, (team, id): &Key, say: Say, posted: &Posted) -> Answer<String> {
    posted.genuine()?;
    let text = Text { text: posted.value("text").to_owned() };
    Ok(match say {
        Say::Approve => {
            let view = web.app.approve_request(ctx, team, *id, None).await?;
            match view.request.state {
                RequestState::Approved => format!("{} for {team} is approved.", view.summary),
                _ => format!(
                    "Your approval of {} for {team} is noted; a second person must approve it too.",
                    view.summary
                ),
            }
        }
        Say::Deny => {
            let view = web.app.deny_request(ctx, team, *id, text, None).await?;
            format!("{} for {team} is denied.", view.summary)
        }
        Say::Withdraw => {
            let view = web.app.withdraw_request(ctx, team, *id, None).await?;
            format!("{} is withdrawn.", view.summary)
        }
        Say::Comment => {
            web.app.comment(ctx, team, *id, text, posted.once()).await?;
            "Your remark is added.".to_owned()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_field_of_the_form_is_named() {
        let values = |name: &str| match name {
            "kind" => "new",
            "offering" => "H!",
            "nodes" => "0",
            "per_node" => "２",
            "until" => "soon",
            _ => "",
        };
        let fields: Vec<_> = ask(values).unwrap_err().into_iter().map(|f| f.field).collect();
        assert_eq!(fields, ["ask.offering", "ask.shape.nodes", "ask.shape.per_node", "ask.until"]);
    }

    #[test]
    fn a_good_form_is_an_ask() {
        let values = |name: &str| match name {
            "kind" => "extend",
            "grant" => "01JD0000000000000000000000",
            "until" => "2026-12-14",
            _ => "",
        };
        assert!(matches!(ask(values), Ok(Ask::Extend { .. })));
    }
}
