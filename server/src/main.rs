//! `gpuaas`: see [`server::cli`].

use std::{error::Error as _, process::ExitCode};

use clap::Parser as _;
use server::cli::{Cli, run};

#[tokio::main]
async fn main() -> ExitCode {
    let Err(error) = run(Cli::parse()).await else { return ExitCode::SUCCESS };
    let mut text = format!("gpuaas: {error}");
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(&format!(": {cause}"));
        next = cause.source();
    }
    eprintln!("{text}");
    ExitCode::FAILURE
}
