//! Runs git with nothing of the surroundings: no configuration, no variables, no terminal.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::error::GitError;

/// Longest time for one call of git; far above what the largest repository needs.
const LIMIT: Duration = Duration::from_secs(60);

/// One call of git in one repository.
pub(crate) struct Git<'a> {
    command: Command,
    name: &'a str,
    stdin: Vec<u8>,
}

impl<'a> Git<'a> {
    /// A subcommand on the repository at `dir`.
    pub(crate) fn new(dir: &Path, name: &'a str) -> Self {
        let mut command = Command::new("git");
        command.env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
            .env("LC_ALL", "C.UTF-8")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_COMMITTER_NAME", "gpuaas")
            .env("GIT_COMMITTER_EMAIL", EMAIL)
            // By default git does not wait for the disk with loose objects: after a power cut the branch could
            // point to a commit that is not there.
            .args(["-c", "core.fsync=committed,loose-object", "-c", "core.logAllRefUpdates=false"])
            .args([OsStr::new("--git-dir"), dir.as_os_str(), OsStr::new(name)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Self { command, name, stdin: Vec::new() }
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    pub(crate) fn index(self, index: &Path) -> Self {
        self.env("GIT_INDEX_FILE", PathBuf::from(index))
    }

    pub(crate) fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.stdin = input.into();
        self
    }

    /// Runs it; the bytes that it wrote.
    ///
    /// # Errors
    /// If git cannot be started, does not end, or ends with an error.
    pub(crate) async fn bytes(self) -> Result<Vec<u8>, GitError> {
        let name = self.name.to_owned();
        tokio::time::timeout(LIMIT, self.output())
            .await
            .map_err(|_| GitError::Timeout { command: name, limit: LIMIT })?
    }

    /// As [`Git::bytes`], as text without the line feed at its end.
    pub(crate) async fn text(self) -> Result<String, GitError> {
        let command = self.name.to_owned();
        let bytes = self.bytes().await?;
        let text = String::from_utf8(bytes).map_err(|error| GitError::Answer {
            command,
            answer: String::from_utf8_lossy(error.as_bytes()).chars().take(80).collect(),
        })?;
        Ok(text.trim_end_matches('\n').to_owned())
    }

    async fn output(mut self) -> Result<Vec<u8>, GitError> {
        let mut child = self.command.spawn().map_err(GitError::Start)?;
        let pipe = child.stdin.take();
        let input = std::mem::take(&mut self.stdin);
        // Written beside the reading: with both in one go a full pipe would stop both sides.
        let write = async move {
            if let Some(mut pipe) = pipe {
                // git may have ended already; its own message says more than the broken pipe.
                let _ = pipe.write_all(&input).await;
            }
        };
        let (output, ()) = tokio::join!(child.wait_with_output(), write);
        let output = output.map_err(GitError::Start)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(GitError::Failed {
            command: self.name.to_owned(),
            message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }
}

/// Address of authors and committer: nobody reads mail there.
pub(crate) const EMAIL: &str = "gpuaas@localhost";
