//! Local accounts: first start, sign-in, people.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use argon2::{Argon2, PasswordHash, PasswordHasher, PasswordVerifier, password_hash::SaltString};
use chrono::Duration;
use domain::{
    Timestamp,
    api::{FieldError, NewUser, Page},
    authz::Action,
    id::UserId,
    name::DisplayName,
    people::{Actor, PlatformRole, User},
};
use futures::FutureExt as _;
use sha2::{Digest as _, Sha256};
use store::Paging;
use tokio::sync::Semaphore;

use crate::{App, AppError, Ctx, Once, Result, access::Deed};

const PASSWORD_MIN: usize = 12;
const PASSWORD_MAX: usize = 200;
const LOGIN_MAX: usize = 64;
/// A first-start link is valid this long.
const SETUP_HOURS: i64 = 24;
/// Failed tries of one login in [`WINDOW_S`] seconds before it must wait.
const TRIES: usize = 10;
const WINDOW_S: i64 = 15 * 60;
/// Logins remembered at most, so that nobody fills our memory with guesses.
const REMEMBERED: usize = 10_000;
/// Verified when the login is unknown, so that the answer takes as long.
const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$bm90LWEtcmVhbC1zYWx0$3Q9sF0xj0mMQnUwMZ9x3bFqS5n0Y0kD5eQ1uQbqv0hY";

/// Password hashes at a time, 19 MiB each, and how many may wait for their turn.
const HASHES: usize = 2;
const HASHES_WAITING: usize = 64;

/// Tries to sign in, by login, and the turns of hashing.
pub(crate) struct SignIns {
    tries: Mutex<HashMap<String, Vec<Timestamp>>>,
    turns: Semaphore,
    waiting: AtomicUsize,
}

impl Default for SignIns {
    fn default() -> Self {
        Self { tries: Mutex::default(), turns: Semaphore::new(HASHES), waiting: AtomicUsize::new(0) }
    }
}

impl SignIns {
    /// Counts a try before it is made, so that many at once are counted as well.
    fn begin(&self, login: &str, now: Timestamp) -> Result<()> {
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        if tries.len() >= REMEMBERED && !tries.contains_key(login) {
            let oldest =
                tries.iter().min_by_key(|(_, times)| times.last().copied()).map(|(name, _)| name.clone());
            oldest.and_then(|name| tries.remove(&name));
        }
        let times = tries.entry(login.to_owned()).or_default();
        times.retain(|t| (now - *t).num_seconds() < WINDOW_S);
        match times.first() {
            Some(first) if times.len() >= TRIES => {
                let wait = WINDOW_S - (now - *first).num_seconds();
                Err(AppError::Throttled { retry_after_s: u64::try_from(wait.max(1)).unwrap_or(1) })
            }
            _ => {
                times.push(now);
                Ok(())
            }
        }
    }

    /// A try that succeeded takes all back.
    fn succeeded(&self, login: &str) {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner).remove(login);
    }

    /// Runs a hash when it is its turn; refuses when too many wait.
    async fn hash<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let full = self.waiting.fetch_add(1, Ordering::SeqCst) >= HASHES_WAITING;
        let done = async {
            if full {
                return Err(AppError::Throttled { retry_after_s: 2 });
            }
            let stopped =
                |e: Box<dyn std::error::Error + Send + Sync>| AppError::internal("hashing was stopped", e);
            let _turn = self.turns.acquire().await.map_err(|e| stopped(e.into()))?;
            tokio::task::spawn_blocking(work).await.map_err(|e| stopped(e.into()))
        }
        .await;
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        done
    }
}

