//! Teams and their members.

use domain::{
    api::Page,
    id::UserId,
    name::TeamName,
    people::{Member, Team, TeamRole},
};
use sqlx::Row;

use crate::{
    cursor::Paging,
    error::Result,
    row::{body, entity, flag, from_word, inserted, parsed, query, updated, word},
    select::{Order, Select},
    store::Conn,
    users::display,
};

fn search(team: &Team) -> String {
    format!("{} {}", team.name, team.display).to_lowercase()
}

/// Adds a team.
///
/// # Errors
/// [`crate::StoreError::Taken`] when the name exists.
pub async fn insert(conn: &mut Conn, team: &Team) -> Result<()> {
    let done = query(
        "INSERT INTO teams (name, search, retired, version, body) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING",
    )
    .bind(team.name.as_str())
    .bind(search(team))
    .bind(flag(team.retired))
    .bind(team.version)
    .bind(body(team)?)
    .execute(&mut *conn)
    .await?;
    inserted("team", &team.name, &done)
}

/// The team with this name.
pub async fn find(conn: &mut Conn, name: &TeamName) -> Result<Option<Team>> {
    let row = query("SELECT version, body FROM teams WHERE name = $1")
        .bind(name.as_str())
        .fetch_optional(&mut *conn)
        .await?;
    row.as_ref().map(entity).transpose()
}

/// Teams by name; with `filter` those whose name or display name contains it in whatever case.
pub async fn list(conn: &mut Conn, filter: Option<&str>, paging: &Paging) -> Result<Page<Team>> {
    Select::new("SELECT name, version, body FROM teams")
        .contains("search", filter)
        .page(conn, "name", Order::Up, paging, entity)
        .await
}

/// Teams of a person, by name, with the role in each.
pub async fn of_user(conn: &mut Conn, user: UserId) -> Result<Vec<(Team, TeamRole)>> {
    let rows = query(
        "SELECT t.version, t.body, m.role FROM members m JOIN teams t ON t.name = m.team
         WHERE m.user_id = $1 ORDER BY t.name",
    )
    .bind(user.to_string())
    .fetch_all(&mut *conn)
    .await?;
    rows.iter().map(|row| Ok((entity(row)?, from_word(row, "role")?))).collect()
}

/// Writes a changed team; `team.version` is the version that was read. Returns it at its next version.
///
/// # Errors
/// [`crate::StoreError::Stale`] when somebody changed it meanwhile.
pub async fn update(conn: &mut Conn, team: &Team) -> Result<Team> {
    let done = query(
        "UPDATE teams SET search = $1, retired = $2, body = $3, version = version + 1
         WHERE name = $4 AND version = $5",
    )
    .bind(search(team))
    .bind(flag(team.retired))
    .bind(body(team)?)
    .bind(team.name.as_str())
    .bind(team.version)
    .execute(&mut *conn)
    .await?;
    updated(conn, team, done).await
}

/// The team, locked until the transaction ends.
pub async fn lock(conn: &mut Conn, name: &TeamName) -> Result<Option<Team>> {
    let row = query("UPDATE teams SET version = version WHERE name = $1 RETURNING version, body")
        .bind(name.as_str())
        .fetch_optional(&mut *conn)
        .await?;
    row.as_ref().map(entity).transpose()
}

/// Members, by login.
pub async fn members(conn: &mut Conn, team: &TeamName) -> Result<Vec<Member>> {
    let rows = query(
        "SELECT u.id, u.login, u.display, m.role FROM members m JOIN users u ON u.id = m.user_id
         WHERE m.team = $1 ORDER BY u.login_key",
    )
    .bind(team.as_str())
    .fetch_all(&mut *conn)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(Member {
                user: parsed(row, "id")?,
                login: row.try_get("login")?,
                display: display(row)?,
                role: from_word(row, "role")?,
            })
        })
        .collect()
}

/// Puts a person into a team, or changes their role there.
pub async fn set_member(conn: &mut Conn, team: &TeamName, user: UserId, role: TeamRole) -> Result<()> {
    query(
        "INSERT INTO members (team, user_id, role) VALUES ($1, $2, $3)
         ON CONFLICT (team, user_id) DO UPDATE SET role = excluded.role",
    )
    .bind(team.as_str())
    .bind(user.to_string())
    .bind(word(&role)?)
    .execute(&mut *conn)
    .await?;
    Ok(())
}

/// Takes a person out of a team; false when they were not in it.
pub async fn remove_member(conn: &mut Conn, team: &TeamName, user: UserId) -> Result<bool> {
    let done = query("DELETE FROM members WHERE team = $1 AND user_id = $2")
        .bind(team.as_str())
        .bind(user.to_string())
        .execute(&mut *conn)
        .await?;
    Ok(done.rows_affected() == 1)
}
