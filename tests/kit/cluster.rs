//! A Kubernetes control plane of one's own: etcd, API server, controller manager and scheduler.

pub mod audit;
mod flags;
mod site;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::Client;
use kube::api::{Api, PostParams};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::error::{Doing, Error, Result};
use crate::pki::{self, Pki};
use crate::process::Process;
use crate::{free_port, scratch, wait_for};

pub use audit::Audit;

/// Set to the path of an admin kubeconfig, [`Cluster::shared`] uses that cluster instead of starting one.
pub const SHARED: &str = "GPUAAS_TEST_CLUSTER";

const READY: Duration = Duration::from_secs(90);

/// What kind of control plane to start.
#[derive(Debug, Clone)]
pub struct Options {
    /// etcd waits for the disk before it answers. Needed where a crash is part of the test, slower everywhere else.
    pub fsync: bool,
    /// Run kube-scheduler, which binds pods to nodes.
    pub scheduler: bool,
    /// Run kube-controller-manager. Without it quotas are never filled in and namespaces never finish deleting.
    pub controller_manager: bool,
    /// Write one line per request for [`Cluster::audit`].
    pub audit: bool,
    /// More flags of kube-apiserver, each as `--name=value`; they win over the kit's.
    pub apiserver_flags: Vec<String>,
    /// Keep the state here, and go on from what is there; otherwise in a temporary folder.
    pub dir: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fsync: false,
            scheduler: true,
            controller_manager: true,
            audit: true,
            apiserver_flags: Vec::new(),
            dir: None,
        }
    }
}

/// A kubeconfig that needs no other file.
#[derive(Debug, Clone)]
pub struct Kubeconfig {
    /// The YAML.
    pub text: String,
    /// A file with the same text; it lives as long as the cluster.
    pub path: PathBuf,
}

impl Kubeconfig {
    /// A client with this identity. It belongs to the async runtime that calls this.
    ///
    /// # Errors
    /// When the kubeconfig cannot be used.
    pub async fn client(&self) -> Result<Client> {
        let parsed = kube::config::Kubeconfig::from_yaml(&self.text)?;
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(parsed, &options).await?;
        Ok(Client::try_from(config)?)
    }
}

/// A running control plane, or one that somebody else runs. What was started here ends on drop.
#[derive(Debug)]
pub struct Cluster {
    // Order matters: the API server goes before etcd, the folder last.
    controllers: Vec<Process>,
    apiserver: Option<Process>,
    etcd: Option<Process>,
    plan: Option<flags::Plan>,
    pki: Option<Pki>,
    server: String,
    admin: Kubeconfig,
    dir: PathBuf,
    _temporary: Option<TempDir>,
}

impl Cluster {
    /// Starts a control plane and waits until it is ready, about three seconds.
    ///
    /// # Errors
    /// When a program is missing or ends, or the API server is not ready within 90 seconds.
    pub async fn start(options: Options) -> Result<Self> {
        let bin = assets()?;
        let (dir, temporary) = match &options.dir {
            Some(dir) => (dir.clone(), None),
            None => {
                let folder = scratch::folder("cluster")?;
                (folder.path().to_owned(), Some(folder))
            }
        };
        fs::create_dir_all(&dir).doing("create", &dir)?;
        let dir = dir.canonicalize().doing("find", &dir)?;

        let pki = Pki::open_or_found(&dir.join("pki"))?;
        let plan = flags::Plan { bin, dir: dir.clone(), etcd: free_port()?, api: free_port()?, options };
        let server = format!("https://127.0.0.1:{}", plan.api);
        let etcd = plan.start_etcd(free_port()?)?;
        let admin = pki::keep(&dir, "admin", pki.kubeconfig(&server, "kit:admin", &["system:masters"])?)?;
        let apiserver = plan.start_apiserver(&pki)?;
        let mut cluster = Self {
            controllers: Vec::new(),
            apiserver: Some(apiserver),
            etcd: Some(etcd),
            plan: Some(plan),
            pki: Some(pki),
            server,
            admin,
            dir,
            _temporary: temporary,
        };
        cluster.wait_until_ready().await?;
        site::install(cluster.client().await?).await?;
        cluster.start_controllers()?;
        Ok(cluster)
    }

