//! Pools.

use axum::{Json, extract::State};
use domain::{
    api::{ChangePool, NewPool},
    fleet::Pool,
    name::PoolName,
};

use super::{Created, Refusals, Tagged};
use crate::http::{
    Web,
    extract::{At, Body, IfMatch, IfMatchHeader, OnceHeader, SignedIn},
    problem::Answer,
};

/// All pools.
#[utoipa::path(get, path = "/pools", tag = "fleet", responses((status = 200, body = Vec<Pool>), Refusals))]
pub(crate) async fn list_pools(SignedIn(ctx): SignedIn, State(web): State<Web>) -> Answer<Json<Vec<Pool>>> {
    Ok(Json(web.app.list_pools(&ctx).await?))
}

/// Makes a pool.
#[utoipa::path(
    post, path = "/pools", tag = "fleet", params(OnceHeader), request_body = NewPool,
    responses((status = 201, body = Pool), Refusals)
)]
pub(crate) async fn create_pool(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    body: Body<NewPool>,
) -> Answer<Created<Tagged<Pool>>> {
    let pool = web.app.create_pool(&ctx, body.value, body.once).await?;
    Ok(Created(format!("/pools/{}", pool.name), Tagged(pool)))
}

/// One pool.
#[utoipa::path(
    get, path = "/pools/{pool}", tag = "fleet", params(("pool" = PoolName, Path)),
    responses((status = 200, body = Pool), Refusals)
)]
pub(crate) async fn find_pool(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(pool): At<PoolName>,
) -> Answer<Tagged<Pool>> {
    Ok(Tagged(web.app.find_pool(&ctx, &pool).await?))
}

/// Changes a pool's display name or rules, or retires it.
#[utoipa::path(
    patch, path = "/pools/{pool}", tag = "fleet", params(("pool" = PoolName, Path), IfMatchHeader),
    request_body = ChangePool, responses((status = 200, body = Pool), Refusals)
)]
pub(crate) async fn change_pool(
    SignedIn(ctx): SignedIn,
    State(web): State<Web>,
    At(pool): At<PoolName>,
    IfMatch(expected): IfMatch,
    body: Body<ChangePool>,
) -> Answer<Tagged<Pool>> {
    Ok(Tagged(web.app.change_pool(&ctx, &pool, body.value, expected).await?))
}
