use chrono::TimeZone;

use super::*;

fn at(minute: u32) -> Timestamp {
    chrono::Utc.with_ymd_and_hms(2026, 3, 1, 12, minute, 0).unwrap()
}

fn commit(folder: &str, files: &[(&str, &str)]) -> Commit {
    Commit {
        folder: folder.to_owned(),
        files: files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect(),
        message: format!("{folder}: {} files\n\nBecause of a decision.", files.len()),
        at: at(0),
        author: "Approver".to_owned(),
    }
}

async fn fresh() -> (tempfile::TempDir, Repo) {
    let dir = tempfile::tempdir().unwrap();
    let repo = Repo::open(dir.path().join("fleet.git")).await.unwrap();
    (dir, repo)
}

async fn paths(repo: &Repo) -> Vec<String> {
    let text = repo.git("ls-tree").args(["-r", "-z", "--name-only", BRANCH]).text().await.unwrap();
    text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

#[tokio::test]
async fn a_folder_is_replaced_and_others_stay() {
    let (_dir, repo) = fresh().await;
    let first =
        repo.commit(&commit("prod/vision", &[("a.yaml", "a: 1\n"), ("ns/b.yaml", "b")])).await.unwrap();
    repo.commit(&commit("prod/vision-lab", &[("a.yaml", "other\n")])).await.unwrap();
    let third = repo.commit(&commit("prod/vision", &[("a.yaml", "a: 2\n"), ("c.yaml", "")])).await.unwrap();
    assert_ne!(first.unwrap(), third.unwrap());
    assert_eq!(paths(&repo).await, ["prod/vision-lab/a.yaml", "prod/vision/a.yaml", "prod/vision/c.yaml"]);
    assert_eq!(repo.read("prod/vision/a.yaml").await.unwrap().as_deref(), Some("a: 2\n"));
    assert_eq!(repo.read("prod/vision/c.yaml").await.unwrap().as_deref(), Some(""));
    assert_eq!(repo.read("prod/vision/ns/b.yaml").await.unwrap(), None);
    repo.commit(&commit("prod/vision", &[])).await.unwrap();
    assert_eq!(paths(&repo).await, ["prod/vision-lab/a.yaml"]);
}

#[tokio::test]
async fn nothing_changed_gives_no_commit() {
    let (_dir, repo) = fresh().await;
    assert_eq!(repo.read("prod/vision/a.yaml").await.unwrap(), None);
    assert_eq!(repo.log("prod/vision", 10).await.unwrap(), []);
    assert_eq!(repo.commit(&commit("prod/vision", &[])).await.unwrap(), None);
    let same = commit("prod/vision", &[("a.yaml", "a\r\nb: 'ü'\n")]);
    assert!(repo.commit(&same).await.unwrap().is_some());
    assert_eq!(repo.commit(&Commit { at: at(9), ..same.clone() }).await.unwrap(), None);
    assert_eq!(repo.read("prod/vision/a.yaml").await.unwrap().as_deref(), Some("a\r\nb: 'ü'\n"));
    assert_eq!(repo.log("prod/vision", 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_list_says_who_decided_when_and_why() {
    let (_dir, repo) = fresh().await;
    let mut one = commit("prod/vision", &[("a.yaml", "1")]);
    one.author = "Ада <root>\n".to_owned();
    let id = repo.commit(&one).await.unwrap().unwrap();
    repo.commit(&commit("prod/language", &[("a.yaml", "1")])).await.unwrap();
    repo.commit(&Commit { at: at(5), ..commit("prod/vision", &[("a.yaml", "2")]) }).await.unwrap();
    let log = repo.log("prod/vision", 10).await.unwrap();
    assert_eq!(log.iter().map(|entry| entry.at).collect::<Vec<_>>(), [at(5), at(0)]);
    assert_eq!(log[1].id, id);
    assert_eq!(log[1].message, "prod/vision: 1 files\n\nBecause of a decision.");
    assert!(log[1].author.starts_with("Ада"), "{}", log[1].author);
    assert_eq!(repo.log("prod/vision", 1).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_at_once_lose_nothing() {
    let (dir, _) = fresh().await;
    let mut writers = Vec::new();
    for writer in 0..2 {
        // Repositories that were opened apart do not know of each other, as in two processes.
        let repo = Repo::open(dir.path().join("fleet.git")).await.unwrap();
        writers.push(tokio::spawn(async move {
            for number in 0..12 {
                let text = format!("{number}\n");
                let commit = commit(&format!("prod/team-{writer}"), &[("a.yaml", text.as_str())]);
                assert!(repo.commit(&commit).await.unwrap().is_some());
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let repo = Repo::open(dir.path().join("fleet.git")).await.unwrap();
    for writer in 0..2 {
        assert_eq!(repo.log(&format!("prod/team-{writer}"), 100).await.unwrap().len(), 12);
        let text = repo.read(&format!("prod/team-{writer}/a.yaml")).await.unwrap();
        assert_eq!(text.as_deref(), Some("11\n"));
    }
    assert_eq!(repo.git("rev-list").args(["--count", BRANCH]).text().await.unwrap(), "24");
    repo.git("fsck").args(["--strict"]).bytes().await.unwrap();
    let left = std::fs::read_dir(dir.path().join("fleet.git")).unwrap();
    assert!(left.flatten().all(|entry| !entry.file_name().to_string_lossy().starts_with("commit-")));
}

#[tokio::test]
async fn case_40_a_renamed_folder_and_a_namespace_in_two_folders_are_refused() {
    let (_dir, repo) = fresh().await;
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team-iris\n";
    let other = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team-rose\n";
    repo.commit(&commit("prod/iris", &[("namespace.yaml", namespace)])).await.unwrap();
    let refused = repo.commit(&commit("prod/iris-lab", &[("namespace.yaml", namespace)])).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("namespace team-iris is already described by `prod/iris/namespace.yaml`")
    );
    // The same name in another cluster is another namespace, and another name beside it is no clash.
    repo.commit(&commit("edge/iris-lab", &[("namespace.yaml", namespace)])).await.unwrap();
    repo.commit(&commit("prod/rose", &[("namespace.yaml", other)])).await.unwrap();
    assert_eq!(repo.log("prod/iris-lab", 1).await.unwrap(), []);
}

#[tokio::test]
async fn paths_outside_are_refused() {
    let (_dir, repo) = fresh().await;
    for (folder, file) in [("../x", "a"), ("prod", "../a"), ("prod", ".git/config"), ("/etc", "a")] {
        let refused = repo.commit(&commit(folder, &[(file, "")])).await;
        assert!(matches!(refused, Err(GitError::Path { .. })), "{folder} {file}");
    }
    assert!(repo.read("../../etc/passwd").await.is_err());
}

#[tokio::test]
async fn the_result_can_be_cloned() {
    let (dir, repo) = fresh().await;
    repo.commit(&commit("prod/vision", &[("a.yaml", "1\n")])).await.unwrap();
    let target = dir.path().join("clone");
    let done = std::process::Command::new("git")
        .args(["clone", "--quiet"])
        .args([dir.path().join("fleet.git"), target.clone()])
        .status()
        .unwrap();
    assert!(done.success());
    assert_eq!(std::fs::read_to_string(target.join("prod/vision/a.yaml")).unwrap(), "1\n");
}
