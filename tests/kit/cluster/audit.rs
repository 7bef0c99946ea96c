//! Who asked the API server for what: its audit log, one entry per request.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;

use crate::error::{Doing, Result};

/// One request and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Who asked, for example `system:serviceaccount:gpuaas-system:emitter`.
    pub user: String,
    /// Kubernetes verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// Plural resource, with its subresource behind a slash; empty for requests such as `/version`.
    pub resource: String,
    /// Namespace of the object, empty for cluster-wide ones.
    pub namespace: String,
    /// Name of the object, empty for lists and watches.
    pub name: String,
    /// HTTP status of the answer.
    pub code: u16,
    /// The path with its query.
    pub uri: String,
}

impl Entry {
    /// Does this kind of request change something? True for dry runs too.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }

    /// Was it a dry run?
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.uri.contains("dryRun=")
    }
}

/// Entries in the order of the answers.
#[derive(Debug, Clone, Default)]
pub struct Audit(pub Vec<Entry>);

impl Audit {
    /// Reads the log from byte `from` on.
    pub(super) fn read(path: &Path, from: u64) -> Result<Self> {
        let mut file = File::open(path).doing("open", path)?;
        file.seek(SeekFrom::Start(from)).doing("read", path)?;
        let mut text = String::new();
        file.read_to_string(&mut text).doing("read", path)?;
        Self::parse(&text)
    }

    /// Reads lines of the log; one that is not finished yet is left out.
    fn parse(text: &str) -> Result<Self> {
        let finished = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = finished.lines().map(serde_json::from_str::<Line>);
        let entries = lines.filter_map(|line| line.map(Line::into_entry).transpose());
        Ok(Self(entries.collect::<std::result::Result<_, _>>()?))
    }

    /// The requests of one identity.
    pub fn of<'a>(&'a self, user: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.0.iter().filter(move |entry| entry.user == user)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: User,
    object_ref: Option<ObjectRef>,
    response_status: Option<ResponseStatus>,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ObjectRef {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
}

impl Line {
    /// A watch is counted when it begins, everything else when it is done; so each request counts once.
    fn into_entry(self) -> Option<Entry> {
        let counted = if self.verb == "watch" { "ResponseStarted" } else { "ResponseComplete" };
        let refused = self.response_status.as_ref().is_some_and(|status| status.code >= 400);
        if self.stage != counted && !(self.verb == "watch" && refused && self.stage == "ResponseComplete") {
            return None;
        }
        let object = self.object_ref.unwrap_or_default();
        let resource = match object.subresource.as_str() {
            "" => object.resource,
            sub => format!("{}/{sub}", object.resource),
        };
        Some(Entry {
            user: self.user.username,
            verb: self.verb,
            resource,
            namespace: object.namespace,
            name: object.name,
            code: self.response_status.map_or(0, |status| status.code),
            uri: self.request_uri,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(stage: &str, verb: &str, code: u16) -> String {
        format!(
            r#"{{"stage":"{stage}","verb":"{verb}","requestURI":"/api/v1/namespaces/t/pods/p/status?dryRun=All",
            "user":{{"username":"emitter"}},"responseStatus":{{"metadata":{{}},"code":{code}}},
            "objectRef":{{"resource":"pods","subresource":"status","namespace":"t","name":"p"}}}}"#
        )
        .replace('\n', "")
    }

    #[test]
    fn each_request_counts_once_and_half_a_line_not_at_all() {
        let log = [
            line("ResponseComplete", "patch", 200),
            line("ResponseStarted", "watch", 200),
            line("ResponseComplete", "watch", 200),
            line("ResponseComplete", "watch", 403),
            "{\"stage\":\"Resp".to_owned(),
        ];
        let audit = Audit::parse(&log.join("\n")).unwrap();
        let seen: Vec<_> = audit.of("emitter").map(|e| (e.verb.as_str(), e.code)).collect();
        assert_eq!(seen, [("patch", 200), ("watch", 200), ("watch", 403)]);
        let first = &audit.0[0];
        assert_eq!((first.resource.as_str(), first.name.as_str()), ("pods/status", "p"));
        assert!(first.is_write() && first.is_dry_run());
        assert_eq!(audit.of("somebody").count(), 0);
    }
}
