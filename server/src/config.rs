//! Settings of a server: from the command line, else from `GPUAAS_*`.

use std::{net::SocketAddr, path::PathBuf, str::FromStr};

use clap::{Args, ValueEnum};

/// Settings of `gpuaas serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeConfig {
    /// Address to listen on.
    #[arg(long, env = "GPUAAS_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Where people reach the portal, for example https://gpu.example.org; plain http only on loopback. The default
    /// is the address it listens on.
    #[arg(long, env = "GPUAAS_PUBLIC_URL")]
    pub public_url: Option<PublicUrl>,
    /// What it stores, and where.
    #[command(flatten)]
    pub storage: StorageConfig,
    /// Folder with the built pages (it holds `pkg`).
    #[arg(long, env = "GPUAAS_SITE", default_value = "target/site")]
    pub site: PathBuf,
    /// Fill an empty database with a demo: teams, pools, requests. Passwords are printed once.
    #[arg(long, env = "GPUAAS_DEMO", value_parser = clap::builder::BoolishValueParser::new(), default_value_t = false, num_args = 0..=1, default_missing_value = "true")]
    pub demo: bool,
    /// How many teams the demo has; from five.
    #[arg(long, env = "GPUAAS_DEMO_TEAMS", default_value_t = 6)]
    pub demo_teams: u32,
    /// The demo's cluster is this one, in place of a git repository alone.
    #[arg(long, env = "GPUAAS_KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
    /// Form of the log.
    #[arg(long, env = "GPUAAS_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// Where things are stored.
#[derive(Args, Clone, Debug)]
pub struct StorageConfig {
    /// Folder for everything that has no place of its own: database, key, git repository.
    #[arg(long, env = "GPUAAS_DATA", default_value = "gpuaas-data")]
    pub data: PathBuf,
    /// Database: `sqlite:FILE` or `postgres://…`. The default is a file in the data folder.
    #[arg(long, env = "GPUAAS_DATABASE")]
    pub database: Option<String>,
    /// Bare git repository for clusters with the git writer. The default lies in the data folder.
    #[arg(long, env = "GPUAAS_GIT")]
    pub git: Option<PathBuf>,
}

impl StorageConfig {
    /// Address of the database, for the store.
    #[must_use]
    pub fn database_url(&self) -> String {
        match &self.database {
            Some(url) => url.clone(),
            None => format!("sqlite:{}?mode=rwc", self.data.join("gpuaas.db").display()),
        }
    }
    /// The git repository.
    #[must_use]
    pub fn git_path(&self) -> PathBuf {
        self.git.clone().unwrap_or_else(|| self.data.join("manifests.git"))
    }
    /// The key that encrypts kubeconfigs.
    #[must_use]
    pub fn key_path(&self) -> PathBuf {
        self.data.join("key")
    }
}

/// Form of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Why an address is not one that people may be sent to.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UrlError {
    /// No scheme, no host, or more than scheme, host and port.
    #[error("`{0}` must be scheme, host and port only, as in https://gpu.example.org")]
    Form(String),
    /// Passwords would travel in the clear.
    #[error("`{0}` is plain http outside loopback; put TLS in front and write https://")]
    Plain(String),
}

/// Where people reach the portal: scheme, host and port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicUrl {
    origin: String,
}

impl PublicUrl {
    /// The address of a server on loopback.
    #[must_use]
    pub fn loopback(listen: SocketAddr) -> Self {
        Self { origin: format!("http://{listen}") }
    }
    /// Is it served over https?
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.origin.starts_with("https://")
    }
    /// Is this the value of an `Origin` header of our own pages?
    #[must_use]
    pub fn is_origin(&self, origin: &str) -> bool {
        self.origin == origin
    }
}

impl std::fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.origin)
    }
}

impl FromStr for PublicUrl {
    type Err = UrlError;
    fn from_str(text: &str) -> Result<Self, UrlError> {
        let form = || UrlError::Form(text.to_owned());
        let lower = text.trim_end_matches('/').to_ascii_lowercase();
        let (scheme, authority) = lower.split_once("://").ok_or_else(form)?;
        let parsed: http::uri::Authority = authority.parse().map_err(|_| form())?;
        if authority.contains('@') || !matches!(scheme, "http" | "https") {
            return Err(form());
        }
        let host = parsed.host().trim_start_matches('[').trim_end_matches(']');
        let loopback =
            host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        if scheme == "http" && !loopback {
            return Err(UrlError::Plain(text.to_owned()));
        }
        let default_port = if scheme == "https" { ":443" } else { ":80" };
        let authority = authority.strip_suffix(default_port).unwrap_or(authority);
        Ok(Self { origin: format!("{scheme}://{authority}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_47_plain_http_only_on_loopback() {
        for good in [
            "https://gpu.example.org",
            "https://GPU.example.org/",
            "http://127.0.0.1:8080",
            "http://[::1]:1",
            "http://localhost",
        ] {
            assert!(good.parse::<PublicUrl>().is_ok(), "{good}");
        }
        for bad in [
            "http://gpu.example.org",
            "http://0.0.0.0:8080",
            "gpu.example.org",
            "ftp://localhost",
            "https://a@b",
            "https://a/b",
            "",
        ] {
            assert!(bad.parse::<PublicUrl>().is_err(), "{bad}");
        }
        let url: PublicUrl = "https://GPU.example.org:443/".parse().unwrap();
        assert!(url.is_origin("https://gpu.example.org"));
    }
}
