//! People with an account.

use std::collections::BTreeSet;

use domain::{
    api::Page,
    id::UserId,
    name::DisplayName,
    people::{Actor, PlatformRole, User},
};
use sqlx::{Row, any::AnyRow};

use crate::{
    cursor::Paging,
    error::{Result, StoreError},
    row::{
        flag, from_json, from_word, inserted, is_set, json, micros, number, parsed, parsed_or_none, query,
        time,
    },
    select::{Order, Select},
    store::Conn,
};

fn user(row: &AnyRow) -> Result<User> {
    Ok(User {
        id: parsed(row, "id")?,
        login: row.try_get("login")?,
        display: display(row)?,
        platform: from_json(row, "platform")?,
        disabled: is_set(row, "disabled")?,
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn display(row: &AnyRow) -> Result<DisplayName> {
    DisplayName::new(row.try_get::<String, _>("display")?).map_err(|e| StoreError::corrupt("display", e))
}

/// Adds a person. Logins that differ in case only are one login.
///
/// # Errors
/// [`StoreError::Taken`] when the login or the id exists.
pub async fn insert(conn: &mut Conn, user: &User, password_hash: &str) -> Result<()> {
    let done = query(
        "INSERT INTO users (id, login_key, login, display, platform, disabled, password_hash, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
    )
    .bind(user.id.to_string())
    .bind(user.login.to_lowercase())
    .bind(user.login.as_str())
    .bind(user.display.as_str())
    .bind(json("platform roles", &user.platform)?)
    .bind(flag(user.disabled))
    .bind(password_hash)
    .bind(micros(user.created_at))
    .execute(&mut *conn)
    .await?;
    inserted("login", &user.login, &done)
}

/// The person with this id.
pub async fn find(conn: &mut Conn, id: UserId) -> Result<Option<User>> {
    let row = query("SELECT id, login, display, platform, disabled, created_at FROM users WHERE id = $1")
        .bind(id.to_string())
        .fetch_optional(&mut *conn)
        .await?;
    row.as_ref().map(user).transpose()
}

/// The person with this login in whatever case, disabled or not, and the password's hash.
pub async fn by_login(conn: &mut Conn, login: &str) -> Result<Option<(User, String)>> {
    let row = query(
        "SELECT id, login, display, platform, disabled, created_at, password_hash
         FROM users WHERE login_key = $1",
    )
    .bind(login.to_lowercase())
    .fetch_optional(&mut *conn)
    .await?;
    row.map(|row| Ok((user(&row)?, row.try_get("password_hash")?))).transpose()
}

/// All people, by login.
pub async fn list(conn: &mut Conn, paging: &Paging) -> Result<Page<User>> {
    Select::new("SELECT id, login_key, login, display, platform, disabled, created_at FROM users")
        .page(conn, "login_key", Order::Up, paging, user)
        .await
}

/// Replaces the roles over the platform.
pub async fn set_platform(conn: &mut Conn, id: UserId, roles: &BTreeSet<PlatformRole>) -> Result<()> {
    query("UPDATE users SET platform = $1 WHERE id = $2")
        .bind(json("platform roles", roles)?)
        .bind(id.to_string())
        .execute(&mut *conn)
        .await?;
    Ok(())
}

/// Disables or enables the account.
pub async fn set_disabled(conn: &mut Conn, id: UserId, disabled: bool) -> Result<()> {
    query("UPDATE users SET disabled = $1 WHERE id = $2")
        .bind(flag(disabled))
        .bind(id.to_string())
        .execute(&mut *conn)
        .await?;
    Ok(())
}

/// Replaces the password's hash.
pub async fn set_password(conn: &mut Conn, id: UserId, password_hash: &str) -> Result<()> {
    query("UPDATE users SET password_hash = $1 WHERE id = $2")
        .bind(password_hash)
        .bind(id.to_string())
        .execute(&mut *conn)
        .await?;
    Ok(())
}

/// How many people have an account, disabled ones included.
pub async fn count(conn: &mut Conn) -> Result<u64> {
    let row = query("SELECT COUNT(*) AS n FROM users").fetch_one(&mut *conn).await?;
    number(&row, "n")
}

/// The person with all roles; none where the account is disabled or not there.
pub async fn actor(conn: &mut Conn, id: UserId) -> Result<Option<Actor>> {
    let rows = query(
        "SELECT u.display, u.platform, m.team, m.role
         FROM users u LEFT JOIN members m ON m.user_id = u.id
         WHERE u.id = $1 AND u.disabled = 0",
    )
    .bind(id.to_string())
    .fetch_all(&mut *conn)
    .await?;
    let Some(first) = rows.first() else { return Ok(None) };
    let mut actor = Actor {
        user: id,
        display: display(first)?,
        platform: from_json(first, "platform")?,
        teams: std::collections::BTreeMap::new(),
    };
    for row in &rows {
        if let Some(team) = parsed_or_none(row, "team")? {
            actor.teams.insert(team, from_word(row, "role")?);
        }
    }
    Ok(Some(actor))
}
