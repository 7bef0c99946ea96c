//! Real services for tests, demo and bench: a Kubernetes control plane, nodes that run pods, Postgres, and an API
//! server that fails on request.
//!
//! Everything listens on loopback only, keeps its files in a temporary folder, and ends with its owner: on drop, on
//! panic, and by a signal from the kernel when the whole process is killed.

pub mod cluster;
mod error;
pub mod kubelet;
mod pki;
pub mod postgres;
pub mod process;
pub mod proxy;
mod scratch;

use std::future::Future;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

pub use error::{Error, Result};

/// A loopback TCP port on which nobody listens at the moment.
///
/// The ports lie below the range from which the kernel serves outgoing connections, and every process begins at
/// another one, so that test processes side by side do not take each other's.
///
/// # Errors
/// When the whole range is taken.
pub fn free_port() -> Result<u16> {
    const FIRST: u16 = 16_000;
    const COUNT: u16 = 16_000;
    static TRIED: AtomicU16 = AtomicU16::new(0);
    let spread = u16::try_from((std::process::id() % 997) * 16 % u32::from(COUNT)).unwrap_or_default();
    for _ in 0..COUNT {
        let offset = spread.wrapping_add(TRIED.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = FIRST + offset;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(Error::Setup(format!("no free loopback port between {FIRST} and {}", FIRST + COUNT)))
}

/// Asks again and again until `probe` gives a value; returns it.
///
/// # Errors
/// [`Error::Timeout`] with `what` when `timeout` has passed.
pub async fn wait_for<T, F, P>(what: &str, timeout: Duration, mut probe: P) -> Result<T>
where
    P: FnMut() -> F,
    F: Future<Output = Option<T>>,
{
    let poll = async {
        let mut pause = Duration::from_millis(10);
        loop {
            if let Some(value) = probe().await {
                return value;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(Duration::from_millis(200));
        }
    };
    tokio::time::timeout(timeout, poll)
        .await
        .map_err(|_| Error::Timeout { what: what.to_owned(), seconds: timeout.as_secs_f32() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_differ_and_are_free() {
        let (one, two) = (free_port().unwrap(), free_port().unwrap());
        assert_ne!(one, two);
        TcpListener::bind((Ipv4Addr::LOCALHOST, one)).unwrap();
    }

    #[tokio::test]
    async fn wait_for_returns_the_value_or_names_what_did_not_happen() {
        let mut left = 3;
        let got = wait_for("three", Duration::from_secs(5), || {
            left -= 1;
            let value = (left == 0).then_some("there");
            async move { value }
        });
        assert_eq!(got.await.unwrap(), "there");

        let late = wait_for("the moon", Duration::from_millis(30), || async { None::<()> }).await;
        assert!(late.unwrap_err().to_string().contains("the moon"));
    }
}
