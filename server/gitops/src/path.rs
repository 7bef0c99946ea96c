//! Which paths may be written.

use crate::error::GitError;

/// Checks a relative path of plain components, as `prod/vision/namespace.yaml`.
///
/// # Errors
/// Names the rule that is broken.
pub(crate) fn check(path: &str) -> Result<(), GitError> {
    let refuse = |why| Err(GitError::Path { path: path.chars().take(120).collect(), why });
    if path.is_empty() {
        return refuse("it is empty");
    }
    if path.chars().any(|c| c.is_control() || c == '\\') {
        return refuse("control characters and backslashes are not allowed");
    }
    for part in path.split('/') {
        if part.is_empty() {
            return refuse("it must be relative, without empty parts");
        }
        // git refuses `.git` in any spelling; a name that begins with a dot would also be passed over by Argo CD.
        if part.starts_with('.') {
            return refuse("no part may begin with a dot");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_relative_paths() {
        for good in ["prod/vision", "prod/vision/namespace.yaml", "a b/ü.yaml"] {
            check(good).unwrap();
        }
        for bad in ["", "/etc", "a//b", "a/", "../a", "a/../b", ".git/config", "a/.GIT", "a\nb", "a\\b"] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }
}
