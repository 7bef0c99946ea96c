//! Sessions: tower-sessions over our database, with expiry by our own clock.
//!
//! A session ends 12 hours after its last use and 7 days after it was made, whichever comes first. To keep reads
//! from writing, use is recorded at most every ten minutes.

use app::App;
use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::Duration;
use domain::{Timestamp, id::UserId};
use tower_sessions::{
    Expiry, Session, SessionManagerLayer, SessionStore,
    cookie::{
        SameSite,
        time::{Duration as Span, OffsetDateTime},
    },
    session::{Id, Record},
    session_store::{Error as StoreError, Result as StoreResult},
};

use super::{
    Web,
    problem::{Answer, Refusal},
};
use crate::config::PublicUrl;

const IDLE_HOURS: i64 = 12;
const WHOLE_DAYS: i64 = 7;
const TOUCH_MINUTES: i64 = 10;
/// A session before sign-in lives this long.
const GUEST_MINUTES: i64 = 30;

const USER: &str = "user";
const CSRF: &str = "csrf";
const FLASH: &str = "flash";
/// Made, in microseconds since 1970.
const SINCE: &str = "since";
/// Last use that was recorded, in microseconds since 1970.
const SEEN: &str = "seen";

/// Name of the cookie. `__Host-` binds it to this host, to `/` and to https, so it needs https.
pub(crate) fn cookie_name(public_url: &PublicUrl) -> &'static str {
    if public_url.is_https() { "__Host-gpuaas" } else { "gpuaas" }
}

/// The layer that gives each request its [`Session`].
pub(crate) fn layer(web: &Web) -> SessionManagerLayer<Sessions> {
    SessionManagerLayer::new(Sessions { app: web.app.clone() })
        .with_name(cookie_name(&web.public_url))
        .with_secure(web.public_url.is_https())
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_path("/")
        .with_expiry(Expiry::OnInactivity(Span::days(WHOLE_DAYS)))
}

/// Our session store.
#[derive(Clone)]
pub(crate) struct Sessions {
    app: App,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sessions")
    }
}

struct Row {
    data: String,
    user: Option<UserId>,
    expires: Timestamp,
}

impl Sessions {
    fn row(&self, record: &Record) -> StoreResult<Row> {
        let data = serde_json::to_string(&record.data).map_err(|e| StoreError::Encode(e.to_string()))?;
        let user = record.data.get(USER).and_then(|v| v.as_str()).and_then(|text| text.parse().ok());
        let since = record
            .data
            .get(SINCE)
            .and_then(serde_json::Value::as_i64)
            .and_then(Timestamp::from_timestamp_micros);
        let now = self.app.now();
        // Anybody can make sessions that nobody signs in to; they go soon.
        let expires =
            if user.is_some() { expires(since, now) } else { now + Duration::minutes(GUEST_MINUTES) };
        Ok(Row { data, user, expires })
    }
}

fn expires(since: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let idle = now + Duration::hours(IDLE_HOURS);
    since.map_or(idle, |since| idle.min(since + Duration::days(WHOLE_DAYS)))
}

fn backend(error: impl std::error::Error + 'static) -> StoreError {
    StoreError::Backend(super::problem::chain(&error))
}

#[async_trait]
impl SessionStore for Sessions {
    async fn create(&self, record: &mut Record) -> StoreResult<()> {
        let row = self.row(record)?;
        let mut tx = self.app.store().begin().await.map_err(backend)?;
        while !store::sessions::create(&mut tx, &record.id.to_string(), &row.data, row.expires, row.user)
            .await
            .map_err(backend)?
        {
            record.id = Id::default();
        }
        tx.commit().await.map_err(backend)
    }

    async fn save(&self, record: &Record) -> StoreResult<()> {
        let row = self.row(record)?;
        let mut tx = self.app.store().begin().await.map_err(backend)?;
        store::sessions::put(&mut tx, &record.id.to_string(), &row.data, row.expires, row.user)
            .await
            .map_err(backend)?;
        tx.commit().await.map_err(backend)
    }

    async fn load(&self, id: &Id) -> StoreResult<Option<Record>> {
        let mut conn = self.app.store().read().await.map_err(backend)?;
        let found =
            store::sessions::get(&mut conn, &id.to_string(), self.app.now()).await.map_err(backend)?;
        let Some((data, expires)) = found else { return Ok(None) };
        let data = serde_json::from_str(&data).map_err(|e| StoreError::Decode(e.to_string()))?;
        let expiry_date = OffsetDateTime::from_unix_timestamp(expires.timestamp())
            .map_err(|e| StoreError::Decode(e.to_string()))?;
        Ok(Some(Record { id: *id, data, expiry_date }))
    }

