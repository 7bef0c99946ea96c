//! Temporary folders that do not pile up.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::error::{Doing, Result};

const PREFIX: &str = "gpuaas-kit";

/// A fresh folder, removed on drop. What processes that are gone have left is removed first: a service that is shared
/// by all tests of a process is never dropped, and a killed process drops nothing.
pub(crate) fn folder(kind: &str) -> Result<TempDir> {
    let parent = std::env::temp_dir();
    let names = fs::read_dir(&parent).into_iter().flatten().flatten().map(|entry| entry.file_name());
    for name in names.filter_map(|name| name.into_string().ok()) {
        if owner(&name).is_some_and(|owner| !Path::new("/proc").join(owner.to_string()).exists()) {
            // Somebody else's, or being removed by another process right now: both are fine.
            let _ = fs::remove_dir_all(parent.join(name));
        }
    }
    let prefix = format!("{PREFIX}-{}-{kind}-", std::process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir_in(&parent).doing("create a folder in", &parent)
}

/// The process that made the folder of this name; nothing if the name is not one of ours.
fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.strip_prefix('-')?.split('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_processes_that_are_gone_are_swept() {
        assert_eq!(owner("gpuaas-kit-17-etcd-x"), Some(17));
        for other in ["gpuaas-kit", "gpuaas-kit-a-b", "gpuaas-17-x", "systemd-private-17"] {
            assert_eq!(owner(other), None, "{other}");
        }
        // Above the kernel's largest process id, so it is nobody's.
        let left = std::env::temp_dir().join("gpuaas-kit-4194999-left-over");
        fs::create_dir_all(&left).unwrap();
        let (first, second) = (folder("a").unwrap(), folder("b").unwrap());
        assert!(!left.exists() && first.path().exists() && second.path().exists());
    }
}
