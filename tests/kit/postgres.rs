//! A private Postgres server.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, os::unix::fs as unix};

use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::error::{Doing, Error, Result};
use crate::process::{DeathSignal, Process};
use crate::{free_port, scratch, wait_for};

/// Set to the URL of a server's database `postgres`, [`Postgres::shared`] uses that server instead of starting one.
pub const SHARED: &str = "GPUAAS_TEST_POSTGRES";

/// A server on a loopback port. What was started here ends on drop.
#[derive(Debug)]
pub struct Postgres {
    server: Option<Process>,
    bin: PathBuf,
    url: String,
    _temporary: Option<TempDir>,
}

impl Postgres {
    /// Starts the newest installed version with an empty data folder; waits until it answers, about two seconds.
    /// Settings are the defaults, so commits wait for the disk.
    ///
    /// # Errors
    /// When Postgres is not installed or does not start.
    pub async fn start() -> Result<Self> {
        let bin = newest()?;
        let temporary = scratch::folder("postgres")?;
        let dir = temporary.path();
        let owner = Owner::for_folder(dir)?;
        let data = dir.join("data");
        owner.run(
            &bin.join("initdb"),
            &[
                &format!("--pgdata={}", data.display()),
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",
            ],
        )?;
        let port = free_port()?;
        let mut command = owner.prefix();
        command.extend([
            bin.join("postgres").display().to_string(),
            format!("-D{}", data.display()),
            "-clisten_addresses=127.0.0.1".to_owned(),
            format!("-cport={port}"),
            format!("-cunix_socket_directories={}", dir.display()),
            "-cmax_connections=300".to_owned(),
        ]);
        let program = PathBuf::from(command.remove(0));
        let server = Process::start(&program, command, &dir.join("postgres.log"), DeathSignal::Quit)?;
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let mut postgres = Self { server: Some(server), bin, url, _temporary: Some(temporary) };
        postgres.wait_until_ready().await?;
        Ok(postgres)
    }

    /// The server that all tests of this run use: that of the variable `GPUAAS_TEST_POSTGRES`, or else one that is
    /// started at the first call and lives as long as the process.
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub async fn shared() -> Result<&'static Self> {
        static SHARED_SERVER: OnceCell<Postgres> = OnceCell::const_new();
        let found = SHARED_SERVER.get_or_try_init(|| async {
            match std::env::var(SHARED) {
                Ok(url) => Ok(Self { server: None, bin: newest()?, url, _temporary: None }),
                Err(_) => Self::start().await,
            }
        });
        found.await
    }

    /// The URL of the database `postgres`, as superuser.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Creates an empty database and returns its URL.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn database(&self) -> Result<String> {
        let name = unique_name();
        let tool = self.bin.join("createdb");
        let server = format!("--maintenance-db={}", self.url);
        // template0: nobody can be connected to it, which would make the copy fail.
        output(Command::new(&tool).args([&server, "--template=template0", &name]), &tool)?;
        let base = self.url.rsplit_once('/').map_or(self.url.as_str(), |(base, _)| base);
        Ok(format!("{base}/{name}"))
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let tool = self.bin.join("pg_isready");
        let url = self.url.clone();
        let server = &mut self.server;
        let ready = wait_for("Postgres ready", Duration::from_secs(30), || {
            let state = match server.as_mut().map_or(Ok(()), Process::still_runs) {
                Err(error) => Some(Err(error)),
                Ok(()) => {
                    output(Command::new(&tool).args(["-q", "-d", &url]), &tool).is_ok().then_some(Ok(()))
                }
            };
            async move { state }
        });
        ready.await?
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The fast shutdown takes the server's own children along; should it fail, dropping the process kills it.
        if let Some(server) = &mut self.server {
            let _ = server.stop("INT");
        }
    }
}

/// Postgres refuses to run as root: root becomes the package's user for it.
struct Owner {
    become_user: bool,
}

impl Owner {
    fn for_folder(dir: &Path) -> Result<Self> {
        let id = |of: &[&str]| -> Result<u32> {
            let text = output(Command::new("id").args(of), Path::new("id"))?;
            text.trim().parse().map_err(|_| Error::Setup(format!("id {}: {text}", of.join(" "))))
        };
        let become_user = id(&["-u"])? == 0;
        if become_user {
            unix::chown(dir, Some(id(&["-u", "postgres"])?), Some(id(&["-g", "postgres"])?))
                .doing("give away", dir)?;
        }
        Ok(Self { become_user })
    }

    fn prefix(&self) -> Vec<String> {
        if !self.become_user {
            return Vec::new();
        }
        // The inner --pdeathsig: the kernel forgets the outer one when the user changes.
        let words = ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"];
        let inner = ["/usr/bin/setpriv", "--pdeathsig=QUIT", "--"];
        words.iter().chain(&inner).map(|&word| word.to_owned()).collect()
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> Result<()> {
        let mut words = self.prefix();
        words.push(program.display().to_string());
        let mut command = Command::new(words.remove(0));
        // The working folder may be one that the other user cannot enter.
        command.args(words).args(arguments).current_dir("/");
        output(&mut command, program).map(|_| ())
    }
}

fn newest() -> Result<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let number = |entry: &fs::DirEntry| entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
    let found = versions.filter(|entry| entry.path().join("bin/postgres").exists()).max_by_key(number);
    let missing = || Error::Setup("no Postgres server in /usr/lib/postgresql: run .setup/apt".to_owned());
    found.map(|entry| entry.path().join("bin")).ok_or_else(missing)
}

fn unique_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    #[expect(clippy::disallowed_methods, reason = "a name that no earlier run on a shared server has used")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    format!("test_{now}_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn output(command: &mut Command, program: &Path) -> Result<String> {
    let result = command.output().doing("run", program)?;
    if result.status.success() {
        return Ok(String::from_utf8_lossy(&result.stdout).into_owned());
    }
    Err(Error::Ended {
        program: program.display().to_string(),
        status: result.status.to_string(),
        log: String::from_utf8_lossy(&result.stderr).into_owned(),
    })
}
