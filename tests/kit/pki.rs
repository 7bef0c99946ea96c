//! A certificate authority for one cluster, and kubeconfigs for whoever it certifies.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use serde_json::json;

use crate::cluster::Kubeconfig;
use crate::error::{Doing, Error, Result};

/// The authority and its folder.
pub(crate) struct Pki {
    dir: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Pki {
    /// Opens the authority in `dir`, or founds it there, with its server certificate and the key pair that signs
    /// service account tokens.
    pub(crate) fn open_or_found(dir: &Path) -> Result<Self> {
        if dir.join("ca.key").exists() {
            return Self::open(dir);
        }
        fs::create_dir_all(dir).doing("create", dir)?;
        let key = KeyPair::generate()?;
        let certificate = authority()?.self_signed(&key)?;
        write(dir, "ca.crt", &certificate.pem())?;
        write(dir, "ca.key", &key.serialize_pem())?;
        let pki = Self { dir: dir.to_owned(), issuer: Issuer::new(authority()?, key) };

        let names = ["127.0.0.1", "10.0.0.1", "localhost", "kubernetes.default.svc"].map(str::to_owned);
        let mut server = CertificateParams::new(names)?;
        server.distinguished_name = subject("kube-apiserver", &[])?;
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let (certificate, key) = pki.certify(&server)?;
        write(dir, "server.crt", &certificate)?;
        write(dir, "server.key", &key)?;

        let tokens = KeyPair::generate()?;
        write(dir, "tokens.key", &tokens.serialize_pem())?;
        write(dir, "tokens.pub", &tokens.public_key_pem())?;
        Ok(pki)
    }

    /// Opens an authority that is there.
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        let path = dir.join("ca.key");
        let key = KeyPair::from_pem(&fs::read_to_string(&path).doing("read", &path)?)?;
        Ok(Self { dir: dir.to_owned(), issuer: Issuer::new(authority()?, key) })
    }

    /// The path of one of the authority's files.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// A kubeconfig with a client certificate for `user` in `groups`.
    pub(crate) fn kubeconfig(&self, server: &str, user: &str, groups: &[&str]) -> Result<String> {
        let mut client = CertificateParams::default();
        client.distinguished_name = subject(user, groups)?;
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let (certificate, key) = self.certify(&client)?;
        let login = json!({
            "client-certificate-data": STANDARD.encode(certificate),
            "client-key-data": STANDARD.encode(key),
        });
        self.kubeconfig_with(server, user, &login)
    }

    /// A kubeconfig with a bearer token.
    pub(crate) fn kubeconfig_for_token(&self, server: &str, user: &str, token: &str) -> Result<String> {
        self.kubeconfig_with(server, user, &json!({ "token": token }))
    }

    fn kubeconfig_with(&self, server: &str, user: &str, login: &serde_json::Value) -> Result<String> {
        let path = self.path("ca.crt");
        let authority = STANDARD.encode(fs::read(&path).doing("read", &path)?);
        let cluster = json!({ "server": server, "certificate-authority-data": authority });
        kubeconfig_text(&cluster, user, login)
    }

    fn certify(&self, params: &CertificateParams) -> Result<(String, String)> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }
}

/// The text of a kubeconfig with one cluster, one user and one context.
pub(crate) fn kubeconfig_text(
    cluster: &serde_json::Value,
    user: &str,
    login: &serde_json::Value,
) -> Result<String> {
    Ok(serde_yaml_ng::to_string(&json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "kit", "cluster": cluster }],
        "users": [{ "name": user, "user": login }],
        "contexts": [{ "name": "kit", "context": { "cluster": "kit", "user": user } }],
        "current-context": "kit",
    }))?)
}

/// Writes a kubeconfig into `dir` under a file name made from `name`, readable by the owner only.
pub(crate) fn keep(dir: &Path, name: &str, text: String) -> Result<Kubeconfig> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let file = format!("{}.kubeconfig", name.chars().map(plain).collect::<String>());
    write(dir, &file, &text)?;
    Ok(Kubeconfig { path: dir.join(file), text })
}

// The parameters are the same each time, so that an authority can be opened again from its key alone.
fn authority() -> Result<CertificateParams> {
    let mut params = CertificateParams::default();
    params.distinguished_name = subject("gpuaas test authority", &[])?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Ok(params)
}

// Kubernetes reads the common name as the user and each organisation as a group. rcgen keeps one value per kind of
// attribute; the same attribute by number is another kind to it, which makes room for a second group.
fn subject(user: &str, groups: &[&str]) -> Result<DistinguishedName> {
    let kinds = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
    if groups.len() > kinds.len() {
        let asked = groups.len();
        return Err(Error::Setup(format!(
            "groups of {user}: {asked} asked for, a certificate here holds {}",
            kinds.len()
        )));
    }
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, user);
    for (kind, group) in kinds.into_iter().zip(groups) {
        name.push(kind, *group);
    }
    Ok(name)
}

fn write(dir: &Path, name: &str, text: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let path = dir.join(name);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .doing("write", &path)?;
    file.write_all(text.as_bytes()).doing("write", &path)
}

impl std::fmt::Debug for Pki {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pki").field("dir", &self.dir).finish_non_exhaustive()
    }
}

/// The error for a cluster that the kit did not found.
pub(crate) fn foreign(path: &Path) -> Error {
    Error::Setup(format!(
        "{} lies beside no authority of the kit, so nobody can be certified",
        path.display()
    ))
}
