//! The audit list: written with what it is about, never changed.

use domain::{
    api::{AuditEntry, Page},
    id::UserId,
    name::TeamName,
};
use sqlx::{Row, any::AnyRow};

use crate::{
    cursor::Paging,
    error::Result,
    row::{micros, parsed, parsed_or_none, query, time},
    select::{Order, Select},
    store::Conn,
};

/// Which entries.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// About this team.
    pub team: Option<TeamName>,
    /// This action, for example `request.approve`.
    pub action: Option<String>,
    /// Done by this person.
    pub actor: Option<UserId>,
}

fn entry(row: &AnyRow) -> Result<AuditEntry> {
    Ok(AuditEntry {
        id: parsed(row, "id")?,
        at: time(row, "at")?,
        actor: parsed_or_none(row, "actor")?,
        actor_display: row.try_get("actor_display")?,
        action: row.try_get("action")?,
        subject: row.try_get("subject")?,
        team: parsed_or_none(row, "team")?,
        detail: row.try_get("detail")?,
    })
}

/// Adds an entry.
pub async fn record(conn: &mut Conn, entry: &AuditEntry) -> Result<()> {
    query(
        "INSERT INTO audit (id, at, actor, actor_display, action, subject, team, detail)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(entry.id.to_string())
    .bind(micros(entry.at))
    .bind(entry.actor.map(|a| a.to_string()))
    .bind(entry.actor_display.as_str())
    .bind(entry.action.as_str())
    .bind(entry.subject.as_str())
    .bind(entry.team.as_ref().map(TeamName::as_str))
    .bind(entry.detail.as_str())
    .execute(&mut *conn)
    .await?;
    Ok(())
}

/// Entries, newest first.
pub async fn list(conn: &mut Conn, filter: &Filter, paging: &Paging) -> Result<Page<AuditEntry>> {
    Select::new("SELECT id, at, actor, actor_display, action, subject, team, detail FROM audit")
        .equals("team", filter.team.as_ref().map(TeamName::as_str))
        .equals("action", filter.action.as_deref())
        .equals("actor", filter.actor.map(|a| a.to_string()))
        .page(conn, "id", Order::Down, paging, entry)
        .await
}
