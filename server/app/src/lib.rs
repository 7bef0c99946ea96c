//! Use-cases and jobs: what gpuaas does, in the order in which it is done.
//!
//! A use-case proves the actor's right, opens one transaction, locks team and offering, lets `domain` decide,
//! writes state, audit and outbox, and commits. A job starts from zero each time: it loads what is true, asks
//! `plan` what should be, lets `cluster` or `gitops` make it so and writes back what was seen.
//!
//! This crate knows no HTTP, no SQL and no Kubernetes client of its own.

mod access;
mod accounts;
mod error;
mod fleet;
mod grants;
pub mod jobs;
mod manifests;
mod members;
mod observation;
mod once;
mod requests;
mod teams;
mod tenancy;
mod vault;
mod views;

use std::sync::{Arc, atomic::AtomicBool};

pub use access::Ctx;
pub use error::{AppError, Result};
pub use once::Once;
pub use vault::Vault;

use domain::Timestamp;
use tokio::sync::Notify;
use ulid::Ulid;

/// Where time comes from: the system's clock in `wire`, a movable one in tests.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// Where randomness comes from.
pub trait Entropy: Send + Sync {
    /// Fills the buffer with bytes that nobody can guess.
    fn fill(&self, buffer: &mut [u8]);
}

/// What an [`App`] is made of.
pub struct Parts {
    /// The database.
    pub store: store::Store,
    /// Encrypts kubeconfigs at rest.
    pub vault: Vault,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// The git repository that clusters with the git writer are published to.
    pub repo: Option<gitops::Repo>,
    /// Choices of the site that manifests follow.
    pub site: plan::SiteSettings,
}

/// All use-cases. Cheap to clone.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
}

struct Inner {
    parts: Parts,
    members: members::Members,
    sign_ins: accounts::SignIns,
    /// Whether the stored balances agreed with the ledger's events when they were last compared.
    balances_agree: AtomicBool,
    /// Wakes the runner when a use-case has enqueued work, so that nobody waits for the next poll.
    wake: Notify,
}

impl App {
    /// An application over these parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let (members, sign_ins) = (members::Members::default(), accounts::SignIns::default());
        Self {
            inner: Arc::new(Inner {
                parts,
                members,
                sign_ins,
                balances_agree: AtomicBool::new(true),
                wake: Notify::new(),
            }),
        }
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.inner.parts.clock.now()
    }

    /// The database, for the session store and the readiness check only.
    #[must_use]
    pub fn store(&self) -> &store::Store {
        &self.inner.parts.store
    }

    /// Jobs that wait or run.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn jobs_waiting(&self) -> Result<u64> {
        Ok(store::outbox::waiting(&mut *self.store().read().await?).await?)
    }

    fn id<T: From<Ulid>>(&self) -> T {
        let mut bytes = [0; 16];
        self.inner.parts.entropy.fill(&mut bytes);
        let millis = u64::try_from(self.now().timestamp_millis()).unwrap_or_default();
        Ulid::from_parts(millis, u128::from_le_bytes(bytes)).into()
    }

    /// `n` random bytes in hexadecimal.
    fn secret(&self, n: usize) -> String {
        let mut bytes = vec![0; n];
        self.inner.parts.entropy.fill(&mut bytes);
        hex::encode(bytes)
    }
}
