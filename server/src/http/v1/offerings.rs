//! Offerings and their ledger.

use axum::{Json, extract::State};
use chrono::{DateTime, Utc};
use domain::{
    api::{CatalogueEntry, ChangeOffering, NewOffering, Page},
    fleet::Offering,
    id::{EventId, GrantId},
    name::{OfferingName, TeamName},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Created, Refusals, Tagged, users::Paged};
use crate::http::{
    Web,
    extract::{At, Body, Filter, IfMatch, IfMatchHeader, OnceHeader, SignedIn, paging},
    problem::Answer,
};

/// One movement in the ledger of an offering.
#[derive(Serialize, ToSchema)]
pub(crate) struct LedgerEvent {
    /// Id; sorts by time.
    id: EventId,
    /// Whose balance moved.
    team: TeamName,
    /// Because of which grant.
    grant: Option<GrantId>,
    /// Change of what is promised, in devices.
    granted: i64,
    /// Change of what the cluster may still let the team have, in devices.
    held: i64,
    /// Why.
    reason: String,
    /// When.
    at: DateTime<Utc>,
}

impl From<store::ledger::Event> for LedgerEvent {
    fn from(event: store::ledger::Event) -> Self {
        let store::ledger::Event { id, offering: _, team, grant, granted, held, reason, at } = event;
        Self { id, team, grant, granted, held, reason, at }
    }
}

/// What can be asked for, and what is there of it.
#[utoipa::path(get, path = "/offerings", tag = "fleet", responses((status = 200, body = Vec<CatalogueEntry>), Refusals))]
pub(crate) async fn catalogue(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
) -> Answer<Json<Vec<CatalogueEntry>>> {
    Ok(Json(web.app.catalogue(&ctx).await?))
}

/// Makes an offering.
#[utoipa::path(
    post, path = "/offerings", tag = "fleet", params(OnceHeader), request_body = NewOffering,
    responses((status = 201, body = Offering), Refusals)
)]
pub(crate) async fn create_offering(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    body: Body<NewOffering>,
) -> Answer<Created<Tagged<Offering>>> {
    let offering = web.app.create_offering(&ctx, body.value, body.once).await?;
    Ok(Created(format!("/offerings/{}", offering.name), Tagged(offering)))
}

/// One offering.
#[utoipa::path(
    get, path = "/offerings/{offering}", tag = "fleet", params(("offering" = OfferingName, Path)),
    responses((status = 200, body = CatalogueEntry), Refusals)
)]
pub(crate) async fn find_offering(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(offering): At<OfferingName>,
) -> Answer<Tagged<CatalogueEntry>> {
    Ok(Tagged(web.app.find_offering(&ctx, &offering).await?))
}

/// Changes an offering's texts or declared amount, or retires it.
#[utoipa::path(
    patch, path = "/offerings/{offering}", tag = "fleet", params(("offering" = OfferingName, Path), IfMatchHeader),
    request_body = ChangeOffering, responses((status = 200, body = Offering), Refusals)
)]
pub(crate) async fn change_offering(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(offering): At<OfferingName>,
    IfMatch(expected): IfMatch,
    body: Body<ChangeOffering>,
) -> Answer<Tagged<Offering>> {
    Ok(Tagged(web.app.change_offering(&ctx, &offering, body.value, expected).await?))
}

/// Movements in the ledger of an offering, newest first.
#[utoipa::path(
    get, path = "/offerings/{offering}/events", tag = "fleet", params(("offering" = OfferingName, Path), Paged),
    responses((status = 200, body = Page<LedgerEvent>), Refusals)
)]
pub(crate) async fn ledger_events(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(offering): At<OfferingName>,
    Filter(part): Filter<Paged>,
) -> Answer<Json<Page<LedgerEvent>>> {
    let events = web.app.ledger_events(&ctx, &offering, &paging(part.cursor, part.limit)).await?;
    Ok(Json(events.map(LedgerEvent::from)))
}