impl App {
    /// A link token for the first admin while there is no account; a new one each time, valid once for 24 hours.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn first_start_token(&self) -> Result<Option<String>> {
        let mut tx = self.store().begin().await?;
        if store::users::count(&mut tx).await? > 0 {
            return Ok(None);
        }
        let token = self.secret(32);
        store::setup::put(&mut tx, &digest(&token), self.now() + Duration::hours(SETUP_HOURS)).await?;
        tx.commit().await?;
        Ok(Some(token))
    }

    /// Makes the first admin.
    ///
    /// # Errors
    /// When the link is used up, or a field is wrong.
    pub async fn finish_setup(
        &self,
        token: &str,
        login: &str,
        display: &str,
        password: &str,
    ) -> Result<Actor> {
        let used_up = || {
            AppError::not_found(
                "this first-start link (it is valid once, for 24 hours; restart gpuaas to get a new one)",
            )
        };
        // Nobody makes us hash once the first account is there.
        if store::users::count(&mut *self.store().read().await?).await? > 0 {
            return Err(used_up());
        }
        let (login, display) = check_account(login, display, password)?;
        let hash = self.hash(password.to_owned()).await?;
        let user = self.user(login, display, [PlatformRole::Admin].into());
        let mut tx = self.store().begin().await?;
        if store::users::count(&mut tx).await? > 0
            || !store::setup::take(&mut tx, &digest(token), self.now()).await?
        {
            return Err(used_up());
        }
        store::users::insert(&mut tx, &user, &hash).await?;
        let deed = Deed {
            action: "user.first",
            subject: format!("user/{}", user.login),
            team: None,
            detail: serde_json::json!({}),
        };
        self.audit_job(&mut tx, "first start", deed).await?;
        tx.commit().await?;
        Ok(Actor { user: user.id, display: user.display, platform: user.platform, teams: Default::default() })
    }

    /// Proves login and password.
    ///
    /// # Errors
    /// [`AppError::BadCredentials`], or [`AppError::Throttled`] after ten failures in a quarter of an hour.
    pub async fn sign_in(&self, login: &str, password: &str) -> Result<Actor> {
        let login = login.trim().to_lowercase();
        if login.chars().count() > LOGIN_MAX || password.chars().count() > PASSWORD_MAX {
            return Err(AppError::BadCredentials);
        }
        self.inner.sign_ins.begin(&login, self.now())?;
        let found = store::users::by_login(&mut *self.store().read().await?, &login).await?;
        let stored = found.as_ref().map_or(NOBODY, |(_, hash)| hash).to_owned();
        let good = self.verify(stored, password.to_owned()).await?;
        let actor = match found {
            Some((user, _)) if good && !user.disabled => self.actor(user.id).await?,
            _ => None,
        };
        if actor.is_some() {
            self.inner.sign_ins.succeeded(&login);
        }
        actor.ok_or(AppError::BadCredentials)
    }

    /// The actor behind an account, with fresh roles; none when it is gone or disabled.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn actor(&self, user: UserId) -> Result<Option<Actor>> {
        Ok(store::users::actor(&mut *self.store().read().await?, user).await?)
    }

    /// Makes an account.
    ///
    /// # Errors
    /// When the actor is no admin, a field is wrong, or the login exists.
    pub async fn create_user(&self, ctx: &Ctx, new: NewUser, once: Once) -> Result<User> {
        ctx.allow(Action::ManagePeople, "people")?;
        let (login, display) = check_account(&new.login, new.display.as_str(), &new.password)?;
        let hash = self.hash(new.password).await?;
        let user = self.user(login, display, new.platform.into_iter().collect());
        let (app, by) = (self.clone(), ctx.clone());
        self.once(&ctx.actor, &once, move |tx| {
            async move {
                store::users::insert(tx, &user, &hash).await?;
                let detail = serde_json::json!({"platform": user.platform});
                app.audit_by(
                    tx,
                    &by,
                    Deed {
                        action: "user.create",
                        subject: format!("user/{}", user.login),
                        team: None,
                        detail,
                    },
                )
                .await?;
                Ok(user)
            }
            .boxed()
        })
        .await
    }

    /// People with an account.
    ///
    /// # Errors
    /// When the actor may not see the platform.
    pub async fn list_users(&self, ctx: &Ctx, paging: &Paging) -> Result<Page<User>> {
        ctx.allow(Action::ReadPlatform, "people")?;
        Ok(store::users::list(&mut *self.store().read().await?, paging).await?)
    }

    /// Sets the roles of a person over the platform.
    ///
    /// # Errors
    /// When the actor is no admin, or takes the role from themselves.
    pub async fn set_platform_roles(
        &self,
        ctx: &Ctx,
        user: UserId,
        roles: BTreeSet<PlatformRole>,
    ) -> Result<User> {
        ctx.allow(Action::ManagePeople, "people")?;
        if user == ctx.actor.user && !roles.contains(&PlatformRole::Admin) {
            return Err(AppError::conflict(
                "you cannot take the admin role from yourself; another admin can",
            ));
        }
        let mut tx = self.store().begin().await?;
        let found = store::users::find(&mut tx, user)
            .await?
            .ok_or_else(|| AppError::not_found(format!("person {user}")))?;
        store::users::set_platform(&mut tx, user, &roles).await?;
        let detail = serde_json::json!({"before": found.platform, "after": roles});
        self.audit_by(
            &mut tx,
            ctx,
            Deed { action: "user.roles", subject: format!("user/{}", found.login), team: None, detail },
        )
        .await?;
        tx.commit().await?;
        Ok(User { platform: roles, ..found })
    }

    /// Locks a person out, sessions included, or lets them in again.
    ///
    /// # Errors
    /// When the actor is no admin, or locks themselves out.
    pub async fn set_disabled(&self, ctx: &Ctx, user: UserId, disabled: bool) -> Result<User> {
        ctx.allow(Action::ManagePeople, "people")?;
        if user == ctx.actor.user {
            return Err(AppError::conflict("you cannot lock yourself out; another admin can"));
        }
        let mut tx = self.store().begin().await?;
        let found = store::users::find(&mut tx, user)
            .await?
            .ok_or_else(|| AppError::not_found(format!("person {user}")))?;
        store::users::set_disabled(&mut tx, user, disabled).await?;
        if disabled {
            store::sessions::delete_of_user(&mut tx, user).await?;
        }
        let detail = serde_json::json!({"disabled": disabled});
        self.audit_by(
            &mut tx,
            ctx,
            Deed { action: "user.disable", subject: format!("user/{}", found.login), team: None, detail },
        )
        .await?;
        tx.commit().await?;
        Ok(User { disabled, ..found })
    }

    fn user(&self, login: String, display: DisplayName, platform: BTreeSet<PlatformRole>) -> User {
        User { id: self.id(), login, display, platform, disabled: false, created_at: self.now() }
    }

    async fn verify(&self, stored: String, password: String) -> Result<bool> {
        let check = move || {
            PasswordHash::new(&stored)
                .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
        };
        self.inner.sign_ins.hash(check).await
    }

    async fn hash(&self, password: String) -> Result<String> {
        let mut salt = [0; 16];
        self.inner.parts.entropy.fill(&mut salt);
        let hashed = self.inner.sign_ins.hash(move || {
            let salt = SaltString::encode_b64(&salt)?;
            Argon2::default().hash_password(password.as_bytes(), &salt).map(|h| h.to_string())
        });
        let hashed: argon2::password_hash::Result<String> = hashed.await?;
        hashed.map_err(|e| AppError::internal("the password cannot be hashed", e.to_string()))
    }
}

