//! The programs' flags: loopback only, certificates for everybody, RBAC, service accounts.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cluster::Options;
use crate::error::{Doing, Result};
use crate::pki::Pki;
use crate::process::{DeathSignal, Process};

/// All requests at the level that tells who did what to which object, once each.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
";

/// Everything that is fixed for one control plane's life.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) bin: PathBuf,
    pub(super) dir: PathBuf,
    /// etcd's client port.
    pub(super) etcd: u16,
    /// The API server's port.
    pub(super) api: u16,
    pub(super) options: Options,
}

impl Plan {
    pub(super) fn start_etcd(&self, peer: u16) -> Result<Process> {
        let (client, peer) = (format!("http://127.0.0.1:{}", self.etcd), format!("http://127.0.0.1:{peer}"));
        let mut flags = vec![
            format!("--data-dir={}", self.dir.join("etcd").display()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
            "--logger=zap".to_owned(),
            "--log-level=warn".to_owned(),
        ];
        if !self.options.fsync {
            flags.push("--unsafe-no-fsync".to_owned());
        }
        self.start("etcd", flags)
    }

    pub(super) fn start_apiserver(&self, pki: &Pki) -> Result<Process> {
        let file = |name: &str| pki.path(name).display().to_string();
        let mut flags = vec![
            format!("--etcd-servers=http://127.0.0.1:{}", self.etcd),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", self.api),
            // There is no service network; without this the server complains about its loopback address for ever.
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--tls-cert-file={}", file("server.crt")),
            format!("--tls-private-key-file={}", file("server.key")),
            format!("--client-ca-file={}", file("ca.crt")),
            "--authorization-mode=RBAC".to_owned(),
            "--allow-privileged".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", file("tokens.pub")),
            format!("--service-account-signing-key-file={}", file("tokens.key")),
        ];
        if self.options.audit {
            let policy = self.dir.join("audit-policy.yaml");
            fs::write(&policy, AUDIT_POLICY).doing("write", &policy)?;
            flags.push(format!("--audit-policy-file={}", policy.display()));
            flags.push(format!("--audit-log-path={}", self.dir.join("audit.log").display()));
            // One file: a rotation would tear the count.
            flags.push("--audit-log-maxsize=4096".to_owned());
        }
        flags.extend(self.options.apiserver_flags.iter().cloned());
        self.start("kube-apiserver", flags)
    }

    pub(super) fn start_controller_manager(&self, pki: &Pki, identity: &Path, port: u16) -> Result<Process> {
        let mut flags = component(identity, port);
        flags.extend([
            "--use-service-account-credentials".to_owned(),
            format!("--service-account-private-key-file={}", pki.path("tokens.key").display()),
            format!("--root-ca-file={}", pki.path("ca.crt").display()),
            // No cloud and no pod network here.
            "--controllers=*,-node-ipam-controller,-node-route-controller,-service-lb-controller".to_owned(),
            // A test waits for what these find out; the defaults are minutes.
            "--resource-quota-sync-period=10s".to_owned(),
            "--node-monitor-period=1s".to_owned(),
            "--kube-api-qps=500".to_owned(),
            "--kube-api-burst=1000".to_owned(),
        ]);
        self.start("kube-controller-manager", flags)
    }

    pub(super) fn start_scheduler(&self, identity: &Path, port: u16) -> Result<Process> {
        let mut flags = component(identity, port);
        flags.extend(["--kube-api-qps=500".to_owned(), "--kube-api-burst=1000".to_owned()]);
        self.start("kube-scheduler", flags)
    }

    fn start(&self, program: &str, flags: Vec<String>) -> Result<Process> {
        let log = self.dir.join(format!("{program}.log"));
        Process::start(&self.bin.join(program), flags, &log, DeathSignal::Kill)
    }
}

fn component(identity: &Path, port: u16) -> Vec<String> {
    let identity = identity.display();
    vec![
        format!("--kubeconfig={identity}"),
        format!("--authentication-kubeconfig={identity}"),
        format!("--authorization-kubeconfig={identity}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        "--leader-elect=false".to_owned(),
    ]
}
