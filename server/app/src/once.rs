//! Idempotency: the same key and body give the same answer, and the work is done once.

use domain::people::Actor;
use futures::future::BoxFuture;
use serde::{Serialize, de::DeserializeOwned};
use store::{Tx, idempotency::Began};

use crate::{App, AppError, Result};

/// An `Idempotency-Key` with a fingerprint of what it stands for.
#[derive(Clone, Debug, Default)]
pub struct Once {
    /// The key; none: no repetition is recognised.
    pub key: Option<String>,
    /// SHA-256 of method, path and body.
    pub fingerprint: String,
}

impl Once {
    /// Without a key.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }
}

impl App {
    /// Does `work` in one transaction, or answers what it answered before. Key, answer and work commit together,
    /// so a crash leaves either all of it or nothing.
    pub(crate) async fn once<T, F>(&self, actor: &Actor, once: &Once, work: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned + Send,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send,
    {
        let mut tx = self.store().begin().await?;
        if let Some(key) = &once.key {
            match store::idempotency::begin(&mut tx, actor.user, key, &once.fingerprint, self.now()).await? {
                Began::New => {}
                Began::Replay { body, .. } => {
                    return serde_json::from_str(&body)
                        .map_err(|e| AppError::internal("a stored answer cannot be read", e));
                }
                Began::Conflict => {
                    return Err(AppError::KeyReused {
                        detail: format!(
                            "the Idempotency-Key `{key}` was used before with another request; take a new key"
                        ),
                    });
                }
                Began::Busy => {
                    return Err(AppError::conflict(
                        "a request with this Idempotency-Key is being worked on; ask again in a moment",
                    ));
                }
            }
        }
        let answer = work(&mut tx).await?;
        if let Some(key) = &once.key {
            let body = serde_json::to_string(&answer)
                .map_err(|e| AppError::internal("the answer cannot be stored", e))?;
            store::idempotency::finish(&mut tx, actor.user, key, 200, &body).await?;
        }
        tx.commit().await?;
        self.inner.wake.notify_one();
        Ok(answer)
    }
}
