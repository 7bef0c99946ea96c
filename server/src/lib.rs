//! The one binary `gpuaas`: HTTP, command line, configuration and wiring.
//!
//! Only [`http`] knows status codes, headers and cookies; only [`wire`], [`config`] and [`telemetry`] know the
//! environment, the system's clock and its randomness. What gpuaas does is in the crate `app`.

pub mod cli;
pub mod config;
pub mod demo;
pub mod http;
pub mod telemetry;
pub mod wire;
