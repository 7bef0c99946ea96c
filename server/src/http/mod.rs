//! The HTTP layer: proves who asks, parses what they ask into domain types, calls one use-case, and turns the
//! answer or the refusal into a response. It decides nothing about quotas, teams or rights.

mod assets;
mod backend;
mod csp;
mod csrf;
mod extract;
mod forms;
mod health;
mod observe;
mod pages;
mod problem;
mod router;
mod session;
mod v1;

use std::sync::Arc;

use app::{App, Entropy};
pub use assets::Site;
pub use observe::RequestIds;
pub use router::{Listed, Surface, openapi, router, routes};

use crate::config::PublicUrl;

/// What every handler may use.
#[derive(Clone)]
pub struct Web {
    /// The use-cases.
    pub app: App,
    /// Randomness for tokens and nonces.
    pub entropy: Arc<dyn Entropy>,
    /// Under which address people reach us.
    pub public_url: PublicUrl,
    /// Static files of the pages.
    pub site: Arc<Site>,
    /// Ids of HTTP requests.
    pub request_ids: Arc<RequestIds>,
}

impl Web {
    fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes);
        bytes
    }
}
