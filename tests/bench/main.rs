//! `make bench`: what gpuaas does, beside what others do, in one run on one machine.
//!
//! Nothing here is asserted. Each figure is printed with its peer's, or with the figure of the design that it is to
//! reach and by how much it misses it.

#![expect(clippy::unwrap_used, reason = "a bench may stop at the first surprise, and says where")]

mod approve;
mod emit;
mod fleet;
mod peers;

use std::time::Duration;

use clap::Parser;

/// Figures of gpuaas beside its peers.
#[derive(Parser)]
struct Arguments {
    /// Tenants in each apply run; the design speaks of 1,000.
    #[arg(long, default_value_t = 200)]
    tenants: u32,
    /// Requests that are approved, one after the other.
    #[arg(long, default_value_t = 60)]
    approvals: u32,
    /// Rounds of the apply runs; the order of the contenders changes in each.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Requests at a time, for all contenders that have such a setting.
    #[arg(long, default_value_t = 32)]
    concurrency: usize,
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    println!(
        "gpuaas bench: {} tenants, {} rounds, {} at a time, {} approvals",
        arguments.tenants, arguments.rounds, arguments.concurrency, arguments.approvals
    );
    println!("API server, etcd (no fsync), all controllers and the contenders share this machine.\n");
    emit::run(arguments.tenants, arguments.rounds, arguments.concurrency).await;
    approve::run(arguments.approvals).await;
}

/// `p` (0 to 1) of the times, sorted in place.
fn percentile(times: &mut [Duration], p: f64) -> Duration {
    times.sort();
    #[expect(clippy::as_conversions, reason = "an index from a share of a small length")]
    let index = ((times.len().saturating_sub(1)) as f64 * p).round() as usize;
    times.get(index).copied().unwrap_or_default()
}

/// One figure beside what it is to reach.
fn against(what: &str, figure: f64, unit: &str, reach: f64, more_is_better: bool) {
    let met = if more_is_better { figure >= reach } else { figure <= reach };
    let word = if more_is_better { "at least" } else { "at most" };
    let note = if met {
        "reached".to_owned()
    } else {
        format!("missed by {:.0} %", ((figure - reach) / reach * 100.0).abs())
    };
    println!("  {what:<58} {figure:>10.2} {unit:<10} (to reach: {word} {reach} {unit}: {note})");
}
