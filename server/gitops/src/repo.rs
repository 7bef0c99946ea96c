//! One bare repository: commit a folder, read a file, list the commits of a folder.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use domain::Timestamp;
use tokio::sync::Mutex;

use crate::error::GitError;
use crate::git::{EMAIL, Git};
use crate::path;

/// The one branch.
const BRANCH: &str = "refs/heads/main";

/// How often a commit is made anew because the branch moved. Each loser waits for one winner at least, so this many
/// writers may collide in one instant.
const TRIES: u32 = 64;

/// What goes into one commit: the whole content of one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Folder below the top, as `prod/vision`. What it held before and is not in `files` is removed.
    pub folder: String,
    /// Path below the folder, and text.
    pub files: BTreeMap<String, String>,
    /// Message: a subject line, and after an empty line the reasons.
    pub message: String,
    /// Time of the decision.
    pub at: Timestamp,
    /// Name of the person, or of the job, that decided.
    pub author: String,
}

/// Name of a commit: its hash in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(String);

impl CommitId {
    /// The hash.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// One commit of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The commit.
    pub id: CommitId,
    /// Time of the decision.
    pub at: Timestamp,
    /// Who decided.
    pub author: String,
    /// The whole message.
    pub message: String,
}

/// A bare repository with the branch `main`.
#[derive(Debug, Clone)]
pub struct Repo {
    dir: Arc<Path>,
    /// Commits of this process wait for each other; with those of other processes the branch is the judge.
    turn: Arc<Mutex<()>>,
}

