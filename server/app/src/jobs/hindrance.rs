//! Why a job is not done yet, and when it is worth another try.

use crate::AppError;

/// What keeps a job from its end, and when to try again.
#[derive(Debug)]
pub(super) struct Hindrance {
    pub reason: String,
    patient: bool,
}

impl Hindrance {
    /// Something that is about to be there.
    pub(super) fn soon(reason: String) -> Self {
        Self { reason, patient: false }
    }
    /// Something that may take a while; tried again with growing pauses.
    pub(super) fn later(reason: String) -> Self {
        Self { reason, patient: true }
    }
    /// Is it worth a line in the log?
    pub(super) fn is_news(&self) -> bool {
        self.patient
    }
    pub(super) fn pause(&self, attempts: u32) -> chrono::Duration {
        let millis = if self.patient { 500_i64 << attempts.min(5) } else { 250 };
        chrono::Duration::milliseconds(millis)
    }
}

impl From<AppError> for Hindrance {
    fn from(error: AppError) -> Self {
        tracing::warn!(error = ?error, "a job failed");
        Self::later(error.to_string())
    }
}
