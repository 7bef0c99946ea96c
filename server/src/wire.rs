//! Puts the parts together: the only place, with `telemetry`, that knows the system's clock and its randomness.

use std::{
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
    sync::Arc,
    time::Duration,
};

use app::{
    App, Clock, Entropy, Parts, Vault,
    jobs::{Runner, RunnerOptions},
};
use domain::Timestamp;
use tokio::{net::TcpListener, signal};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{PublicUrl, ServeConfig, StorageConfig, UrlError},
    demo,
    http::{RequestIds, Site, Web, router},
};

/// Jobs at once.
const WORKERS: usize = 32;
/// Longest wait between two looks into the outbox, where nothing wakes it.
const POLL: Duration = Duration::from_millis(500);
/// How often sessions that are over are removed.
const SWEEP: Duration = Duration::from_secs(3600);

/// Why a server cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A file or folder.
    #[error("{what}")]
    File {
        /// Which, and what was being done.
        what: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The key file is not ours.
    #[error(
        "the key in {0} is not 64 hexadecimal digits; put the right one back, or kubeconfigs cannot be read"
    )]
    Key(String),
    /// The database.
    #[error("the database cannot be opened or migrated")]
    Database(#[from] store::StoreError),
    /// The git repository.
    #[error("the git repository cannot be opened")]
    Git(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The address that people should use.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// A use-case of the start.
    #[error("the start was refused")]
    App(#[from] app::AppError),
    /// The demo.
    #[error(transparent)]
    Demo(#[from] demo::DemoError),
}

/// The system's clock.
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    fn now(&self) -> Timestamp {
        chrono::Utc::now()
    }
}

/// The system's randomness.
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        rand::RngCore::fill_bytes(&mut rand::rng(), buffer);
    }
}

/// Opens the database (migrating it), the key and the repository, and makes the application.
///
/// # Errors
/// Names the part that cannot be opened.
pub async fn app(storage: &StorageConfig) -> Result<App, ServeError> {
    let folder = &storage.data;
    // The database holds password hashes and sessions: the folder is its owner's alone.
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|source| file("the data folder cannot be made", folder, source))?;
    let store = store::Store::open(&storage.database_url()).await?;
    let git = storage.git_path();
    let repo = gitops::Repo::open(&git).await.map_err(|error| ServeError::Git(error.into()))?;
    let parts = Parts {
        store,
        vault: Vault::new(key(&storage.key_path())?),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        repo: Some(repo),
        site: plan::SiteSettings::default(),
    };
    Ok(App::new(parts))
}

fn file(what: &str, path: &Path, source: io::Error) -> ServeError {
    ServeError::File { what: format!("{what}: {}", path.display()), source }
}

/// Reads the key, or makes one that only its owner can read.
fn key(path: &Path) -> Result<[u8; 32], ServeError> {
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let bytes = hex::decode(text.trim()).ok().and_then(|bytes| bytes.try_into().ok());
            bytes.ok_or_else(|| ServeError::Key(path.display().to_string()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut bytes = [0; 32];
            SystemEntropy.fill(&mut bytes);
            let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
            let mut made = made.map_err(|source| file("the key cannot be made", path, source))?;
            let written = writeln!(made, "{}", hex::encode(bytes)).and_then(|()| made.sync_all());
            written.map_err(|source| file("the key cannot be written", path, source))?;
            Ok(bytes)
        }
        Err(source) => Err(file("the key cannot be read", path, source)),
    }
}

/// The HTTP layer over an application.
#[must_use]
pub fn web(app: App, public_url: PublicUrl, site: Site) -> Web {
    let mut seed = [0; 4];
    SystemEntropy.fill(&mut seed);
    Web {
        app,
        entropy: Arc::new(SystemEntropy),
        public_url,
        site: Arc::new(site),
        request_ids: Arc::new(RequestIds::new(u32::from_le_bytes(seed))),
    }
}

/// Runs the server until it is told to stop; requests that run are finished first.
///
/// # Errors
/// When a part cannot be opened, or the address is taken.
pub async fn serve(config: ServeConfig) -> Result<(), ServeError> {
    let listener = TcpListener::bind(config.listen).await;
    let listener = listener
        .map_err(|source| ServeError::File { what: format!("cannot listen on {}", config.listen), source })?;
    let listen = listener
        .local_addr()
        .map_err(|source| ServeError::File { what: "no local address".to_owned(), source })?;
    let public_url = public_url(&config, listen)?;
    let app = app(&config.storage).await?;
    if config.demo {
        demo::seed(&app, config.demo_teams, config.kubeconfig.as_deref(), &mut io::stdout()).await?;
    }
    if let Some(token) = app.first_start_token().await? {
        say(&format!(
            "First start: make the first account at {public_url}/setup?token={token}\nThe link is valid once, for 24 hours."
        ));
    }
    let site = Site::read(&config.site)
        .map_err(|source| file("static files cannot be read", &config.site, source))?;
    if site.is_empty() {
        tracing::warn!(folder = %config.site.display(), "no static files; pages come without style and islands");
    }
    let stop = CancellationToken::new();
    let jobs = tokio::spawn(
        Runner::new(app.clone(), RunnerOptions { workers: WORKERS, poll: POLL }).run(stop.clone()),
    );
    let sweep = tokio::spawn(sweep_sessions(app.clone(), stop.clone()));
    tokio::spawn(stop_on_signal(stop.clone()));
    say(&format!("gpuaas listens at {public_url}"));
    let service = router(web(app, public_url, site));
    let served = axum::serve(listener, service).with_graceful_shutdown(stop.clone().cancelled_owned()).await;
    stop.cancel();
    for (name, task) in [("jobs", jobs), ("sessions", sweep)] {
        if let Err(error) = task.await {
            tracing::error!(%error, task = name, "a background task ended badly");
        }
    }
    served.map_err(|source| ServeError::File { what: "serving ended".to_owned(), source })
}

fn public_url(config: &ServeConfig, listen: std::net::SocketAddr) -> Result<PublicUrl, ServeError> {
    match &config.public_url {
        Some(url) => Ok(url.clone()),
        None if listen.ip().is_loopback() => Ok(PublicUrl::loopback(listen)),
        None => Err(UrlError::Plain(format!("http://{listen}")).into()),
    }
}

fn say(text: &str) {
    // Nobody reads the console any more: not a reason to stop serving.
    let _ = writeln!(io::stdout(), "{text}");
}

async fn sweep_sessions(app: App, stop: CancellationToken) {
    loop {
        if let Err(error) = expire_sessions(&app).await {
            tracing::warn!(%error, "sessions that are over were not removed");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(SWEEP) => {}
        }
    }
}

async fn expire_sessions(app: &App) -> Result<(), store::StoreError> {
    let mut tx = app.store().begin().await?;
    store::sessions::expire(&mut tx, app.now()).await?;
    tx.commit().await
}

async fn stop_on_signal(stop: CancellationToken) {
    let terminate = async {
        match signal::unix::signal(signal::unix::SignalKind::terminate()) {
            Ok(mut terminate) => {
                terminate.recv().await;
            }
            Err(error) => {
                tracing::warn!(%error, "SIGTERM cannot be watched");
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        _ = signal::ctrl_c() => {}
        () = terminate => {}
        () = stop.cancelled() => {}
    }
    tracing::info!("stopping");
    stop.cancel();
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_key_is_made_once_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let made = key(&path).unwrap();
        assert_eq!(key(&path).unwrap(), made);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&path, "short").unwrap();
        assert!(matches!(key(&path), Err(ServeError::Key(_))));
    }
}
