//! Ends grants whose lease is over.

use crate::{App, Result};

/// One pass; a grant that cannot be ended now is tried again in the next.
pub(super) async fn run(app: &App) -> Result<()> {
    let due = store::grants::due(&mut *app.store().read().await?, app.now()).await?;
    for grant in due {
        if let Err(error) = app.expire(&grant).await {
            tracing::warn!(grant.id = %grant.id, error = %error, "a lease that is over could not be ended; it is tried again");
        }
    }
    Ok(())
}