fn digest(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}

fn check_account(login: &str, display: &str, password: &str) -> Result<(String, DisplayName)> {
    let login = login.trim().to_lowercase();
    let mut fields = vec![];
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | '+');
    if login.is_empty() || login.chars().count() > LOGIN_MAX || !login.chars().all(plain) {
        fields.push(FieldError::new(
            "login",
            format!("must be 1 to {LOGIN_MAX} letters, digits or any of . _ - @ +"),
        ));
    }
    let length = password.chars().count();
    if !(PASSWORD_MIN..=PASSWORD_MAX).contains(&length) {
        fields.push(FieldError::new(
            "password",
            format!("has {length} characters; {PASSWORD_MIN} to {PASSWORD_MAX} are needed"),
        ));
    }
    match DisplayName::new(display) {
        Ok(display) if fields.is_empty() => return Ok((login, display)),
        Ok(_) => {}
        Err(error) => fields.push(FieldError::new("display", error)),
    }
    Err(AppError::Invalid { fields })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn ten_failures_close_a_login_for_a_while() {
        let tries = SignIns::default();
        for n in 0..10 {
            assert!(tries.begin("m", at(n)).is_ok());
        }
        assert!(matches!(tries.begin("m", at(10)), Err(AppError::Throttled { retry_after_s: 890 })));
        assert!(tries.begin("other", at(10)).is_ok());
        assert!(tries.begin("m", at(901)).is_ok());
        tries.succeeded("m");
        assert!((0..10).all(|n| tries.begin("m", at(902 + n)).is_ok()));
    }

    #[test]
    fn a_full_memory_forgets_the_oldest_and_still_counts() {
        let tries = SignIns::default();
        for n in 0..REMEMBERED {
            tries.begin(&format!("login-{n}"), at(0)).unwrap();
        }
        for n in 0..10 {
            assert!(tries.begin("m", at(1 + n)).is_ok());
        }
        assert!(tries.begin("m", at(20)).is_err());
        assert!(tries.tries.lock().unwrap().len() <= REMEMBERED);
    }

    #[test]
    fn the_hash_for_nobody_is_one() {
        assert!(PasswordHash::new(NOBODY).is_ok());
    }

    #[test]
    fn every_wrong_field_is_named() {
        let Err(AppError::Invalid { fields }) = check_account("a b", "", "short") else { panic!() };
        assert_eq!(
            fields.iter().map(|f| f.field.as_str()).collect::<Vec<_>>(),
            ["login", "password", "display"]
        );
        assert_eq!(check_account(" M.Person ", "M", "long enough 12").unwrap().0, "m.person");
    }
}
