//! Requests and the remarks on them.

use domain::{
    api::Page,
    id::RequestId,
    name::{OfferingName, TeamName},
    request::{Comment, Request, RequestState},
};

use crate::{
    cursor::Paging,
    error::Result,
    row::{body, entity, from_json, inserted, json, number, query, updated, word},
    select::{Order, Select},
    store::Conn,
};

/// Adds a request.
///
/// # Errors
/// [`crate::StoreError::Taken`] when the id exists.
pub async fn insert(conn: &mut Conn, request: &Request) -> Result<()> {
    let done = query(
        "INSERT INTO requests (id, team, offering, state, version, body) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT DO NOTHING",
    )
    .bind(request.id.to_string())
    .bind(request.team.as_str())
    .bind(request.offering.as_str())
    .bind(word(&request.state)?)
    .bind(request.version)
    .bind(body(request)?)
    .execute(&mut *conn)
    .await?;
    inserted("request", &request.id, &done)
}

/// A request of this team.
pub async fn find(conn: &mut Conn, team: &TeamName, id: RequestId) -> Result<Option<Request>> {
    let row = query("SELECT version, body FROM requests WHERE id = $1 AND team = $2")
        .bind(id.to_string())
        .bind(team.as_str())
        .fetch_optional(&mut *conn)
        .await?;
    row.as_ref().map(entity).transpose()
}

/// A request of any team: for platform roles and jobs only.
pub async fn find_any(conn: &mut Conn, id: RequestId) -> Result<Option<Request>> {
    let row = query("SELECT version, body FROM requests WHERE id = $1")
        .bind(id.to_string())
        .fetch_optional(&mut *conn)
        .await?;
    row.as_ref().map(entity).transpose()
}

/// Writes a changed request; `request.version` is the version that was read. Team and offering never change.
/// Returns it at its next version.
///
/// # Errors
/// [`crate::StoreError::Stale`] when somebody changed it meanwhile.
pub async fn update(conn: &mut Conn, request: &Request) -> Result<Request> {
    let done = query(
        "UPDATE requests SET state = $1, body = $2, version = version + 1 WHERE id = $3 AND version = $4",
    )
    .bind(word(&request.state)?)
    .bind(body(request)?)
    .bind(request.id.to_string())
    .bind(request.version)
    .execute(&mut *conn)
    .await?;
    updated(conn, request, done).await
}

/// Requests of a team, in the order of [`all`].
pub async fn of_team(
    conn: &mut Conn,
    team: &TeamName,
    state: Option<RequestState>,
    paging: &Paging,
) -> Result<Page<Request>> {
    all(conn, state, Some(team), None, paging).await
}

/// Requests of all teams, or of those that the filters name: for platform roles only. Those that wait come oldest
/// first, because who asked first is served first; all others newest first.
pub async fn all(
    conn: &mut Conn,
    state: Option<RequestState>,
    team: Option<&TeamName>,
    offering: Option<&OfferingName>,
    paging: &Paging,
) -> Result<Page<Request>> {
    let order = if state == Some(RequestState::Submitted) { Order::Up } else { Order::Down };
    Select::new("SELECT id, version, body FROM requests")
        .equals("team", team.map(TeamName::as_str))
        .equals("state", state.map(|s| word(&s)).transpose()?)
        .equals("offering", offering.map(OfferingName::as_str))
        .page(conn, "id", order, paging, entity)
        .await
}

/// How many requests wait for a decision.
pub async fn count_waiting(conn: &mut Conn) -> Result<u32> {
    let row = query("SELECT COUNT(*) AS n FROM requests WHERE state = $1")
        .bind(word(&RequestState::Submitted)?)
        .fetch_one(&mut *conn)
        .await?;
    number(&row, "n")
}

/// Adds a remark.
pub async fn add_comment(conn: &mut Conn, request: RequestId, comment: &Comment) -> Result<()> {
    query("INSERT INTO comments (id, request_id, body) VALUES ($1, $2, $3)")
        .bind(comment.id.to_string())
        .bind(request.to_string())
        .bind(json("comment", comment)?)
        .execute(&mut *conn)
        .await?;
    Ok(())
}

/// Remarks on a request, oldest first.
pub async fn comments(conn: &mut Conn, request: RequestId) -> Result<Vec<Comment>> {
    let rows = query("SELECT body FROM comments WHERE request_id = $1 ORDER BY id")
        .bind(request.to_string())
        .fetch_all(&mut *conn)
        .await?;
    rows.iter().map(|row| from_json(row, "body")).collect()
}