    /// Uses a cluster that runs already. If it is one of the kit's, users can be certified and the audit log is read.
    ///
    /// # Errors
    /// When the kubeconfig cannot be read or has no server.
    pub fn attach(kubeconfig: &Path) -> Result<Self> {
        let text = fs::read_to_string(kubeconfig).doing("read", kubeconfig)?;
        let parsed = kube::config::Kubeconfig::from_yaml(&text)?;
        let server = parsed.clusters.iter().find_map(|named| named.cluster.as_ref()?.server.clone());
        let server =
            server.ok_or_else(|| Error::Setup(format!("{} names no server", kubeconfig.display())))?;
        let dir = kubeconfig.parent().unwrap_or(Path::new(".")).to_owned();
        let authority = dir.join("pki");
        let pki = authority.join("ca.key").exists().then(|| Pki::open(&authority)).transpose()?;
        let admin = Kubeconfig { text, path: kubeconfig.to_owned() };
        Ok(Self {
            controllers: Vec::new(),
            apiserver: None,
            etcd: None,
            plan: None,
            pki,
            server,
            admin,
            dir,
            _temporary: None,
        })
    }

    /// The cluster that all tests of this run use: that of the variable `GPUAAS_TEST_CLUSTER`, or else one that is
    /// started at the first call and lives as long as the process. Tests that stop or fill it start their own.
    ///
    /// # Errors
    /// As [`Cluster::start`] and [`Cluster::attach`].
    pub async fn shared() -> Result<&'static Self> {
        static SHARED_CLUSTER: OnceCell<Cluster> = OnceCell::const_new();
        let found = SHARED_CLUSTER.get_or_try_init(|| async {
            match std::env::var_os(SHARED) {
                Some(path) => Self::attach(Path::new(&path)),
                None => Self::start(Options::default()).await,
            }
        });
        found.await
    }

    /// A client with all rights. It belongs to the async runtime that calls this.
    ///
    /// # Errors
    /// When the kubeconfig cannot be used.
    pub async fn client(&self) -> Result<Client> {
        self.admin.client().await
    }

    /// The kubeconfig with all rights. It is exempt from priority and fairness, so do not benchmark with it.
    #[must_use]
    pub fn kubeconfig(&self) -> &Kubeconfig {
        &self.admin
    }

    /// The folder with logs, keys and kubeconfigs.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder with the programs, `kubectl` among them.
    ///
    /// # Errors
    /// When set-up has not built them.
    pub fn assets() -> Result<PathBuf> {
        assets()
    }

    /// A kubeconfig with a client certificate: the common name is the user, each organisation a group (two at most).
    ///
    /// # Errors
    /// For a cluster that is not the kit's.
    pub fn kubeconfig_for_user(&self, user: &str, groups: &[&str]) -> Result<Kubeconfig> {
        let pki = self.pki.as_ref().ok_or_else(|| pki::foreign(&self.admin.path))?;
        pki::keep(&self.dir, &format!("user-{user}"), pki.kubeconfig(&self.server, user, groups)?)
    }

    /// A kubeconfig with a token of a service account, good for an hour.
    ///
    /// # Errors
    /// When there is no such account, or the cluster is not the kit's.
    pub async fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> Result<Kubeconfig> {
        let pki = self.pki.as_ref().ok_or_else(|| pki::foreign(&self.admin.path))?;
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await?, namespace);
        let wanted = TokenRequest {
            spec: Some(TokenRequestSpec { expiration_seconds: Some(3600), ..Default::default() }),
            ..Default::default()
        };
        let answer = accounts.create_token_request(name, &PostParams::default(), &wanted).await?;
        let token = answer.status.and_then(|status| status.token).unwrap_or_default();
        let text = pki.kubeconfig_for_token(&self.server, name, &token)?;
        pki::keep(&self.dir, &format!("account-{namespace}-{name}"), text)
    }

    /// Creates a namespace and waits until pods can be created in it: its default service account is made later, by
    /// the controller manager.
    ///
    /// # Errors
    /// When it is there already, or the account does not come within 30 seconds.
    pub async fn namespace(&self, name: &str) -> Result<()> {
        let client = self.client().await?;
        let namespace: Namespace =
            serde_json::from_value(serde_json::json!({ "metadata": { "name": name } }))?;
        Api::all(client.clone()).create(&PostParams::default(), &namespace).await?;
        let accounts: Api<ServiceAccount> = Api::namespaced(client, name);
        wait_for(&format!("service account default in {name}"), Duration::from_secs(30), || {
            let accounts = accounts.clone();
            async move { accounts.get_opt("default").await.ok().flatten() }
        })
        .await?;
        Ok(())
    }

    /// All requests that the API server has answered so far.
    ///
    /// # Errors
    /// When there is no log, for example with the option `audit` off or on a foreign cluster.
    pub fn audit(&self) -> Result<Audit> {
        Audit::read(&self.dir.join("audit.log"), 0)
    }

    /// Where the audit log ends now, for [`Cluster::audit_since`].
    ///
    /// # Errors
    /// As [`Cluster::audit`].
    pub fn audit_mark(&self) -> Result<u64> {
        let path = self.dir.join("audit.log");
        Ok(fs::metadata(&path).doing("read", &path)?.len())
    }

    /// The requests that were answered after `mark`.
    ///
    /// # Errors
    /// As [`Cluster::audit`].
    pub fn audit_since(&self, mark: u64) -> Result<Audit> {
        Audit::read(&self.dir.join("audit.log"), mark)
    }

    /// Kills the API server, as a crash would. etcd and the controllers stay.
    ///
    /// # Errors
    /// For a cluster that was not started here.
    pub fn stop_apiserver(&mut self) -> Result<()> {
        self.own_plan()?;
        self.apiserver = None;
        Ok(())
    }

    /// Starts the API server (again) on the same port and waits until it is ready.
    ///
    /// # Errors
    /// As [`Cluster::start`], and for a cluster that was not started here.
    pub async fn restart_apiserver(&mut self) -> Result<()> {
        self.stop_apiserver()?;
        let pki = self.pki.as_ref().ok_or_else(|| pki::foreign(&self.admin.path))?;
        self.apiserver = Some(self.own_plan()?.start_apiserver(pki)?);
        self.wait_until_ready().await?;
        // Without leader election the controllers bear the gap, but one that gave up must be seen here.
        self.controllers.iter_mut().try_for_each(Process::still_runs)
    }

    /// The ids of the processes that were started here.
    #[must_use]
    pub fn process_ids(&self) -> Vec<u32> {
        let all = self.controllers.iter().chain(&self.apiserver).chain(&self.etcd);
        all.map(Process::id).collect()
    }

    fn own_plan(&self) -> Result<&flags::Plan> {
        self.plan.as_ref().ok_or_else(|| {
            Error::Setup("a shared cluster is not stopped by one of its users: use Cluster::start".to_owned())
        })
    }

    fn start_controllers(&mut self) -> Result<()> {
        let (Some(plan), Some(pki)) = (&self.plan, &self.pki) else { return Ok(()) };
        let identity = |name: &str| -> Result<Kubeconfig> {
            pki::keep(&self.dir, name, pki.kubeconfig(&self.server, &format!("system:{name}"), &[])?)
        };
        if plan.options.controller_manager {
            let manager = identity("kube-controller-manager")?;
            self.controllers.push(plan.start_controller_manager(pki, &manager.path, free_port()?)?);
        }
        if plan.options.scheduler {
            let scheduler = identity("kube-scheduler")?;
            self.controllers.push(plan.start_scheduler(&scheduler.path, free_port()?)?);
        }
        Ok(())
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let client = self.client().await?;
        let ready = wait_for("kube-apiserver ready", READY, || {
            let ended = self.apiserver.iter_mut().chain(&mut self.etcd).find_map(|p| p.still_runs().err());
            let client = client.clone();
            async move {
                match ended {
                    Some(error) => Some(Err(error)),
                    None => is_ready(&client).await.then_some(Ok(())),
                }
            }
        });
        ready.await?
    }
}

async fn is_ready(client: &Client) -> bool {
    let Ok(request) = http::Request::get("/readyz").body(Vec::new()) else { return false };
    matches!(client.request_text(request).await.as_deref(), Ok("ok"))
}

/// `KUBEBUILDER_ASSETS`, or the folder that `.setup/kube` fills for this go.sum.
fn assets() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(dir) = set("KUBEBUILDER_ASSETS") {
        return dir.canonicalize().doing("find", &dir);
    }
    let cache = set("GPUAAS_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("gpuaas")))
        .or_else(|| set("HOME").map(|dir| dir.join(".cache/gpuaas")))
        .ok_or_else(|| Error::Setup("neither KUBEBUILDER_ASSETS nor HOME is set".to_owned()))?;
    let hash = hex::encode(Sha256::digest(include_bytes!("../kube/go.sum")));
    let dir = cache.join(format!("kube-{}", hash.chars().take(16).collect::<String>()));
    if dir.join("kube-apiserver").exists() {
        return Ok(dir);
    }
    Err(Error::Setup(format!(
        "no control plane in {}: run .setup/kube, or set KUBEBUILDER_ASSETS",
        dir.display()
    )))
}