    async fn delete(&self, id: &Id) -> StoreResult<()> {
        let mut tx = self.app.store().begin().await.map_err(backend)?;
        store::sessions::delete(&mut tx, &id.to_string()).await.map_err(backend)?;
        tx.commit().await.map_err(backend)
    }
}

/// Account that the session belongs to; records its use now and then.
pub(crate) async fn user(session: &Session, now: Timestamp) -> Answer<Option<UserId>> {
    let Some(user) = session.get::<UserId>(USER).await.map_err(Refusal::internal)? else { return Ok(None) };
    let seen = session.get::<i64>(SEEN).await.map_err(Refusal::internal)?.unwrap_or_default();
    if now.timestamp_micros() - seen > Duration::minutes(TOUCH_MINUTES).num_microseconds().unwrap_or(i64::MAX)
    {
        session.insert(SEEN, now.timestamp_micros()).await.map_err(Refusal::internal)?;
    }
    Ok(Some(user))
}

/// Does the session belong to an account?
pub(crate) async fn is_signed_in(session: &Session) -> Answer<bool> {
    Ok(session.get_value(USER).await.map_err(Refusal::internal)?.is_some())
}

/// Binds the session to an account, under a new id and with a new token: what was known before is worth nothing.
pub(crate) async fn sign_in(web: &Web, session: &Session, user: UserId) -> Answer<()> {
    let now = web.app.now().timestamp_micros();
    session.clear().await;
    session.cycle_id().await.map_err(Refusal::internal)?;
    session.insert(USER, user).await.map_err(Refusal::internal)?;
    session.insert(SINCE, now).await.map_err(Refusal::internal)?;
    session.insert(SEEN, now).await.map_err(Refusal::internal)?;
    session.insert(CSRF, new_token(web)).await.map_err(Refusal::internal)
}

/// Ends the session and removes its record.
pub(crate) async fn sign_out(session: &Session) -> Answer<()> {
    session.flush().await.map_err(Refusal::internal)
}

/// The session's anti-forgery token, if it has one.
pub(crate) async fn token(session: &Session) -> Answer<Option<String>> {
    session.get(CSRF).await.map_err(Refusal::internal)
}

/// The session's anti-forgery token; makes one, and with it a session, where there is none.
pub(crate) async fn token_or_new(web: &Web, session: &Session) -> Answer<String> {
    if let Some(token) = token(session).await? {
        return Ok(token);
    }
    let token = new_token(web);
    session.insert(SINCE, web.app.now().timestamp_micros()).await.map_err(Refusal::internal)?;
    session.insert(CSRF, &token).await.map_err(Refusal::internal)?;
    Ok(token)
}

fn new_token(web: &Web) -> String {
    URL_SAFE_NO_PAD.encode(web.random::<{ super::csrf::TOKEN }>())
}

/// Keeps a sentence for the next page.
pub(crate) async fn set_flash(session: &Session, failed: bool, text: &str) -> Answer<()> {
    session.insert(FLASH, (failed, text)).await.map_err(Refusal::internal)
}

/// Takes the sentence that was kept: did the act fail, and what is there to say.
pub(crate) async fn take_flash(session: &Session) -> Answer<Option<(bool, String)>> {
    if session.get_value(FLASH).await.map_err(Refusal::internal)?.is_none() {
        return Ok(None);
    }
    session.remove(FLASH).await.map_err(Refusal::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_slides_but_not_for_ever() {
        let at = |hours: i64| Timestamp::from_timestamp(1_800_000_000 + hours * 3600, 0).unwrap();
        assert_eq!(expires(None, at(0)), at(12));
        assert_eq!(expires(Some(at(0)), at(10)), at(22));
        assert_eq!(expires(Some(at(0)), at(160)), at(168));
    }

    #[test]
    fn the_host_prefix_needs_https() {
        assert_eq!(cookie_name(&"https://gpu.example.org".parse().unwrap()), "__Host-gpuaas");
        assert_eq!(cookie_name(&"http://127.0.0.1:8080".parse().unwrap()), "gpuaas");
    }
}
