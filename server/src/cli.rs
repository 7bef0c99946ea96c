//! The command line.

use std::io::{self, Write as _};

use clap::{Parser, Subcommand};

use crate::{
    config::{ServeConfig, StorageConfig},
    http, telemetry,
    wire::{self, ServeError},
};

/// Control plane for a shared GPU cluster.
#[derive(Parser, Debug)]
#[command(name = "gpuaas", version, about)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Serve the portal and the API, and do the work behind them.
    Serve(Box<ServeConfig>),
    /// Bring the database to this version, and end.
    Migrate(StorageConfig),
    /// Print the OpenAPI 3.1 document.
    Openapi,
    /// Print the objects that registration puts into a cluster, as YAML.
    Manifests,
}

/// Does what the command line says.
///
/// # Errors
/// Says what failed, with its causes.
pub async fn run(cli: Cli) -> Result<(), ServeError> {
    match cli.command {
        Command::Serve(config) => {
            telemetry::start(config.log_format);
            wire::serve(*config).await
        }
        Command::Migrate(storage) => wire::app(&storage).await.map(drop),
        Command::Openapi => print(&openapi_text()),
        Command::Manifests => print(&manifests_text()),
    }
}

fn print(text: &str) -> Result<(), ServeError> {
    let written = io::stdout().write_all(text.as_bytes());
    written.map_err(|source| ServeError::File { what: "the output cannot be written".to_owned(), source })
}

/// The OpenAPI document as it is committed.
#[must_use]
pub fn openapi_text() -> String {
    let document = serde_json::to_value(http::openapi()).unwrap_or_default();
    format!("{document:#}\n")
}

fn manifests_text() -> String {
    plan::registration::objects().iter().map(|manifest| format!("---\n{}", manifest.to_yaml())).collect()
}