impl Repo {
    /// Opens the repository at `path`, and makes it if there is none.
    ///
    /// # Errors
    /// If the folder cannot be made, or git is missing or refuses.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self, GitError> {
        let dir = path.into();
        tokio::fs::create_dir_all(&dir)
            .await
            .map_err(|source| GitError::Io { path: dir.display().to_string(), source })?;
        // On a repository that is there it changes nothing.
        Git::new(&dir, "init").args(["--bare", "--quiet", "--initial-branch=main"]).bytes().await?;
        // Plumbing never tidies up by itself.
        Git::new(&dir, "gc").args(["--auto", "--quiet"]).bytes().await?;
        Ok(Self { dir: dir.into(), turn: Arc::default() })
    }

    /// Replaces one folder. None when the branch says the same already.
    ///
    /// # Errors
    /// If a path is not allowed, another folder describes the same namespace, or git fails.
    pub async fn commit(&self, commit: &Commit) -> Result<Option<CommitId>, GitError> {
        path::check(&commit.folder)?;
        for file in commit.files.keys() {
            path::check(file)?;
        }
        let _turn = self.turn.lock().await;
        let room = tempfile::Builder::new()
            .prefix("commit-")
            .tempdir_in(&self.dir)
            .map_err(|source| GitError::Io { path: self.dir.display().to_string(), source })?;
        let blobs = self.blobs(room.path(), &commit.files).await?;
        for attempt in 1..=TRIES {
            let parent = self.tip().await?;
            let Some(new) = self.build(room.path(), commit, &blobs, parent.as_deref()).await? else {
                return Ok(None);
            };
            if self.advance(&new, parent.as_deref()).await? {
                tracing::debug!(folder = commit.folder, commit = new, attempt, "committed");
                return Ok(Some(CommitId(new)));
            }
            tokio::time::sleep(Duration::from_millis(u64::from(attempt.min(20)))).await;
        }
        Err(GitError::Race { tries: TRIES })
    }

    /// The text of one file; none where there is no such file.
    ///
    /// # Errors
    /// If the path is not allowed or git fails.
    pub async fn read(&self, path: &str) -> Result<Option<String>, GitError> {
        path::check(path)?;
        let name = format!("{BRANCH}:{path}");
        let answer = self.git("cat-file").args(["--batch"]).stdin(format!("{name}\n")).bytes().await?;
        if answer.starts_with(format!("{name} missing").as_bytes()) {
            return Ok(None);
        }
        blob_of(&answer).map(Some).ok_or_else(|| GitError::Answer {
            command: "cat-file".to_owned(),
            answer: String::from_utf8_lossy(&answer).chars().take(80).collect(),
        })
    }

    /// The newest `limit` commits that touched `folder`, newest first.
    ///
    /// # Errors
    /// If the path is not allowed or git fails.
    pub async fn log(&self, folder: &str, limit: u32) -> Result<Vec<LogEntry>, GitError> {
        path::check(folder)?;
        if self.tip().await?.is_none() {
            return Ok(Vec::new());
        }
        let limit = format!("--max-count={limit}");
        let text = self
            .git("log")
            .args(["-z", "--format=%H%x1f%aI%x1f%an%x1f%B", &limit, BRANCH, "--", folder])
            .text()
            .await?;
        text.split('\0').filter(|entry| !entry.is_empty()).map(entry).collect()
    }

    fn git<'a>(&self, name: &'a str) -> Git<'a> {
        Git::new(&self.dir, name)
    }

    /// Commit that the branch points to.
    async fn tip(&self) -> Result<Option<String>, GitError> {
        let text =
            self.git("for-each-ref").args(["--format=%(objectname)", "--count=1", BRANCH]).text().await?;
        Ok((!text.is_empty()).then_some(text))
    }

    /// Writes the texts as objects; path and object name.
    async fn blobs(
        &self,
        room: &Path,
        files: &BTreeMap<String, String>,
    ) -> Result<Vec<(String, String)>, GitError> {
        let mut names = String::new();
        for (number, text) in files.values().enumerate() {
            let file = room.join(number.to_string());
            tokio::fs::write(&file, text)
                .await
                .map_err(|source| GitError::Io { path: file.display().to_string(), source })?;
            names.push_str(&file.display().to_string());
            names.push('\n');
        }
        let answer =
            self.git("hash-object").args(["-w", "--no-filters", "--stdin-paths"]).stdin(names).text().await?;
        let objects: Vec<_> = answer.lines().map(str::to_owned).collect();
        if objects.len() != files.len() {
            return Err(GitError::Answer {
                command: "hash-object".to_owned(),
                answer: answer.chars().take(80).collect(),
            });
        }
        Ok(files.keys().cloned().zip(objects).collect())
    }

    /// The commit on top of `parent`; none when its tree is the parent's.
    async fn build(
        &self,
        room: &Path,
        commit: &Commit,
        blobs: &[(String, String)],
        parent: Option<&str>,
    ) -> Result<Option<String>, GitError> {
        let index = room.join("index");
        let read = self.git("read-tree").index(&index);
        match parent {
            Some(parent) => read.args([parent]).bytes().await?,
            None => read.args(["--empty"]).bytes().await?,
        };
        self.one_folder_each(&index, commit).await?;
        let folder = &commit.folder;
        let held = self
            .git("ls-files")
            .index(&index)
            .args(["-z", "--", &format!(":(literal){folder}/")])
            .text()
            .await?;
        let mut lines = String::new();
        for old in held.split('\0').filter(|path| !path.is_empty()) {
            lines.push_str(&format!("0 {:040}\t{old}\0", 0));
        }
        for (path, object) in blobs {
            lines.push_str(&format!("100644 {object}\t{folder}/{path}\0"));
        }
        self.git("update-index").index(&index).args(["-z", "--index-info"]).stdin(lines).bytes().await?;
        let tree = self.git("write-tree").index(&index).text().await?;
        let before = match parent {
            Some(parent) => self.git("rev-parse").args([format!("{parent}^{{tree}}")]).text().await?,
            None => EMPTY_TREE.to_owned(),
        };
        if tree == before {
            return Ok(None);
        }
        let at = format!("{} +0000", commit.at.timestamp());
        let author = if commit.author.trim().is_empty() { "gpuaas" } else { commit.author.trim() };
        let mut git = self
            .git("commit-tree")
            .args([tree.as_str(), "-F", "-"])
            .env("GIT_AUTHOR_NAME", author)
            .env("GIT_AUTHOR_EMAIL", EMAIL)
            .env("GIT_AUTHOR_DATE", &at)
            .env("GIT_COMMITTER_DATE", &at)
            .stdin(commit.message.as_bytes());
        if let Some(parent) = parent {
            git = git.args(["-p", parent]);
        }
        git.text().await.map(Some)
    }

    /// Refuses a commit that describes a namespace which another folder of the same cluster describes: when one of
    /// the two goes, Argo CD would take the namespace away from the other.
    async fn one_folder_each(&self, index: &Path, commit: &Commit) -> Result<(), GitError> {
        let cluster = commit.folder.split('/').next().unwrap_or_default();
        let names = |text: &str| -> Vec<String> {
            plan::manifest::Manifest::from_yaml_documents(text)
                .unwrap_or_default()
                .into_iter()
                .filter(|manifest| manifest.kind == "Namespace")
                .map(|manifest| manifest.name)
                .collect()
        };
        for (path, text) in &commit.files {
            for namespace in names(text) {
                // The same team writes the same namespace to the same path, so only that path has to be looked at.
                let pattern = format!(":(glob){cluster}/*/{path}");
                let found = self.git("ls-files").index(index).args(["-z", "--", &pattern]).text().await?;
                for holder in found.split('\0').filter(|holder| !holder.is_empty()) {
                    if holder.starts_with(&format!("{}/", commit.folder)) {
                        continue;
                    }
                    if self.read(holder).await?.is_some_and(|text| names(&text).contains(&namespace)) {
                        return Err(GitError::Namespace { namespace, holder: holder.to_owned() });
                    }
                }
            }
        }
        Ok(())
    }

    /// Moves the branch from `old` to `new`; false when it is not at `old` any more, or is being moved.
    async fn advance(&self, new: &str, old: Option<&str>) -> Result<bool, GitError> {
        let zero = "0".repeat(new.len());
        let moved = self.git("update-ref").args([BRANCH, new, old.unwrap_or(&zero)]).bytes().await;
        match moved {
            Ok(_) => Ok(true),
            Err(GitError::Failed { message, .. }) if message.contains("cannot lock ref") => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The tree without anything, which every repository knows.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Takes the text out of `<name> blob <size>\n<text>\n`.
fn blob_of(answer: &[u8]) -> Option<String> {
    let end = answer.iter().position(|byte| *byte == b'\n')?;
    let header = std::str::from_utf8(answer.get(..end)?).ok()?;
    let mut words = header.split(' ').skip(1);
    if words.next()? != "blob" {
        return None;
    }
    let size: usize = words.next()?.parse().ok()?;
    let begin = end.checked_add(1)?;
    String::from_utf8(answer.get(begin..begin.checked_add(size)?)?.to_vec()).ok()
}

fn entry(text: &str) -> Result<LogEntry, GitError> {
    let unknown = || GitError::Answer { command: "log".to_owned(), answer: text.chars().take(80).collect() };
    let mut fields = text.splitn(4, '\u{1f}');
    let mut next = || fields.next().ok_or_else(unknown);
    let (id, at, author, message) = (next()?, next()?, next()?, next()?);
    Ok(LogEntry {
        id: CommitId(id.to_owned()),
        at: chrono::DateTime::parse_from_rfc3339(at).map_err(|_| unknown())?.to_utc(),
        author: author.to_owned(),
        message: message.trim_end().to_owned(),
    })
}

#[cfg(test)]
mod tests;
