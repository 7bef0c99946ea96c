//! `local-cluster`: the test kit's control plane for a person or for a command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use kit::cluster::{self, Cluster, Options};
use kit::kubelet::{FakeKubelet, NodeGroup};
use kit::postgres::{self, Postgres};
use kit::{Error, Result};
use tokio::signal::unix::{SignalKind, signal};

/// A Kubernetes control plane on loopback, with nodes that run pods without containers.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a cluster until interrupted; its state stays in the folder for the next time.
    Up {
        /// Where state, logs and `admin.kubeconfig` go. The file `ready` is there while it can be used.
        #[arg(long)]
        dir: PathBuf,
        /// `demo` for nodes of every kind, a kind that the kit has, or a file; may be repeated.
        #[arg(long, default_value = "demo")]
        nodes: Vec<String>,
    },
    /// Start a cluster and Postgres, run a command that finds both in its environment, and stop them.
    Exec {
        /// The command.
        #[arg(trailing_var_arg = true, required = true)]
        command: Vec<String>,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Up { dir, nodes } => up(&dir, &nodes).await.map(|()| ExitCode::SUCCESS),
        Command::Exec { command } => exec(&command).await,
    };
    result.unwrap_or_else(|error| {
        eprintln!("local-cluster: {error}");
        ExitCode::FAILURE
    })
}

async fn up(dir: &Path, nodes: &[String]) -> Result<()> {
    let ready = dir.join("ready");
    // Left from a run that was killed.
    let _ = fs::remove_file(&ready);
    let groups = nodes.iter().map(|name| NodeGroup::named(name)).collect::<Result<Vec<_>>>()?;
    let options = Options { dir: Some(dir.to_owned()), ..Options::default() };
    let cluster = Cluster::start(options).await?;
    let kubelet = FakeKubelet::start(cluster.client().await?, groups.concat()).await?;
    write(&ready, "")?;
    println!("{} nodes; kubeconfig: {}", kubelet.nodes().len(), cluster.kubeconfig().path.display());
    interrupted().await?;
    let _ = fs::remove_file(&ready);
    Ok(())
}

async fn exec(command: &[String]) -> Result<ExitCode> {
    let Some((program, arguments)) = command.split_first() else { return Ok(ExitCode::FAILURE) };
    let (cluster, postgres) = tokio::try_join!(Cluster::start(Options::default()), Postgres::start())?;
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .env(cluster::SHARED, &cluster.kubeconfig().path)
        .env(postgres::SHARED, postgres.url())
        .env("KUBEBUILDER_ASSETS", Cluster::assets()?)
        .kill_on_drop(true)
        .spawn()
        .map_err(|source| Error::Io { what: format!("start {program}"), source })?;
    let status = tokio::select! {
        status = child.wait() => status.map_err(|source| Error::Io { what: format!("wait for {program}"), source })?,
        // An interrupt from the terminal reaches the command as well; it may end in its own way first.
        stop = interrupted() => { stop?; return Ok(ExitCode::from(130)) }
    };
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

async fn interrupted() -> Result<()> {
    let listen =
        |kind| signal(kind).map_err(|source| Error::Io { what: "listen for signals".to_owned(), source });
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|source| Error::Io { what: format!("write {}", path.display()), source })
}
